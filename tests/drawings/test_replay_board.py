"""The state at an event in the shape of the board channel."""

from typing import Any

from tests.drawings.modules import Modules

BOARD = "({ boardOf }, answer) => boardOf(answer, { group: 'g', topic: 't', names: { c2: 'B' } })"
GREY = "({ greyOf }, answer) => greyOf(answer, 'g')"
QUEUE = {
    "topic": "t",
    "broker": "b",
    "queue_id": 0,
    "committed": "7",
    "in_memory": "6",
    "next_pull": "9",
    "owner": "c1",
}


def answer(**queue: Any) -> dict[str, Any]:
    members = [{"client_id": "c1", "actor": "A", "state": "running"}]
    group = {
        "group": "g",
        "model": "CLUSTERING",
        "members": members,
        "queues": [{**QUEUE, **queue}],
        "counts": {"retrying": 2},
    }
    topic = {"topic": "t", "queues": [{"broker": "b", "queue_id": 0, "min": "0", "max": "10"}]}
    return {
        "snapshot": {"groups": [group], "topics": [topic]},
        "exact": False,
        "carried": {"topics": ["max", "min"], "groups/g": ["committed"]},
    }


def test_what_the_keyframe_held_below_the_commit_is_unknown_at_the_event(modules: Modules) -> None:
    row = modules("replay_board", BOARD, answer())["queues"]["b:0"]
    assert (row["committed"], row["in_memory"], row["next_pull"], row["max"]) == ("7", None, "9", "10")
    assert (row["cells"], row["rate_per_s"]) == (None, None)


def test_the_lag_is_what_is_stored_and_not_committed(modules: Modules) -> None:
    assert modules("replay_board", BOARD, answer())["header"]["lag"] == "5"
    header = modules("replay_board", BOARD, answer(committed=None))["header"]
    assert (header["lag"], header["queues_known"]) == ("2", 1), "the group has no place in the topic"


def test_a_queue_without_an_offset_counts_whole_once_the_group_reads_its_topic(modules: Modules) -> None:
    read = answer(committed=None)
    read["snapshot"]["groups"][0]["subscription"] = [{"topic": "t", "expression": "*", "kind": "TAG"}]
    for answered in (read, answer(committed=None, from_zero=True)):
        board = modules("replay_board", BOARD, answered)
        assert (board["header"]["lag"], board["queues"]["b:0"]["from_zero"]) == ("12", True)
    assert not modules("replay_board", BOARD, answer(from_zero=True))["queues"]["b:0"]["from_zero"], "7 is committed"


def test_of_a_member_that_came_after_the_keyframe_only_the_name_is_known(modules: Modules) -> None:
    members = modules("replay_board", BOARD, answer(owner="c2"))["members"]
    assert (members["c1"]["state"], members["c2"]["letter"], members["c2"]["state"]) == ("running", "B", "unknown")


def test_what_no_event_carried_is_grey_until_all_is_known(modules: Modules) -> None:
    assert modules("replay_board", GREY, answer()) == ["owner", "flow_control", "cause", "members"]
    assert modules("replay_board", GREY, {**answer(), "exact": True}) == []
