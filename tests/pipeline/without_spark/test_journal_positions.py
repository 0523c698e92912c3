"""Positions of a journal stream: after whole lines, over segments, crashes and dropped files."""

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes

from sandbox.journal.events import SandboxSlept
from sandbox.journal.segments import mend_tail, segments
from sandbox.kernel.errors import StoreError
from sandbox.pipeline.sources.journal_stream import JournalStreamReader, asked_of
from tests.pipeline.journals import write_journal
from tests.pipeline.streams import Stream

ALL = ReadAllAvailable()


def reader_of(*directories: Path, **options: str) -> JournalStreamReader:
    journals = "{" + ",".join(f'"{path.name}":"{path}"' for path in directories) + "}"
    return JournalStreamReader(asked_of({"journals": journals, **options}))


def seqs(reader: JournalStreamReader, start: dict[str, Any], end: dict[str, Any]) -> list[int]:
    return [
        seq
        for partition in reader.partitions(start, end)
        for batch in reader.read(partition)
        for seq in batch.column("seq").to_pylist()
    ]


def slept(count: int) -> list[SandboxSlept]:
    return [SandboxSlept("x" * (number % 50)) for number in range(count)]


@pytest.mark.parametrize("seed", range(20))
def test_a_journal_that_grows_by_any_pieces_is_read_once(tmp_path: Path, seed: int) -> None:
    whole = write_journal(tmp_path / "whole", slept(200), segment_bytes=2_000)
    content = [(path.name, path.read_bytes()) for path in segments(whole)]
    grown = tmp_path / "grown"
    grown.mkdir()
    draw = random.Random(seed)
    read: list[int] = []
    reader = reader_of(grown)
    position = reader.initialOffset()
    for name, data in content:
        at = 0
        while at < len(data):
            step = draw.randrange(1, 900)
            with (grown / name).open("ab") as file:
                file.write(data[at : at + step])
            at += step
            if draw.random() < 0.3:
                reader = reader_of(grown)  # started again
            limit = draw.choice([ALL, ReadMaxBytes(draw.randrange(1, 700))])
            end = reader.latestOffset(position, limit)
            read += seqs(reader, position, end)
            position = end
    end = reader.latestOffset(position, ALL)
    read += seqs(reader, position, end)
    assert read == list(range(200))
    assert reader.latestOffset(end, ALL) == end


def test_the_same_two_positions_give_the_same_rows_later(tmp_path: Path) -> None:
    directory = write_journal(tmp_path / "s", slept(40), segment_bytes=1_000)
    reader = reader_of(directory)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ALL)
    before = seqs(reader, start, end)
    write_journal(directory, slept(40), first_seq=40, segment_bytes=1_000)
    assert seqs(reader_of(directory), start, end) == before == list(range(40))


def test_a_line_torn_by_a_crash_is_read_as_if_it_had_never_been(tmp_path: Path) -> None:
    directory = write_journal(tmp_path / "s", slept(10))
    reader = reader_of(directory)
    [path] = segments(directory)
    with path.open("ab") as file:
        file.write(b'{"seq":10,"at')
    end = reader.latestOffset(reader.initialOffset(), ALL)
    mend_tail(directory)
    write_journal(directory, slept(3), first_seq=10_000)
    assert seqs(reader, end, reader.latestOffset(end, ALL)) == [10_000, 10_001, 10_002]


def test_latest_begins_behind_what_is_there_and_stays_so_when_the_first_batch_dies(tmp_path: Path) -> None:
    directory = write_journal(tmp_path / "s", slept(10))
    reader = reader_of(directory, startingOffsets="latest")
    first = reader.initialOffset()
    assert reader.latestOffset(first, ALL) == first  # what Spark writes down
    write_journal(directory, slept(5), first_seq=10)
    assert seqs(reader, first, reader.latestOffset(first, ALL)) == [10, 11, 12, 13, 14]


def test_a_stream_that_begins_late_is_not_taken_for_idle_after_a_kill(tmp_path: Path) -> None:
    directory = write_journal(tmp_path / "s", slept(10))
    stream = Stream(lambda: reader_of(directory, startingOffsets="latest"), ["seq"])
    assert stream.plan()
    stream.start()
    write_journal(directory, slept(5), first_seq=10)
    assert stream.run() == [(10,), (11,), (12,), (13,), (14,)]


def test_a_journal_the_checkpoint_does_not_know_begins_at_its_first_entry(tmp_path: Path) -> None:
    one, two = (write_journal(tmp_path / name, slept(3)) for name in ("a", "b"))
    old = reader_of(one)
    position = old.latestOffset(old.initialOffset(), ALL)
    reader = reader_of(one, two, startingOffsets="latest")
    end = reader.latestOffset(position, ALL)
    assert [piece.sandbox for part in reader.partitions(position, end) for piece in part.pieces] == ["b"]
    assert seqs(reader, position, end) == [0, 1, 2]
    assert old.latestOffset(end, ALL) == end  # one that is not asked for any more keeps its place


def test_available_now_ends_where_the_journal_ended_when_it_began(tmp_path: Path) -> None:
    directory = write_journal(tmp_path / "s", slept(10))
    reader = reader_of(directory)
    reader.prepareForTriggerAvailableNow()
    write_journal(directory, slept(10), first_seq=10)
    position = reader.initialOffset()
    read: list[int] = []
    for _ in range(100):
        end = reader.latestOffset(position, ReadMaxBytes(150))
        if end == position:
            break
        read += seqs(reader, position, end)
        position = end
    assert read == list(range(10))


def test_journals_share_what_a_trigger_may_read(tmp_path: Path) -> None:
    long, short = write_journal(tmp_path / "a", slept(500)), write_journal(tmp_path / "b", slept(5))
    reader = reader_of(long, short)
    start = reader.initialOffset()
    pieces = [
        piece
        for part in reader.partitions(start, reader.latestOffset(start, ReadMaxBytes(4_000)))
        for piece in part.pieces
    ]
    assert [piece.sandbox for piece in pieces] == ["a", "b"]
    assert sum(piece.end for piece in pieces) <= 4_000


def test_segments_dropped_unread_are_a_sentence_or_left_out(tmp_path: Path) -> None:
    directory = write_journal(tmp_path / "s", slept(100), segment_bytes=1_000)
    reader = reader_of(directory)
    start = reader.latestOffset(reader.initialOffset(), ReadMaxBytes(500))
    paths = segments(directory)
    end = reader.latestOffset(start, ALL)
    planned = reader.partitions(start, end)
    paths[0].unlink()
    for asked in (lambda: seqs(reader, start, end), lambda: list(reader.read(planned[0]))):
        with pytest.raises(StoreError, match="The journal of s deleted segments before the stream read them"):
            asked()
    lenient = reader_of(directory, failOnDataLoss="false")
    assert seqs(lenient, start, lenient.latestOffset(start, ALL)) == list(range(int(paths[1].stem), 100))


def test_segments_dropped_before_the_stream_began_are_no_loss(tmp_path: Path) -> None:
    directory = write_journal(tmp_path / "s", slept(100), segment_bytes=1_000)
    first, second, *_ = segments(directory)
    first.unlink()
    reader = reader_of(directory)
    start = reader.initialOffset()
    assert seqs(reader, start, reader.latestOffset(start, ALL)) == list(range(int(second.stem), 100))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"startingOffsets": "middle"}, "Option startingOffsets must be earliest or latest, not middle."),
        (
            {"maxBytesPerTrigger": "0"},
            "Option maxBytesPerTrigger must be 1 or more: with 0 no event would be read.",
        ),
        ({"failOnDataLoss": "maybe"}, "Option failOnDataLoss must be true or false, not maybe."),
    ],
)
def test_a_wrong_option_is_a_sentence(tmp_path: Path, options: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why.replace(".", r"\.")):
        reader_of(tmp_path, **options)
