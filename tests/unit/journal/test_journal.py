"""The journal: order, causes, memory, valve, files."""

from pathlib import Path

import pytest

from sandbox.journal import segments
from sandbox.journal.events import (
    ALL,
    BrokerStarted,
    Entry,
    FlowSkipped,
    LocksLost,
    MessagesConsumed,
    MessagesStored,
    OffsetsReset,
    PullAnswered,
)
from sandbox.journal.journal import Journal, Overrun
from sandbox.journal.schema import describe, from_row, to_row
from sandbox.journal.segments import SegmentWriter


class Hand:
    """A clock that stands where it is put."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now_ms(self) -> int:
        return 1_700_000_000_000 + int(self.seconds * 1000)

    def monotonic(self) -> float:
        return self.seconds


def stored(first: int, count: int = 1) -> MessagesStored:
    return MessagesStored(
        topic="T",
        broker="b",
        queue_id=0,
        first_offset=first,
        count=count,
        physical_offset=first * 100,
        bytes=100 * count,
    )


def test_entries_are_numbered_timed_and_read_on() -> None:
    clock = Hand()
    journal = Journal(clock)  # type: ignore[arg-type]
    journal.write(BrokerStarted("b", 0, "127.0.0.1:10911", "master"))
    clock.seconds = 2
    journal.write(LocksLost("b", 3))
    assert [(e.seq, e.at_ms - 1_700_000_000_000, type(e.event)) for e in journal.since(0)] == [
        (0, 0, BrokerStarted),
        (1, 2000, LocksLost),
    ]
    assert journal.since(1)[0].event == LocksLost("b", 3)
    assert journal.since(2) == []


def test_what_an_action_caused_names_it() -> None:
    journal = Journal(Hand())  # type: ignore[arg-type]
    with journal.caused_by(7):
        journal.write(LocksLost("b", 1))
    journal.write(LocksLost("b", 2))
    assert [entry.cause for entry in journal.since(0)] == [7, None]


def test_a_reader_who_was_away_too_long_learns_so() -> None:
    journal = Journal(Hand(), keep=3)  # type: ignore[arg-type]
    for n in range(5):
        journal.write(LocksLost("b", n))
    with pytest.raises(Overrun) as caught:
        journal.since(1)
    assert caught.value.first == 2
    assert [entry.seq for entry in journal.since(2)] == [2, 3, 4]


def test_bells_ring_and_can_be_taken_down() -> None:
    journal = Journal(Hand())  # type: ignore[arg-type]
    rung: list[int] = []
    bell = lambda: rung.append(journal.next_seq)  # noqa: E731
    journal.subscribe(bell)
    journal.write(LocksLost("b", 1))
    journal.unsubscribe(bell)
    journal.write(LocksLost("b", 1))
    assert rung == [1]


def test_above_the_rate_flow_is_kept_as_ranges_and_facts_are_never_dropped() -> None:
    clock = Hand()
    journal = Journal(clock, flow_per_s=2)  # type: ignore[arg-type]
    for n in range(5):
        journal.write(stored(n * 10, 10))
    journal.write(
        PullAnswered(
            group="g",
            client_id="c",
            topic="T",
            broker="b",
            queue_id=0,
            asked=5,
            next_offset=9,
            count=4,
            bytes=1,
            code=0,
            held_ms=0,
            skipped_by_hash=0,
            cold=False,
        )
    )
    journal.write(
        MessagesConsumed(
            group="g",
            client_id="c",
            topic="T",
            broker="b",
            queue_id=0,
            offsets=(7, 6),
            keys=(),
            sharding=(),
            outcome="SUCCESS",
            reconsume_times=0,
            started_ms=0,
            thread=0,
            handler="",
        )
    )
    journal.write(LocksLost("b", 1))
    assert [type(e.event) for e in journal.since(0)] == [MessagesStored, MessagesStored, LocksLost]
    clock.seconds = 1.5
    journal.write(stored(50))  # the last second was too busy: still closed
    clock.seconds = 3.0
    journal.write(stored(51))
    skipped, open_again = (entry.event for entry in journal.since(3))
    assert skipped == FlowSkipped(
        1_700_000_000_000,
        1_700_000_003_000,
        stored=(("T/b/0", 20, 50),),
        pulled=(("g T/b/0", 5, 8),),
        consumed=(("g T/b/0", 6, 7),),
        others=0,
    )
    assert open_again == stored(51)


def test_before_a_keyframe_the_valve_gives_up_what_it_holds() -> None:
    journal = Journal(Hand(), flow_per_s=1)  # type: ignore[arg-type]
    for n in range(3):
        journal.write(stored(n))
    journal.settle()
    last = journal.since(0)[-1].event
    assert isinstance(last, FlowSkipped)
    assert last.stored == (("T/b/0", 1, 2),)


def test_a_row_for_a_browser_carries_64_bit_numbers_as_text() -> None:
    event = OffsetsReset("r1", "g", "online", (("T/b/0", 2**60, 5),), 0, 2**60 - 5, "why", "owner")
    row = to_row(Entry(12, 99, None, event), longs_as_text=True)
    assert row["seq"] == "12"
    assert row["rows"] == [["T/b/0", str(2**60), "5"]]
    assert to_row(Entry(12, 99, None, event), longs_as_text=False)["rows"] == (("T/b/0", 2**60, 5),)


def test_every_event_is_described_with_types() -> None:
    shapes = describe()
    assert len(shapes) == len(ALL)
    assert shapes["MessagesStored"] == {
        "kind": "flow",
        "fields": {
            "topic": "str",
            "broker": "str",
            "queue_id": "int",
            "first_offset": "int64",
            "count": "int",
            "physical_offset": "int64",
            "bytes": "int64",
        },
    }
    assert "Annotated" not in str(shapes)


def test_segments_keep_every_entry_and_read_it_back(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, segment_bytes=400)
    entries = [Entry(n, 1000 + n, None, stored(n)) for n in range(10)]
    for entry in entries:
        writer.append(entry)
    writer.close()
    assert len(segments.segments(tmp_path)) > 2
    assert [from_row(row) for row in segments.rows_since(tmp_path, 0)] == entries
    assert [row["seq"] for row in segments.rows_since(tmp_path, 7)] == [7, 8, 9]
    assert segments.next_seq(tmp_path, crashed=False) == 10


def test_a_half_written_line_is_cut_and_no_number_is_used_twice(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path)
    writer.append(Entry(41, 1, None, LocksLost("b", 1)))
    writer.close()
    path = segments.segments(tmp_path)[0]
    path.write_bytes(path.read_bytes() + b'{"seq":42,"at_')
    assert segments.next_seq(tmp_path, crashed=True) == 10_000
    assert [row["seq"] for row in segments.rows_since(tmp_path, 0)] == [41]


def test_the_last_entry_is_found_while_the_next_is_being_written(tmp_path: Path) -> None:
    assert segments.last_seq(tmp_path) is None
    writer = SegmentWriter(tmp_path)
    for seq in (41, 42):
        writer.append(Entry(seq, 0, None, LocksLost("b", 1)))
    writer.close()
    with segments.segments(tmp_path)[0].open("ab") as file:
        file.write(b'{"seq":43,"at_')
    (tmp_path / f"{43:020}.ndjson").write_bytes(b'{"seq":43')
    assert segments.last_seq(tmp_path) == 42
    assert (tmp_path / f"{43:020}.ndjson").exists(), "a reader mends nothing"


def test_a_crash_loses_only_what_was_not_written_through(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path)
    writer.append(Entry(0, 1, None, LocksLost("b", 1)))
    writer.flush()
    writer.append(Entry(1, 1, None, LocksLost("b", 2)))
    writer.abandon()
    assert [row["seq"] for row in segments.rows_since(tmp_path, 0)] == [0]


def test_over_the_limit_the_oldest_segment_goes_and_it_is_said(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, segment_bytes=400, limit_bytes=900)
    for n in range(30):
        writer.append(Entry(n, 1, None, stored(n)))
    writer.close()
    first = segments.first_seq(tmp_path)
    assert first == writer.trimmed_to
    assert first is not None
    assert first > 0
    assert next(iter(segments.rows_since(tmp_path, 0)))["seq"] == first
