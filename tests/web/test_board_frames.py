"""Deltas: what travels is what changed, and a page that applies it shows the board."""

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from sandbox.control.readings import Reading
from sandbox.live import frames

NAMES = st.sampled_from(["broker-a:0", "broker-a:1", "broker-b:0"])
VALUES = st.none() | st.integers().map(str) | st.booleans() | st.lists(st.integers(0, 3), max_size=2)
FIELDS = st.sampled_from(["min", "max", "owner", "lock"])
ROWS = st.dictionaries(FIELDS, VALUES | st.fixed_dictionaries({"holder": VALUES}))
SECTIONS = st.dictionaries(NAMES, ROWS | VALUES, max_size=3)
BOARDS = st.fixed_dictionaries({"header": ROWS, "queues": SECTIONS}, optional={"members": SECTIONS, "topics": VALUES})


@given(old=BOARDS, new=BOARDS)
def test_a_viewer_that_applies_the_delta_sees_the_new_board(old: dict[str, Any], new: dict[str, Any]) -> None:
    seen = frames.apply(old, frames.changes(old, new))
    assert {k: v for k, v in seen.items() if v is not None} == {k: v for k, v in new.items() if v is not None}


@given(board=BOARDS)
def test_a_board_that_did_not_change_makes_no_delta(board: dict[str, Any]) -> None:
    assert not frames.changes(board, board)


def test_only_changed_fields_of_a_row_travel() -> None:
    old = {"queues": {"broker-a:0": {"min": "0", "max": "10"}, "broker-a:1": {"min": "0", "max": "4"}}}
    new = {"queues": {"broker-a:0": {"min": "0", "max": "11"}, "broker-a:1": {"min": "0", "max": "4"}}}
    assert frames.changes(old, new) == frames.Delta({"queues": {"broker-a:0": {"max": "11"}}}, {})


def test_unknown_travels_as_null() -> None:
    old = {"queues": {"broker-a:0": {"owner": "c1"}}}
    new = {"queues": {"broker-a:0": {"owner": None}}}
    assert frames.changes(old, new).set == {"queues": {"broker-a:0": {"owner": None}}}


def test_a_row_that_is_no_more_is_gone() -> None:
    old = {"members": {"c1": {"state": "running"}, "c2": {"state": "running"}}}
    assert frames.changes(old, {"members": {"c2": {"state": "running"}}}) == frames.Delta({}, {"members": ["c1"]})


def test_a_row_that_lost_a_field_is_set_anew() -> None:
    old = {"members": {"c1": {"state": "running", "reason": "x"}}}
    new = {"members": {"c1": {"state": "running"}}}
    delta = frames.changes(old, new)
    assert delta == frames.Delta({"members": {"c1": {"state": "running"}}}, {"members": ["c1"]})


def test_a_snapshot_has_the_fields_of_the_protocol() -> None:
    text = frames.snap("board/s/g/t", 3, Reading(18_402, 1_000, 0.1, "7f3a", {"queues": {}}))
    assert orjson.loads(text) == {
        "k": "snap",
        "ch": "board/s/g/t",
        "n": 3,
        "ep": "7f3a",
        "seq": "18402",
        "at_ms": 1_000,
        "rate": 0.1,
        "data": {"queues": {}},
    }


def test_a_delta_names_the_rate_only_where_it_changed() -> None:
    reading = Reading(18_405, 1_050, 2, "7f3a", {})
    difference = frames.Delta({"queues": {}}, {})
    quiet = orjson.loads(frames.delta("c", 2, reading, difference, pace_changed=False))
    assert set(quiet) == {"k", "ch", "n", "seq", "at_ms", "set", "gone"}
    assert orjson.loads(frames.delta("c", 2, reading, difference, pace_changed=True))["rate"] == 2


def test_a_frame_names_what_a_busy_machine_reached() -> None:
    behind = Reading(18_405, 1_050, 20, "7f3a", {}, 7.0)
    carried = behind._replace(reached_rate=None)
    for reading, said in ((behind, {"rate": 20, "reached_rate": 7}), (carried, {"rate": 20})):
        whole = orjson.loads(frames.snap("c", 2, reading))
        changed = orjson.loads(frames.delta("c", 2, reading, frames.Delta({}, {}), pace_changed=True))
        for frame in (whole, changed):
            assert {name: value for name, value in frame.items() if "rate" in name} == said


def test_offsets_above_two_to_the_fifty_third_survive() -> None:
    offset = str(2**62 + 1)
    delta = frames.changes({"queues": {"q": {"max": "1"}}}, {"queues": {"q": {"max": offset}}})
    reading = Reading(2**62 + 3, 1, 1, "e", {})
    frame = orjson.loads(frames.delta("c", 2, reading, delta, pace_changed=False))
    assert frame["set"]["queues"]["q"]["max"] == offset
    assert frame["seq"] == str(2**62 + 3)
