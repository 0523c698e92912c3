"""The state at an event out of the journal's files: which keyframe, what holds, and what is refused."""

from pathlib import Path

import pytest

from sandbox.cluster.journal_files import DIRECTORY
from sandbox.journal.events import Entry, Keyframe, MessagesStored
from sandbox.journal.keyframes import around
from sandbox.journal.segments import SegmentWriter, last_seq
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.changes import changes_between
from sandbox.queries.fold import GROUP_FIELDS, TOPIC_FIELDS
from sandbox.queries.state_at import StateAt, state_at
from sandbox.simulation.world import World
from tests.beginnings import world_of
from tests.sim.test_fold import untrue

MOST = 10_000
world = world_of("orders", seconds=12)


def keyframe(seq: int) -> Entry:
    return Entry(seq, seq, None, Keyframe({"seq": str(seq), "at_ms": seq, "rate": 1, "topics": [], "groups": []}))


def stored(seq: int) -> Entry:
    return Entry(seq, seq, None, MessagesStored("T", "b", 0, seq, 1, seq * 100, 100))


def written(directory: Path, entries: list[Entry], segment_bytes: int = 1_000) -> Path:
    writer = SegmentWriter(directory, segment_bytes=segment_bytes)
    for entry in entries:
        writer.append(entry)
    writer.close()
    return directory


def refusal(files: Path, at: int, most: int = MOST) -> ActionRefused:
    with pytest.raises(ActionRefused) as refused:
        state_at(files, at, most=most)
    return refused.value


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A keyframe each 50 events from 20 on, in segments of a few events."""
    entries = [keyframe(seq) if seq % 50 == 20 else stored(seq) for seq in range(200)]
    return written(tmp_path, entries)


@pytest.mark.parametrize(
    ("at", "begins", "ends"), [(20, 20, 69), (45, 20, 69), (69, 20, 69), (70, 70, 119), (199, 170, 199)]
)
def test_the_keyframe_before_an_event_and_all_to_the_next_one_are_read(
    files: Path, at: int, begins: int, ends: int
) -> None:
    assert len(list(files.iterdir())) > 10
    assert [entry.seq for entry in around(files, at)] == list(range(begins, ends + 1))


def test_a_number_that_was_never_used_means_the_event_before_it(tmp_path: Path) -> None:
    files = written(tmp_path, [keyframe(3), stored(4), stored(10_000)])
    assert state_at(files, 7_000, most=MOST).seq == 4
    assert state_at(files, None, most=MOST).seq == 10_000


def test_what_is_not_there_is_refused_with_what_to_do(files: Path) -> None:
    later, never, early = refusal(files, 200), refusal(files, -1), refusal(files, 19)
    assert (later.status, never.status, early.status) == (422, 422, 410)
    assert later.values == {"field": "at", "at": 200, "oldest": 0, "newest": 199}
    assert refusal(files, 69, most=49).values == {"at": 69, "most": 49, "keyframe": 20}
    assert state_at(files, 68, most=49).seq == 68


def test_events_before_the_oldest_kept_are_refused(files: Path) -> None:
    first, *_ = sorted(files.iterdir())
    first.unlink()
    assert refusal(files, 0).status == 410


def test_a_journal_without_events_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none", 0).status == 410


def state_of(world: World, at: int | None, held_from_ms: int | None = None) -> StateAt:
    world.cluster.journal_files.show()
    return state_at(world.cluster.directory / DIRECTORY, at, most=MOST, held_from_ms=held_from_ms)


def test_an_event_of_the_past_shows_the_queues_as_they_were(world: World) -> None:
    truth = world.snapshot()
    world.run(30)
    found = state_of(world, int(truth["seq"]))
    assert untrue(found, truth) == []
    assert found.seq == int(truth["seq"]) > found.keyframe
    assert found.carried == {"topics": sorted(TOPIC_FIELDS), "groups/order-svc": sorted(GROUP_FIELDS)}
    assert found.of_keyframe["topics"] == ["known_at_ms", "rate_per_s"]
    assert "in_memory" in found.of_keyframe["groups/order-svc"]
    assert "brokers" in found.of_keyframe["snapshot"]


def test_at_a_keyframe_everything_is_of_that_moment(world: World) -> None:
    world.cluster.journal_files.keyframe()
    at = world.cluster.journal.next_seq - 1
    world.run(5)
    found = state_of(world, at)
    assert found.of_keyframe == {}
    assert found.seq == found.keyframe == at


def test_what_the_valve_still_holds_back_is_not_said_to_be_known(world: World) -> None:
    open_valve = state_of(world, None)
    held = state_of(world, None, held_from_ms=open_valve.snapshot["at_ms"])
    assert set(open_valve.carried["topics"]) - set(held.carried["topics"]) == {"max"}
    assert last_seq(world.cluster.directory / DIRECTORY) == held.seq


def test_what_changed_between_two_events_is_a_table(world: World) -> None:
    before = state_of(world, None)
    assert changes_between(before, before).rows == []
    world.run(5)
    world.act("CreateTopic", topic="late", write_queues=1, read_queues=1)
    world.cluster.journal_files.keyframe()
    after = state_of(world, None)
    found = changes_between(before, after).rows
    came = [change for change in found if change.field is None]
    assert [(change.place, change.before, change.after) for change in came] == [("topics/late", None, "late")]
    moved = next(change for change in found if change.place == "topics/orders/queues/broker-a/0")
    assert (moved.field, moved.exact) == ("max", True)
    assert int(moved.before) < int(moved.after)
    unsure = {change.field for change in found if change.place.startswith("groups/") and not change.exact}
    assert "in_memory" in unsure
    assert "committed" not in unsure
