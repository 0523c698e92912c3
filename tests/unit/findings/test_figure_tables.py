"""Tables of figures: the rows that the sentences are about come first, and a command prints them in words."""

from sandbox.findings.english import figure_lines
from sandbox.findings.figure_tables import of_members
from sandbox.findings.figures import MOST_ROWS, FigureRow, figures


def test_a_table_without_rows_is_none() -> None:
    assert figures([], total={"queues": 3}) is None


def test_of_many_rows_those_of_the_sentences_come_first() -> None:
    keys = [f"M{number}" for number in range(MOST_ROWS + 3)]
    table = of_members(keys, lambda key: {"queues": 1}, about=[keys[-1]])
    assert table is not None
    assert table.rows[0] == FigureRow({"who": keys[-1], "queues": 1}, f"member/{keys[-1]}", about=True)
    assert (len(table.rows), table.left_out) == (MOST_ROWS, 3)


def test_a_command_prints_them_with_unknown_and_missing_values() -> None:
    lines = figure_lines(
        {
            "rows": [
                {
                    "values": {"queue": "broker-a:0", "who": "", "in_per_s": 15.0, "then_per_s": None},
                    "mark": "",
                    "about": True,
                }
            ],
            "total": {"in_per_s": 15.0},
            "beside": {"at_work": [1, 3], "each_ms": 125, "needed": 2},
            "left_out": 0,
            "window_ms": 30_000,
        }
    )
    assert list(lines) == [
        "Queue broker-a:0, Member none, In 15, With 2 –",
        "In 15",
        "Always at work 1 / 3, Time per message 0.1 s, Threads needed 2",
    ]
