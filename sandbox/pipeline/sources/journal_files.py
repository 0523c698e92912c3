"""The segments of journals as rows, without Spark: pieces of files, and Arrow batches of their lines.

Only complete lines become rows, as in `journal.segments`.  A deleted segment was trimmed: its rows are no longer
part of the journal or of the table.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from sandbox.journal.segments import segments
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import CorruptRecord, StoreError
from sandbox.pipeline.sources.event_types import FIELDS, HEAD, columns_of, schema_of
from sandbox.pipeline.sources.local_directories import has_names, local_path, named_directories
from sandbox.pipeline.sources.option_values import listed
from sandbox.pipeline.sources.source_columns import TIMESTAMP, instants, with_timestamp

JOURNALS = "journals"
NO_JOURNAL = "No journal. Set load(DIR), or the option journals with a directory for each sandbox."
AT_MS = "at_ms"
BATCH_ROWS = 8_192
BEYOND = 1 << 63

_BEGINNING = re.compile(rb'\{"seq":(\d+),"at_ms":(-?\d+),"type":"(\w+)"')
"""The start of every line of our writer: enough to skip parsing most of them."""


Ends = Mapping[str, int] | None
"""The seq at which rows end (exclusive), by sandbox; a journal without one has none.  None: all rows."""


class Piece(NamedTuple):
    """Bytes `[start, end)` of one segment."""

    sandbox: str
    path: str
    start: int
    end: int


def journals_of(options: Mapping[str, str]) -> dict[str, Path]:
    """Return journal directories by sandbox, from `load(DIR)`, `load([DIR, DIR])` or the option `journals`.

    Raises ValueError, and StoreError for a directory that does not exist.
    """
    if has_names(options, JOURNALS):
        if options.get("path"):
            raise ValueError("Set load(DIR) or the option journals, not both.")
        journals = named_directories(options, JOURNALS, sandbox_of)
    elif text := options.get("path"):
        directory = local_path(text)
        journals = {sandbox_of(directory).name: directory}
    else:
        raise StoreError(NO_JOURNAL)
    for name, directory in journals.items():
        if not directory.is_dir():
            raise StoreError(f"No directory {directory}. Set the journal directory of {name}.")
    return journals


def sandbox_of(directory: Path) -> Path:
    """Return the directory that names a journal: in a sandbox, the journal's own directory is called `journal`."""
    return directory.parent if directory.name == "journal" else directory


def pieces_of(journals: Mapping[str, Path], ends: Ends = None) -> list[Piece]:
    """Return every segment that may contain an entry before its end, with its current length."""
    pieces = []
    for sandbox, directory in sorted(journals.items()):
        to_seq = _end_of(sandbox, ends)
        for path in segments(directory):
            if int(path.stem) < to_seq and (size := size_of(path)):
                pieces.append(Piece(sandbox, str(path), 0, size))
    return pieces


def _end_of(sandbox: str, ends: Ends) -> int:
    return BEYOND if ends is None else ends.get(sandbox, 0)


def size_of(path: Path) -> int:
    """Return the size of a file in bytes, 0 if it is deleted."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


class Chosen(NamedTuple):
    """The columns of the rows.

    `events`: events with typed fields (empty: the line instead).  `lines_of`: events that keep their line.
    `fields`: the typed fields to include (empty: all).  `has_timestamp`: also the time as an instant.
    """

    events: tuple[str, ...] = ()
    lines_of: frozenset[str] | None = None
    fields: tuple[str, ...] = ()
    has_timestamp: bool = False

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows.  Raises UnknownEvent."""
        schema = schema_of(self.events, self.fields)
        return with_timestamp(schema, AT_MS) if self.has_timestamp else schema


def chosen_of(options: Mapping[str, str]) -> Chosen:
    """Return the columns that the options `events`, `linesOf` and `columns` choose.  Raises ValueError."""
    lines, events, fields = (tuple(dict.fromkeys(listed(options, name))) for name in ("linesOf", "events", "columns"))
    if fields and not events and not {*fields} <= {TIMESTAMP, FIELDS.name}:
        raise ValueError("Option columns needs the option events: columns are fields of events.")
    own = tuple(name for name in fields if name != TIMESTAMP) if events else ()
    return Chosen(events, frozenset(lines) if lines else None, own, not fields or TIMESTAMP in fields)


def ends_of(options: Mapping[str, str]) -> dict[str, int] | None:
    """Return the option `endingOffsets`, JSON `{sandbox: seq}`, or None without it.  Raises ValueError."""
    if (text := options.get("endingOffsets")) is None:
        return None
    try:
        ends = json.loads(text)  # an end may be one more than the largest integer that orjson reads
    except ValueError:
        ends = None
    if not isinstance(ends, dict) or not all(type(seq) is int for seq in ends.values()):
        raise ValueError(
            "Option endingOffsets must be JSON {sandbox: seq}, where seq is the first entry after the range."
        )
    return ends


def batches(pieces: Sequence[Piece], chosen: Chosen, ends: Ends = None) -> Iterator[pa.RecordBatch]:
    """Yield the entries of these pieces in order, with the columns of `chosen.schema`.

    Raises CorruptRecord for a line that is no entry.
    """
    builder = _Builder(chosen)
    names = frozenset(chosen.events) or None
    for piece in pieces:
        for seq, at_ms, event, line in _lines(piece, _end_of(piece.sandbox, ends), names):
            builder.add(piece, seq, at_ms, event, line)
            if len(builder.rows) >= BATCH_ROWS:
                yield builder.taken()
    if builder.rows:
        yield builder.taken()


def _lines(piece: Piece, to_seq: int, names: frozenset[str] | None) -> Iterator[tuple[int, int, str, bytes]]:
    for line in whole_lines(piece):
        begun = _BEGINNING.match(line)
        if begun is not None:
            seq, at_ms, event = int(begun[1]), int(begun[2]), begun[3].decode()
        else:  # not of our writer, but a valid entry
            row = _parsed(line, piece)
            try:
                seq, at_ms, event = int(row["seq"]), int(row["at_ms"]), str(row["type"])
            except (KeyError, TypeError, ValueError) as error:
                raise CorruptRecord(f"{piece.path} is not a journal: {_shown(line)} is not an entry.") from error
        if (names is None or event in names) and seq < to_seq:
            yield seq, at_ms, event, line


def whole_lines(piece: Piece) -> list[bytes]:
    """Return the complete lines of a piece, without line ends.

    An incomplete last line is still being written, or a crash cut it.
    """
    try:
        with open(piece.path, "rb") as file:
            file.seek(piece.start)
            data = file.read(piece.end - piece.start)
    except FileNotFoundError:
        return []
    return data[: max(0, data.rfind(b"\n"))].split(b"\n") if b"\n" in data else []


class _Builder:
    """A builder of Arrow batches from rows of plain values."""

    def __init__(self, chosen: Chosen) -> None:
        events = chosen.events
        self._schema = schema_of(events, chosen.fields)
        self._lines_of, self._has_timestamp = chosen.lines_of, chosen.has_timestamp
        self._order = {
            event: [(name, *columns_of(event).get(name, (None, None))) for name in self._schema.names[len(HEAD) :]]
            for event in events
        }
        self.rows: list[tuple[Any, ...]] = []

    def add(self, piece: Piece, seq: int, at_ms: int, event: str, line: bytes) -> None:
        if not self._order:
            shown = self._lines_of is None or event in self._lines_of
            self.rows.append((piece.sandbox, seq, at_ms, event, line.decode("utf-8", "replace") if shown else None))
            return
        row = _parsed(line, piece)
        values = [row.get(name) if kind is not None else None for name, kind, _ in self._order[event]]
        for at, (_, _, convert) in enumerate(self._order[event]):
            if convert is not None and values[at] is not None:
                values[at] = convert(values[at])
        self.rows.append((piece.sandbox, seq, at_ms, event, *values))

    def taken(self) -> pa.RecordBatch:
        columns = zip(*self.rows, strict=True)
        self.rows = []
        try:
            arrays = [pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise CorruptRecord(f"A journal has an invalid value: {error}") from error
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        if not self._has_timestamp:
            return batch
        number = self._schema.get_field_index(AT_MS)
        times = instants(batch.column(number).to_numpy())
        return batch.add_column(number + 1, TIMESTAMP, times)


def _parsed(line: bytes, piece: Piece) -> dict[str, Any]:
    try:
        row = json_bytes.loads(line)
    except json_bytes.JSONDecodeError as error:
        raise CorruptRecord(f"{piece.path} cannot be read: {_shown(line)} is not JSON.") from error
    if not isinstance(row, dict):
        raise CorruptRecord(f"{piece.path} is not a journal: {_shown(line)} is not an entry.")
    return row


def _shown(line: bytes) -> str:
    return repr(line[:40].decode("utf-8", "replace"))
