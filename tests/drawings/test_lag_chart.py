"""The lag chart: its total is unknown where a queue is, lines of few messages are calm, and names stand apart."""

from tests.drawings.modules import Modules

TOTALS = "({ totals }, lines) => totals(lines)"
CALM = "({ calm }, line) => calm(line)"
LINES = "({ calmLines }, lines) => calmLines(lines)"
HEIGHTS = "({ nameHeights }, { ys, room }) => nameHeights(ys, room)"
ROOM = {"gap": 12, "top": 0, "bottom": 100}


def test_the_total_is_the_sum_and_unknown_where_a_queue_is(modules: Modules) -> None:
    assert modules("lag_lines", TOTALS, [[1, 2, None, 4], [10, None, None, 40]]) == [11, None, None, 44]
    assert modules("lag_lines", TOTALS, []) == []


def test_few_messages_are_drawn_as_their_mean_and_unknown_stays_unknown(modules: Modules) -> None:
    assert modules("lag_lines", CALM, [0, 5, 0, 5, 0, None, 6]) == [0, 2.5, 5 / 3, 2.5, 2, None, 6]


def test_a_lag_that_only_shows_the_commits_is_a_level_line(modules: Modules) -> None:
    sawtooth = [0, 2, 4, 6, 8] * 12
    assert modules("lag_lines", CALM, sawtooth)[9:] == [4] * (len(sawtooth) - 9)


def test_a_rise_is_drawn_exactly_and_at_once_and_so_is_its_end(modules: Modules) -> None:
    line = [2, 4, 2, 4, 3, 40, 80, 12, 4, 2, 3]
    drawn = modules("lag_lines", CALM, line)
    assert drawn[5:8] == [40, 80, 12], "from ten on as they are"
    assert drawn[8:] == [4, 3, 3], "no mean over what was before"


def test_the_total_is_exact_while_one_queue_has_ten_messages(modules: Modules) -> None:
    quiet, loud = [4, 8, 4, 8, 4, 8], [4, 0, 4, 10, 30, 4]
    total, first, second = modules("lag_lines", LINES, [quiet, loud])
    assert total == [8, 8, 8, 18, 34, 12]
    assert first == [4, 6, 16 / 3, 6, 5.6, 6]
    assert second == [4, 2, 8 / 3, 10, 30, 4]


def test_names_stand_apart_and_never_below_the_axis(modules: Modules) -> None:
    assert modules("lag_lines", HEIGHTS, {"ys": [50, 52], "room": ROOM}) == [50, 62]
    assert modules("lag_lines", HEIGHTS, {"ys": [99, 100, 98], "room": ROOM}) == [88, 100, 76]
    assert modules("lag_lines", HEIGHTS, {"ys": [-5, 3], "room": ROOM}) == [0, 12]
    assert modules("lag_lines", HEIGHTS, {"ys": [9, 8, 7], "room": {**ROOM, "bottom": 12}}) == [12, 0, None], "no room"
