"""Search of the journal backwards: the newest events that match a filter, page by page.

The search reads the entries in memory, then the files.  A page reads at most `LOOK_BYTES` of files and returns where
it stopped, so that the search for a rare event can continue there.  Pure functions of entries and files, run by a
worker.
"""

import logging
import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from sandbox.control.readings import LookedBack
from sandbox.journal import segments
from sandbox.journal.event_filter import EventFilter
from sandbox.journal.events import BY_NAME, Entry
from sandbox.journal.schema import from_row, to_row
from sandbox.kernel import json_bytes

log = logging.getLogger(__name__)

LOOK_BYTES = 4 * 1024 * 1024  # of the files, for one page
MOST_ROWS = 500
END = 2**63

_HEAD = re.compile(rb'\{"seq":(\d+),"at_ms":(-?\d+),"type":"(\w+)"')


def look_back(
    memory: Sequence[Entry],
    files: Path | None,
    event_filter: EventFilter,
    *,
    before: int | None,
    after: int,
    most: int,
    newest: Sequence[Entry] = (),
) -> LookedBack:
    """Return at most `most` rows with `after` < seq < `before` that match the filter, newest first.

    `newest`: the newest facts that are no steps, also those older than `memory`; a search for facts alone reads no
    file.
    """
    page = _Page(event_filter, END if before is None else before, max(1, min(most, MOST_ROWS)))
    first_seq = _first_seq(memory, files)
    held = newest if event_filter.show in ("actions", "told") else ()
    for entry in chain(reversed(memory), reversed(held)):
        if entry.seq < page.before:
            if entry.seq <= after:
                return page.to_the_end(first_seq)
            if page.is_full:
                return page.so_far(first_seq)
            kind = type(entry.event).__name__
            page.look(entry.seq, entry.at_ms, to_row(entry, longs_as_text=True) if event_filter.takes(kind) else None)
    looked_bytes = 0
    for line in segments.lines_back(files, page.before) if files is not None else ():
        head = _HEAD.match(line)
        if head is None:
            log.warning("skipped an unreadable line of the journal: %r", line[:80])
            continue
        seq, at_ms, kind = int(head[1]), int(head[2]), head[3].decode()
        if seq >= page.before:
            continue
        if seq <= after:
            break
        if page.is_full or looked_bytes >= LOOK_BYTES:
            return page.so_far(first_seq)
        looked_bytes += len(line)
        page.look(seq, at_ms, for_browser(json_bytes.loads(line)) if event_filter.takes(kind) else None)
    return page.to_the_end(first_seq)


class _Page:
    """Rows of one page; entries from `before` on have been searched."""

    def __init__(self, event_filter: EventFilter, before: int, most: int) -> None:
        self.before = before
        self._wanted = event_filter
        self._most = most
        self._rows: list[dict[str, object]] = []
        self._at_ms: int | None = None

    @property
    def is_full(self) -> bool:
        return len(self._rows) == self._most

    def look(self, seq: int, at_ms: int, row: dict[str, object] | None) -> None:
        self.before, self._at_ms = seq, at_ms
        if row is not None and self._wanted.fits(row):
            self._rows.append(row)

    def so_far(self, first_seq: int) -> LookedBack:
        return LookedBack(self._rows, self.before, self._at_ms, first_seq)

    def to_the_end(self, first_seq: int) -> LookedBack:
        return LookedBack(self._rows, None, self._at_ms, first_seq)


def _first_seq(memory: Sequence[Entry], files: Path | None) -> int:
    on_disk = segments.first_seq(files) if files is not None else None
    if on_disk is not None:
        return on_disk
    return memory[0].seq if memory else 0


def for_browser(row: dict[str, object]) -> dict[str, object]:
    """Return a row of the files with its 64-bit numbers as text, like `to_row` of an entry in memory."""
    if row["type"] not in BY_NAME:
        return {**row, "seq": str(row["seq"])}  # written by another version: returned unchanged
    return to_row(from_row(row), longs_as_text=True)
