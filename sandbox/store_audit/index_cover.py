"""The parts of a log that no index file covers, because a file or its entries are missing (spec store-format 5).

An index file covers the log from its first entry's record to its last one's.
"""

from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import NamedTuple

from sandbox.store.reader_index import COUNT_AT, HEADER_BYTES, IndexFileReader, IndexHeader
from sandbox.store_audit.findings import UNKNOWN_SHAPE_TEXT, Finding

MAX_POSITION = (1 << 63) - 1
NOT_INDEXED = "not_indexed"  # a count and no finding: the index of a store in use is behind, or there is none

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

    `kind`, `file`, `position`: fields of the finding, if there are keys; `beside` ends its sentence.
    """

    begin: int
    end: int
    kind: str  # missing_entry, missing_file, not_indexed
    file: str
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
        return Finding(self.kind, self.file, self.position, text, items=keys.number, records=(keys.first, keys.last))


def readable(every: Sequence[IndexFileReader], *, in_use: bool) -> tuple[IndexFiles, dict[str, Finding]]:
    """Return the files with entries by the position where they begin, and by name the faults of unreadable files.

    File names are no order, because they go back when a clock does.  In a store in use a file without a header is
    being created.
    """
    faults: dict[str, Finding] = {}
    for file in every:
        if in_use and file.size_bytes < HEADER_BYTES:
            continue
        fault = _header_fault(file)
        if fault is None and file.slots <= 1 and file.header().index_count > 1:
            fault = Finding("unknown_shape", f"index/{file.name}", 0, UNKNOWN_SHAPE_TEXT)
        if fault is not None:
            faults[file.name] = fault
    headers = [(file, file.header()) for file in every if file.name not in faults]
    filled = [(file, header) for file, header in headers if header.index_count > 1]
    return sorted(filled, key=lambda item: item[1].begin_physical), faults


def edges_to_unread(files: IndexFiles, number: int, unread: Set[str]) -> set[int]:
    """Return the positions of the records at the edges of a file that may have keys in an unread file beside it.

    `files`: readable ones by the position where they begin.  `number`: the index of the file in them.
    """
    file, header = files[number]
    before = files[number - 1][0].name if number else ""
    after = files[number + 1][0].name if number + 1 < len(files) else None
    edges = set()
    if any(before < name < file.name for name in unread):
        edges.add(header.begin_physical)
    if any(file.name < name and (after is None or name < after) for name in unread):
        edges.add(header.end_physical)
    return edges


def _header_fault(file: IndexFileReader) -> Finding | None:
    """Return the finding why the entries cannot be read, or None."""
    path = f"index/{file.name}"
    if file.size_bytes < HEADER_BYTES:
        return Finding("file_sizes", path, file.size_bytes, "the file ends within its header")
    if not file.is_miscounted():
        return None
    count = file.header_as_it_stands().index_count
    text = f"by the header the next entry is {count}, in a file with room for {file.entries}"
    return Finding("wrong_header", path, COUNT_AT, text)


def uncovered(files: IndexFiles, unread: Set[str], *, log_start: int, in_use: bool) -> list[Stretch]:
    """Return the stretches before, between and after the files that no file covers, ascending.

    `files`: readable ones with entries, by the position where they begin.  `unread`: names of the others, which may
    cover the stretches around them.  In a store in use the index is behind the log, and its first files may be
    deleted.  Without any file the index is off, or was deleted as a whole, which is no fault.
    """
    if not files:
        return [] if unread else [Stretch(log_start, MAX_POSITION, NOT_INDEXED, "index", 0, "")]
    stretches = list(_between(files, unread))
    (first, begins), (last, ends) = files[0], files[-1]
    if not in_use and not any(name < first.name for name in unread):
        stretches.insert(0, _before(first, begins, log_start))
    if not any(name > last.name for name in unread):
        behind = _behind(last, ends, MAX_POSITION)
        stretches.append(_not_indexed(behind, last, ends) if in_use else behind)
    return [stretch for stretch in stretches if stretch.begin < stretch.end]


def _before(file: IndexFileReader, header: IndexHeader, log_start: int) -> Stretch:
    position = file.entry_position(1)
    return Stretch(log_start, _begin(file, header), "missing_entry", f"index/{file.name}", position, "before entry 1")


def _behind(file: IndexFileReader, header: IndexHeader, end: int) -> Stretch:
    number = header.index_count - 1
    return Stretch(
        _end(file, header) + 1,
        end,
        "missing_entry",
        f"index/{file.name}",
        file.entry_position(number + 1),
        f"behind entry {number}",
    )


def _not_indexed(behind: Stretch, file: IndexFileReader, header: IndexHeader) -> Stretch:
    """Return the stretch behind the last file of a store in use.

    It begins with the last record by the header, if that record's first entry is not counted yet.
    """
    entry = file.entry(header.index_count - 1)
    is_counted = entry is None or entry.physical_offset >= header.end_physical
    return behind._replace(kind=NOT_INDEXED, begin=behind.begin if is_counted else header.end_physical)


def _between(files: IndexFiles, unread: Set[str]) -> Iterator[Stretch]:
    for (before, ends), (after, begins) in pairwise(files):
        low, high = sorted((before.name, after.name))
        begin, end = _end(before, ends) + 1, _begin(after, begins)
        if begin >= end or any(low < name < high for name in unread):
            continue
        if after.counts_from(ends):
            yield _behind(before, ends, end)
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
