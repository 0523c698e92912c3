"""The parts of a log that no index file covers, because a file or its entries are missing (spec store-format 5).

An index file covers the log from its first entry's record to its last one's.  Both audits, `mqstore verify` and
`store_audit`, count the keys of records between the files and use these texts for their findings.
"""

from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import NamedTuple

from sandbox.store.findings import UNKNOWN_SHAPE_TEXT, Finding, finding
from sandbox.store.reader_index import HEADER_BYTES, IndexFileReader, IndexHeader

MAX_POSITION = (1 << 63) - 1

IndexFiles = Sequence[tuple[IndexFileReader, IndexHeader]]


class Keys(NamedTuple):
    """Keys of records without an entry: their number, and the positions of the first and the last record."""

    number: int
    first: int
    last: int

    def __add__(self, other: object) -> "Keys":
        if not isinstance(other, Keys):
            return NotImplemented
        return Keys(self.number + other.number, min(self.first, other.first), max(self.last, other.last))


NO_KEYS = Keys(0, MAX_POSITION, 0)


class Stretch(NamedTuple):
    """A part of the log without an index file: records that begin in `[begin, end)`.

    `kind`, `where`, `position`: fields of the finding, if there are keys; `beside` ends its sentence.
    """

    begin: int
    end: int
    kind: str  # missing_entry, missing_file
    where: str
    position: int
    beside: str

    @property
    def edges(self) -> tuple[int, int]:
        """The positions of the records at both ends.

        If there are keys between them, a part of theirs may be in a missing file too.
        """
        return self.begin - 1, self.end

    def finding(self, keys: Keys) -> Finding:
        text = (
            f"no entry for {keys.number} keys of the records from {keys.first} to {keys.last}, {self.beside}"
            if keys.number > 1
            else f"no entry for a key of the record at {keys.first}, {self.beside}"
        )
        return finding(self.kind, self.where, self.position, text)


def readable(every: Sequence[IndexFileReader], *, in_use: bool) -> tuple[IndexFiles, dict[str, Finding]]:
    """Return the files with entries by the position where they begin, and by name the faults of unreadable files.

    File names are no order, because they go back when a clock does.  In a store in use a file without a header is
    being created.
    """
    faults: dict[str, Finding] = {}
    for file in every:
        if in_use and file.size_bytes < HEADER_BYTES:
            continue
        fault = file.header_fault()
        if fault is None and file.slots <= 1 and file.header().index_count > 1:
            fault = finding("unknown_shape", f"index/{file.name}", 0, UNKNOWN_SHAPE_TEXT)
        if fault is not None:
            faults[file.name] = fault
    headers = [(file, file.header()) for file in every if file.name not in faults]
    filled = [(file, header) for file, header in headers if header.index_count > 1]
    return sorted(filled, key=lambda item: item[1].begin_physical), faults


def uncovered(files: IndexFiles, unread: Set[str], *, log_start: int, in_use: bool) -> list[Stretch]:
    """Return the stretches before, between and after the files that no file covers, ascending.

    `files`: readable ones with entries, by the position where they begin.  `unread`: names of the others, which may
    cover the stretches around them.  While a store is in use, its ends change, so only stretches between files are
    returned.  Without any file the index is off, or was deleted as a whole, which is no fault.
    """
    if not files:
        return []
    between = list(_between(files, unread))
    if in_use:
        return between
    (first, header), (last, _) = files[0], files[-1]
    before = (
        [
            Stretch(
                log_start,
                _begin(first, header),
                "missing_entry",
                f"index/{first.name}",
                first.entry_position(1),
                "before entry 1",
            )
        ]
        if not any(name < first.name for name in unread)
        else []
    )
    number = files[-1][1].index_count - 1
    behind = (
        [
            Stretch(
                _end(*files[-1]) + 1,
                MAX_POSITION,
                "missing_entry",
                f"index/{last.name}",
                last.entry_position(number + 1),
                f"behind entry {number}",
            )
        ]
        if not any(name > last.name for name in unread)
        else []
    )
    return [stretch for stretch in (*before, *between, *behind) if stretch.begin < stretch.end]


def _between(files: IndexFiles, unread: Set[str]) -> Iterator[Stretch]:
    for (before, ends), (after, begins) in pairwise(files):
        low, high = sorted((before.name, after.name))
        begin, end = _end(before, ends) + 1, _begin(after, begins)
        if begin >= end or any(low < name < high for name in unread):
            continue
        if after.counts_from(ends):
            number = ends.index_count - 1
            yield Stretch(
                begin,
                end,
                "missing_entry",
                f"index/{before.name}",
                before.entry_position(number + 1),
                f"behind entry {number}",
            )
        else:
            yield Stretch(
                begin,
                end,
                "missing_file",
                f"index/{after.name}",
                after.entry_position(1),
                f"behind {before.name}, and entry 1 does not count from its end: a file is missing",
            )


def _begin(file: IndexFileReader, header: IndexHeader) -> int:
    """Return the position of the first record: the lower one if header and entry differ, so that no key is doubted."""
    entry = file.entry(1)
    return header.begin_physical if entry is None else min(header.begin_physical, entry.physical_offset)


def _end(file: IndexFileReader, header: IndexHeader) -> int:
    entry = file.entry(header.index_count - 1)
    return header.end_physical if entry is None else max(header.end_physical, entry.physical_offset)
