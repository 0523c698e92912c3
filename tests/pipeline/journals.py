"""Journals on disk for these tests: written by the product's own writer, or by a sandbox in virtual time."""

from collections.abc import Iterable
from pathlib import Path

from sandbox.journal.events import Entry, Event
from sandbox.journal.segments import SegmentWriter

BEGIN_MS = 1_795_000_000_000


def write_journal(
    directory: Path, events: Iterable[Event], *, first_seq: int = 0, every_ms: int = 100, segment_bytes: int = 8 << 20
) -> Path:
    """One entry every so often, from BEGIN_MS on."""
    writer = SegmentWriter(directory, segment_bytes=segment_bytes)
    for seq, event in enumerate(events, first_seq):
        writer.append(Entry(seq, BEGIN_MS + (seq - first_seq) * every_ms, None, event))
        if segment_bytes < 1 << 20:
            writer.flush()
    writer.close()
    return directory
