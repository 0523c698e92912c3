"""States of a course's tiles: the first that holds, since when, and what a tile keeps while it cannot be read."""

from datetime import UTC, datetime, timedelta
from typing import Any

from queueviz.courses.grid import Grid, Student, counts
from sandbox.queries.rows.tile import TileRow

NOW = datetime(2026, 11, 26, 10, 0, tzinfo=UTC)


def student(number: int = 1, **given: Any) -> Student:
    fields: dict[str, Any] = {
        "pseudonym": f"S{number}",
        "slug": f"box-{number}",
        "done": 0,
        "asks_since": None,
        "question": "",
        "seen_at": NOW,
        "joined_at": later(-20),
        **given,
    }
    return Student(number, **fields)


def tile(**given: Any) -> TileRow:
    fields: Any = {
        "lab": "4",
        "step": 1,
        "steps": 2,
        "phase": "do",
        "sealed": False,
        "failed": 0,
        "acted_ms": 5_000,
        "at_ms": 9_000,
        "frozen": False,
        "acts": None,
        "effect": None,
        "lives": {},
        "rate": 1.0,
        "group": "readers",
        "topic": "orders",
        "strips": ["3/1d2b/0"],
        **given,
    }
    return fields  # type: ignore[no-any-return]


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_who_has_begun_works_and_who_does_nothing_for_two_minutes_is_idle() -> None:
    grid = Grid(labs=2)
    row = grid.rows([student()], {"box-1": tile()}, NOW)["1"]
    assert (row["state"], row["since_ms"], row["lab"], row["strips"]) == ("working", None, "4", ["3/1d2b/0"])
    row = grid.rows([student(seen_at=later(121))], {"box-1": tile()}, later(121))["1"]
    assert (row["state"], row["since_ms"]) == ("idle", round(NOW.timestamp() * 1000))
    row = grid.rows([student(seen_at=later(122))], {"box-1": tile(acted_ms=6_000)}, later(122))["1"]
    assert row["state"] == "working"


def test_the_same_mistake_for_the_third_time_is_stuck_since_then() -> None:
    grid = Grid(labs=2)
    assert grid.rows([student()], {"box-1": tile(failed=2)}, NOW)["1"]["state"] == "working"
    at = later(5)
    grid.rows([student(seen_at=at)], {"box-1": tile(failed=3)}, at)
    row = grid.rows([student(seen_at=later(9))], {"box-1": tile(failed=5)}, later(9))["1"]
    assert (row["state"], row["since_ms"]) == ("stuck", round(at.timestamp() * 1000))
    assert grid.rows([student()], {"box-1": tile(failed=0)}, later(10))["1"]["state"] == "working"


def test_a_hand_is_seen_before_all_else_and_only_then_its_question() -> None:
    grid = Grid(labs=2)
    up = student(asks_since=later(-30), question="Why?", seen_at=None)
    row = grid.rows([up], {"box-1": tile(failed=4)}, NOW)["1"]
    assert (row["state"], row["question"], row["since_ms"]) == ("asking", "Why?", round(later(-30).timestamp() * 1000))
    assert grid.rows([up._replace(asks_since=None, seen_at=NOW)], {}, NOW)["1"]["question"] == ""


def test_a_student_who_is_cut_off_keeps_the_last_picture() -> None:
    grid = Grid(labs=2)
    grid.rows([student()], {"box-1": tile()}, NOW)
    row = grid.rows([student()], {}, later(26))["1"]
    assert (row["state"], row["shown"], row["strips"]) == ("cut", False, ["3/1d2b/0"])
    assert row["since_ms"] == round(NOW.timestamp() * 1000)


def test_who_has_begun_nothing_waits_and_who_has_all_labs_is_done() -> None:
    rows = Grid(labs=1).rows([student(1, slug=None), student(2, done=1, seen_at=None)], {}, NOW)
    assert [row["state"] for row in rows.values()] == ["waiting", "done"]
    assert counts(rows) == {"waiting": 1, "done": 1}


def test_who_joined_and_has_not_begun_is_never_disconnected() -> None:
    joined = student(slug=None, seen_at=None)
    for at in (NOW, later(600)):
        row = Grid(labs=1).rows([joined, student(2, slug=None, seen_at=later(-300))], {}, at)["1"]
        assert (row["state"], row["since_ms"]) == ("waiting", round(later(-20).timestamp() * 1000))
    assert counts(Grid(labs=1).rows([student(2, slug=None, seen_at=later(-300))], {}, NOW)) == {"waiting": 1}


def test_a_lab_that_has_just_begun_is_at_work_before_its_first_picture() -> None:
    assert Grid(labs=1).rows([student(seen_at=None)], {}, NOW)["1"]["state"] == "working"


def test_who_differs_from_the_majority_is_shown_with_the_first_event() -> None:
    crashed = {"A": ["running", "40"], "B": ["crashed", "412"], "ns-1": ["stopped", "500"]}
    running = {"A": ["running", "40"], "B": ["running", "41"], "ns-1": ["running", "1"]}
    tiles = {
        "box-1": tile(lives=crashed),
        **{f"box-{number}": tile(lives=running) for number in range(2, 6)},
        "box-6": tile(lab="5", lives=crashed),
    }
    rows = Grid(labs=2).rows([student(number) for number in range(1, 7)], tiles, NOW)
    assert rows["1"]["differs"] == {"seq": "412", "name": "B", "state": "crashed", "usual": "running", "others": 4}
    assert {rows[str(number)]["differs"] for number in range(2, 6)} == {None}, "nor does another lab compare"


def test_of_two_or_of_halves_there_is_no_majority() -> None:
    def differ(*states: str) -> list[bool]:
        tiles = {f"box-{number}": tile(lives={"A": [state, str(number)]}) for number, state in enumerate(states)}
        rows = Grid(labs=1).rows([student(number) for number in range(len(states))], tiles, NOW)
        return [row["differs"] is not None for row in rows.values()]

    assert differ("running", "crashed") == [False, False]
    assert differ("running", "crashed", "running", "crashed") == [False] * 4
    assert differ("running", "crashed", "running") == [False, True, False]
