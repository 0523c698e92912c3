"""The numbers of the recording format (docs/recording.md): columns, and changes of states."""

import pytest

from sandbox.control.limits import RecordingLimits
from sandbox.kernel.chance import Chance
from sandbox.kernel.errors import BadRecording
from sandbox.recording import columns
from sandbox.recording.frame import About
from sandbox.recording.head import pack_head, read_head
from sandbox.recording.tree import GONE, changes, path_of, put, remove


@pytest.mark.parametrize(
    ("values", "packed"),
    [
        ([7, 9, None, 8], ["d", [7, 2, None, -1]]),
        (["100", None, "103"], ["t", [100, None, 3]]),
        (["007", "8"], ["v", ["007", "8"]]),
        (["-0", "1"], ["v", ["-0", "1"]]),
        ([True, 1], ["v", [True, 1]]),
        ([1.5, 2], ["v", [1.5, 2]]),
        ([None, None], ["v", [None, None]]),
        ([10**15], ["v", [10**15]]),
        (["1" * 16], ["v", ["1" * 16]]),
        (["3d4p", {}], ["v", ["3d4p", {}]]),
        ([], ["v", []]),
    ],
)
def test_a_column_is_written_in_the_shortest_kind_that_keeps_its_values(values: list[object], packed: object) -> None:
    assert columns.pack(values) == packed
    assert columns.unpack(packed, len(values)) == values


@pytest.mark.parametrize(
    ("column", "count"),
    [
        (["d", [1, "2"]], 2),
        (["d", [True]], 1),
        (["t", [10**15]], 1),
        (["d", [10**14] * 20], 20),
        (["x", [1]], 1),
        (["d", [1]], 2),
        (["d"], 1),
        ({}, 0),
        (["v", 3], 1),
        ([["d"], [1]], 1),
    ],
)
def test_a_column_of_another_shape_is_refused(column: object, count: int) -> None:
    with pytest.raises(BadRecording, match="Export it again"):
        columns.unpack(column, count)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ({"a": {"x": 1}}, {"a": {"x": 2}}, [(("a", "x"), 2)]),
        ({"a": {"x": 1}}, {"a": {}}, [(("a", "x"), GONE)]),
        ({"a": None}, {"a": {"x": 1, "y": {}}}, [(("a", "x"), 1), (("a", "y"), {})]),
        ({"a": {"x": 1}}, {"a": None}, [(("a",), None)]),
        ({"a": [1, 2]}, {"a": [1]}, [(("a",), [1])]),
        ({"a": 1, "b": 2}, {"b": 2, "c": 3}, [(("a",), GONE), (("c",), 3)]),
        ({"a": 1}, {"a": True}, [(("a",), True)]),
        ({"a": 5}, {"a": {}}, [(("a",), {})]),
        ({"a": {}}, {"a": {}}, []),
    ],
)
def test_changes_name_the_leaves_that_differ_and_make_the_old_state_the_new_one(
    old: dict[str, object], new: dict[str, object], found: object
) -> None:
    assert list(changes(old, new)) == found
    for path, value in changes(old, new):
        if value is GONE:
            remove(old, path)
        else:
            put(old, path, value)
    assert old == new


@pytest.mark.parametrize("path", [[], "a", ["a", 1], ["a"] * 13, ["a", "__proto__", "b"], None])
def test_a_path_that_no_state_has_is_refused(path: object) -> None:
    with pytest.raises(BadRecording):
        path_of(path)


def test_only_what_is_there_can_be_removed() -> None:
    with pytest.raises(BadRecording, match="does not exist"):
        remove({"a": 1}, ("a", "b"))


def test_the_head_of_a_day_is_one_request() -> None:
    chance, limits = Chance(1), RecordingLimits()
    places = [
        [
            n * 2_000 + chance.below(99),
            n * 60_000,
            900 + chance.below(99),
            5_000 + chance.below(2_000),
            400 + chance.below(200),
        ]
        for n in range(limits.chunks)
    ]
    sums = {"channels": [], "frames": 1, "facts": 0, "seq": [0, 1], "at_ms": [0, 1]}
    head = pack_head(About("0", None, None, None, None), sums, places, 20, limits)
    assert len(head) <= limits.head_bytes
    file_bytes = len(head) + sum(sum(place[2:]) for place in places) + 20
    found = read_head(head, file_bytes, limits)
    assert [[place.seq, place.at_ms, *place[3:]] for place in found.chunks] == places
