"""The figures of two compared runs, checked against a plain count over the journal and against the boards."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.control.actions import StopActor
from sandbox.journal.segments import rows_since
from sandbox.recording.reader import Recording
from sandbox.simulation.compare import Compared, Side, compare
from sandbox.simulation.message_figures import message_figures
from sandbox.simulation.reader_gaps import reader_gaps
from tests.sim.recorded_stage import Recorded

Row = dict[str, Any]
QUEUE = {"group": "g", "topic": "t", "broker": "b", "queue_id": 0}
GROUP: Any = {"group": "g", "subscription": [{"topic": "t", "expression": "*", "kind": "TAG"}]}


@pytest.fixture(scope="module", params=["orders", "payments"])
def compared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Compared:
    """A run in which A crashed, and the same run in which A stopped cleanly."""
    stage = Recorded(tmp_path_factory.mktemp("run"), request.param, seed=5, luck=3)
    stage.run(25)
    stage.act("CrashActor", actor="A")
    stage.run(20)
    stage.close()
    crash = next(row for row in rows_since(Path(stage.directory) / "journal", 0) if row.get("action") == "CrashActor")
    return compare(stage.directory, {crash["seq"]: StopActor(actor="A")})


def sides(compared: Compared) -> Iterator[tuple[Side, list[Row], list[Row]]]:
    """Yield each side with all of its rows, and with those from the action on."""
    for side in (compared.before, compared.after):
        rows = side.played.rows
        yield side, rows, [row for row in rows if row["seq"] >= compared.actions[0]["seq"]]


def offsets_of(row: Row) -> list[tuple[Any, ...]]:
    return [(row["topic"], row["broker"], row["queue_id"], offset) for offset in row["offsets"]]


def stored_of(row: Row) -> list[tuple[Any, ...]]:
    first = row["first_offset"]
    return [(row["topic"], row["broker"], row["queue_id"], offset) for offset in range(first, first + row["count"])]


def test_messages_delivered_at_least_once_are_those_of_a_count_over_the_journal(compared: Compared) -> None:
    topic = compared.before.played.last["groups"][0]["subscription"][0]["topic"]
    for side, _, since in sides(compared):
        early = [row for row in since if row["at_ms"] <= side.played.last["at_ms"] - 10_000]
        stored = {one for row in early if row["type"] == "MessagesStored" for one in stored_of(row) if one[0] == topic}
        delivered = {one for row in since if row["type"] == "MessagesConsumed" for one in offsets_of(row)}
        assert side.figures.messages.unknown is None
        assert (side.figures.messages.delivered, side.figures.messages.stored) == (len(stored & delivered), len(stored))
        assert 0 < len(stored & delivered) <= len(stored)


def test_the_oldest_unconsumed_message_is_that_of_a_count_at_each_event_of_the_journal(compared: Compared) -> None:
    for side, rows, _ in sides(compared):
        waiting: dict[tuple[Any, ...], int] = {}
        highest_ms = 0
        end_ms, begin = side.played.last["at_ms"], compared.actions[0]["seq"]
        for row in [*rows, {"type": "end", "seq": 10**12, "at_ms": end_ms}]:
            if row["seq"] >= begin and waiting:
                highest_ms = max(highest_ms, row["at_ms"] - min(waiting.values()))
            if row["type"] == "MessagesStored" and not row["topic"].startswith(("%", "SCHEDULE")):
                waiting |= dict.fromkeys(stored_of(row), row["at_ms"])
            elif row["type"] == "MessagesConsumed" and row["outcome"] == "SUCCESS":
                for one in offsets_of(row):
                    waiting.pop(one, None)
            elif row["type"] == "MessageRetried" and row["target"] == "broker":
                waiting.pop((row["topic"], row["broker"], row["queue_id"], row["offset"]), None)
        oldest = side.figures.messages.oldest
        assert oldest is not None
        assert oldest.ms == highest_ms


def test_queues_without_a_reader_are_those_of_the_boards(compared: Compared) -> None:
    pace_ms, action_ms = 250, compared.actions[0]["at_ms"]
    for side, _, _ in sides(compared):
        recording = Recording(io.BytesIO(side.played.recording or b""))
        (board,) = recording.head.channels
        longest_ms, begun_ms = 0, {}
        unread = set()
        for frame in recording.frames():
            if frame.at_ms < action_ms:
                continue
            state = frame.state["channels"][board]
            for name, queue in state["queues"].items():
                owner = state["members"].get(queue["owner"] or "")
                if owner is not None and owner["state"] == "running":
                    begun_ms.pop(name, None)
                    continue
                unread.add(name)
                longest_ms = max(longest_ms, frame.at_ms - begun_ms.setdefault(name, frame.at_ms))
        gaps = side.figures.unread
        assert gaps is not None
        assert longest_ms <= gaps.longest_ms <= longest_ms + 2 * pace_ms
        assert gaps.queues >= len(unread)  # a shorter gap may lie between two frames
    crash, stop = compared.before.figures.unread, compared.after.figures.unread
    assert crash is not None
    assert stop is not None
    if compared.before.figures.longest_lock_wait:  # ordered consumers: the crashed member still holds the locks
        assert crash.longest_ms > stop.longest_ms + 10_000


def taken(seq: int, at_ms: int, client_id: str, start_offset: int = 0) -> Row:
    where = {"client_id": client_id, "start_offset": start_offset}
    return {"seq": seq, "at_ms": at_ms, "type": "QueueTaken", **where, **QUEUE}


def dropped(seq: int, at_ms: int, client_id: str) -> Row:
    return {"seq": seq, "at_ms": at_ms, "type": "QueueDropped", "client_id": client_id, **QUEUE}


def became(seq: int, at_ms: int, client_id: str, state: str) -> Row:
    member = {"group": "g", "client_id": client_id, "state": state}
    return {"seq": seq, "at_ms": at_ms, "type": "MemberStateChanged", **member}


def test_a_queue_has_no_reader_from_the_end_of_its_owner_until_a_member_acquires_it() -> None:
    rows = [became(1, 0, "a", "running"), taken(2, 0, "a"), became(3, 10, "a", "crashed"), taken(4, 40, "b")]
    gaps = reader_gaps(rows, 3, {"g"}, 100)
    assert gaps is not None
    assert (gaps.longest_ms, gaps.queue, gaps.group, gaps.queues) == (30, "t/b/0", "g", 1)
    open_gaps = reader_gaps(rows[:3], 3, {"g"}, 100)
    assert open_gaps is not None
    assert open_gaps.longest_ms == 90


def test_a_queue_that_another_member_acquired_first_was_never_without_a_reader() -> None:
    rows = [taken(1, 0, "a"), taken(2, 10, "b"), dropped(3, 20, "a")]
    gaps = reader_gaps(rows, 1, {"g"}, 100)
    assert gaps is not None
    assert (gaps.queues, gaps.longest_ms) == (0, 0)


def test_a_member_that_hangs_reads_nothing_until_it_continues() -> None:
    rows = [taken(1, 0, "a"), became(2, 10, "a", "hung"), became(3, 35, "a", "running")]
    gaps = reader_gaps(rows, 1, {"g"}, 100)
    assert gaps is not None
    assert gaps.longest_ms == 25


def test_a_gap_from_before_the_action_counts_from_the_action_on() -> None:
    rows = [taken(1, 0, "a"), dropped(2, 10, "a"), {"seq": 3, "at_ms": 50, "type": "ActionTaken"}, taken(4, 60, "b")]
    gaps = reader_gaps(rows, 3, {"g"}, 100)
    assert gaps is not None
    assert gaps.longest_ms == 10


def test_readers_of_one_client_id_are_unknown() -> None:
    rows = [became(1, 0, "a", "starting"), became(2, 5, "a", "starting"), taken(3, 6, "a")]
    assert reader_gaps(rows, 1, {"g"}, 100) is None


def stored(seq: int, at_ms: int, first: int, count: int) -> Row:
    message = {"topic": "t", "broker": "b", "queue_id": 0, "first_offset": first, "count": count}
    return {"seq": seq, "at_ms": at_ms, "type": "MessagesStored", **message}


def consumed(seq: int, at_ms: int, offset: int, outcome: str = "SUCCESS") -> Row:
    return {"seq": seq, "at_ms": at_ms, "type": "MessagesConsumed", "offsets": [offset], "outcome": outcome, **QUEUE}


def test_a_message_is_unconsumed_from_its_storage_to_its_success_or_the_commit_after_it() -> None:
    rows = [taken(1, 0, "a"), stored(2, 10, 0, 3), consumed(3, 15, 0), consumed(4, 30, 1, "LATER")]
    figures = message_figures(rows, 1, [GROUP], 100, lost=0)
    assert figures.oldest is not None
    assert (figures.oldest.ms, figures.oldest.queue, figures.oldest.offset) == (90, "t/b/0", 2)
    rows.append({"seq": 5, "at_ms": 50, "type": "OffsetCommitted", "offset": 3, **QUEUE})
    oldest = message_figures(rows, 1, [GROUP], 100, lost=0).oldest
    assert oldest is not None
    assert oldest.ms == 40


def test_messages_that_may_still_be_on_their_way_are_not_counted() -> None:
    rows = [taken(1, 0, "a"), stored(2, 10, 0, 3), consumed(3, 15, 0), consumed(4, 30, 1, "LATER")]
    rows += [stored(5, 11_000, 3, 5), consumed(6, 12_000, 3)]
    figures = message_figures(rows, 1, [GROUP], 20_000, lost=0)
    assert (figures.delivered, figures.stored) == (2, 3)


def test_messages_before_the_start_offset_of_a_new_group_are_not_unconsumed() -> None:
    rows = [stored(1, 0, 0, 5), taken(2, 90, "a", start_offset=5), stored(3, 95, 5, 1)]
    oldest = message_figures(rows, 1, [GROUP], 100, lost=0).oldest
    assert oldest is not None
    assert (oldest.offset, oldest.ms) == (5, 5)


@pytest.mark.parametrize(
    ("row", "subscription", "lost", "why"),
    [
        ({"type": "FlowSkipped", "to_ms": 20}, GROUP["subscription"], 0, "skipped"),
        ({"type": "JournalTrimmed"}, GROUP["subscription"], 0, "skipped"),
        ({"type": "ClockChanged"}, GROUP["subscription"], 2, "lost"),
        ({"type": "ClockChanged"}, [{"topic": "t", "expression": "a"}], 0, "filtered"),
        ({"type": "ClockChanged"}, [], 0, "no_group"),
    ],
)
def test_figures_that_the_journal_does_not_prove_are_unknown(
    row: Row, subscription: list[Row], lost: int, why: str
) -> None:
    rows = [taken(1, 0, "a"), stored(2, 10, 0, 1), {"seq": 3, "at_ms": 20, **row}]
    figures = message_figures(rows, 1, [{**GROUP, "subscription": subscription}], 100, lost=lost)
    assert (figures.oldest, figures.delivered, figures.stored, figures.unknown) == (None, None, None, why)
