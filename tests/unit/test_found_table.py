"""Cells of any table a job leaves: what a column is called says what its values are."""

import pytest

from queueviz.boards.result_table import Cell, cell, shown


@pytest.mark.parametrize(
    ("column", "value", "wanted"),
    [
        ("queue_offset", 2**60, Cell("1\u2009152\u2009921\u2009504\u2009606\u2009846\u2009976", is_number=True)),
        ("last_seq", 18_390, Cell("18\u2009390", is_number=True, seq="18390")),
        ("p99_ms", 1_300, Cell("1.3 s", is_number=True)),
        ("at_ms", 1_795_142_537_350, Cell("2026-11-20 02:42:17.350", is_number=True)),
        ("share", 0.125, Cell("12.5 %", is_number=True)),
        ("largest_share", 1.0, Cell("100.0 %", is_number=True)),
        ("approximate", False, Cell("✕")),
        ("members", ["a", "b"], Cell("a, b")),
        ("lag", None, Cell("–")),
        ("says", "The index entry points elsewhere.", Cell("The index entry points elsewhere.")),
    ],
)
def test_a_value_is_shown_as_its_column_says(column: str, value: object, wanted: Cell) -> None:
    assert cell(column, value) == wanted


def test_the_sandbox_is_left_out_of_every_row() -> None:
    assert shown(["sandbox", "what", "items"], [{"sandbox": "s", "what": "records"}]) == [[Cell("records"), Cell("–")]]
