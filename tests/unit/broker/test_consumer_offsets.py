"""The broker's table of consumer offsets."""

import pytest

from sandbox.broker.consumer_offsets import ConsumerOffsetManager
from sandbox.journal.events import OffsetCommitted
from tests.unit.broker.world import Time


@pytest.fixture
def offsets(time: Time) -> ConsumerOffsetManager:
    return ConsumerOffsetManager("broker-a", time.journal)


def test_no_one_has_committed_is_not_zero(offsets: ConsumerOffsetManager) -> None:
    assert offsets.get("g", "orders", 0) is None
    offsets.commit("g", "orders", 0, 0, "timer")
    assert offsets.get("g", "orders", 0) == 0


def test_the_last_commit_wins_even_if_it_is_smaller(time: Time, offsets: ConsumerOffsetManager) -> None:
    offsets.commit("g", "orders", 0, 10, "timer", "c1")
    offsets.commit("g", "orders", 0, 4, "reset")
    assert offsets.get("g", "orders", 0) == 4
    assert [(e.previous, e.offset, e.by, e.client_id) for e in time.events(OffsetCommitted)] == [
        (None, 10, "timer", "c1"),
        (10, 4, "reset", None),
    ]


def test_a_commit_of_the_same_value_is_no_news(time: Time, offsets: ConsumerOffsetManager) -> None:
    offsets.commit("g", "orders", 0, 10, "timer")
    offsets.changed = False
    offsets.commit("g", "orders", 0, 10, "pull")
    assert not offsets.changed
    assert len(time.events(OffsetCommitted)) == 1


def test_the_file_brings_back_what_was_committed(time: Time, offsets: ConsumerOffsetManager) -> None:
    offsets.commit("g", "orders", 0, 10, "timer")
    offsets.commit("g", "%RETRY%g", 0, 3, "timer")
    again = ConsumerOffsetManager("broker-a", time.journal)
    again.load(offsets.to_json())
    assert again.table == offsets.table
    assert offsets.to_json() == {"offsetTable": {"%RETRY%g@g": {"0": 3}, "orders@g": {"0": 10}}}


def test_a_file_of_something_else_is_refused_and_changes_nothing(offsets: ConsumerOffsetManager) -> None:
    """As fastjson refuses a number in place of a map; only a key without a separator is passed over."""
    with pytest.raises(AttributeError):
        offsets.load({"offsetTable": {"u@g": {"0": 1}, "t@g": 7}})
    offsets.load({"offsetTable": {"no separator": {"0": 1}}})
    assert offsets.table == {}


def test_a_group_can_be_cloned_and_removed(offsets: ConsumerOffsetManager) -> None:
    offsets.commit("g", "orders", 1, 10, "timer")
    offsets.clone("g", "h", "orders")
    offsets.remove_group("g")
    assert offsets.get("g", "orders", 1) is None
    assert offsets.get("h", "orders", 1) == 10
    assert offsets.groups_of("orders") == ["h"]
    assert offsets.topics_of("h") == ["orders"]
