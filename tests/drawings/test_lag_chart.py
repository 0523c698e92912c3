"""The lag chart: its total is unknown where a queue is, and lines of few messages are drawn calm."""

from tests.drawings.modules import Modules

TOTALS = "({ totals }, lines) => totals(lines)"
CALM = "({ calm }, { line, most }) => calm(line, most)"


def test_the_total_is_the_sum_and_unknown_where_a_queue_is(modules: Modules) -> None:
    assert modules("chart", TOTALS, [[1, 2, None, 4], [10, None, None, 40]]) == [11, None, None, 44]
    assert modules("chart", TOTALS, []) == []


def test_few_messages_are_drawn_as_their_mean_and_unknown_stays_unknown(modules: Modules) -> None:
    line = [0, 5, 0, 5, 0, None, 6]
    assert modules("chart", CALM, {"line": line, "most": 6}) == [0, 2.5, 5 / 3, 2.5, 2, None, 11 / 4]
    assert modules("chart", CALM, {"line": line, "most": 10}) == line, "from ten on as they are"
