"""Feed of a user's table: CSV with a header line, or one JSON object per line."""

import csv
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.cluster.actors.feeds import LONGEST_GAP_S, FeedRow
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import SandboxError

EPOCH_MS_FROM = 100_000_000_000  # a larger number is milliseconds, a smaller one seconds (until the year 5138)


class FeedUnreadable(SandboxError):
    """Error: the file is not a table of the expected format.  The message names the line or the column."""


class Columns(NamedTuple):
    """Names of the columns with the message's key, tag and time; None for none."""

    key: str | None = None
    tag: str | None = None
    time: str | None = None


def csv_rows(path: Path, columns: Columns) -> Iterator[FeedRow]:
    """Yield the rows of a CSV file with a header line; the body is the whole row as JSON, values as text."""
    return _rows(path, columns, _csv_records)


def ndjson_rows(path: Path, columns: Columns) -> Iterator[FeedRow]:
    """Yield the rows of a file with one JSON object per line; the body is the line."""
    return _rows(path, columns, _ndjson_records)


def count_lines(path: Path) -> int:
    """Count the lines that are not blank, the total of a progress bar."""
    try:
        with path.open("rb") as file:
            return sum(1 for line in file if line.strip())
    except OSError as error:
        raise _unreadable(path, error) from error


class _Record(NamedTuple):
    line: int
    values: dict[str, object]
    body: bytes


def _rows(path: Path, columns: Columns, records: Callable[[Path], Iterator[_Record]]) -> Iterator[FeedRow]:
    before_s: float | None = None
    try:
        for record in records(path):
            at_s = _seconds(path, record, columns.time)
            gap_s = 0.0 if before_s is None or at_s is None else min(float(LONGEST_GAP_S), max(0.0, at_s - before_s))
            before_s = at_s if at_s is not None else before_s
            key, tag = (_text(path, record, column) for column in (columns.key, columns.tag))
            yield FeedRow(0, gap_s, key, tag, record.body)
    except OSError as error:
        raise _unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise FeedUnreadable(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from error


def _csv_records(path: Path) -> Iterator[_Record]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.DictReader(file, restkey="", restval="")
        try:
            for row in lines:
                yield _Record(lines.line_num, row, json_bytes.dumps(row))
        except csv.Error as error:
            raise FeedUnreadable(f"{path}, line {lines.line_num}: {error}") from error


def _ndjson_records(path: Path) -> Iterator[_Record]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                value = json_bytes.loads(line)
            except json_bytes.JSONDecodeError as error:
                raise FeedUnreadable(f"{path}, line {number}: {error}") from error
            if not isinstance(value, dict):
                raise FeedUnreadable(f"{path}, line {number}: not a JSON object")
            yield _Record(number, value, line.strip())


def _value(path: Path, record: _Record, column: str) -> Any:
    if column not in record.values:
        known = ", ".join(str(name) for name in record.values if name)
        raise FeedUnreadable(f"{path}, line {record.line}: there is no column {column}; its columns are {known}")
    return record.values[column]


def _text(path: Path, record: _Record, column: str | None) -> str:
    if column is None:
        return ""
    value = _value(path, record, column)
    return "" if value is None else str(value).strip()


def _seconds(path: Path, record: _Record, column: str | None) -> float | None:
    """Return the time in a column as seconds since 1970; None if the field is empty.

    Accepted are ISO 8601 (UTC without a zone), seconds and milliseconds since 1970.
    """
    if column is None:
        return None
    value = _value(path, record, column)
    text = "" if value is None else str(value).strip()
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        pass
    else:
        return number / 1000 if abs(number) >= EPOCH_MS_FROM else number
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise FeedUnreadable(f"{path}, line {record.line}: {column} is no time: {text[:40]!r}") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _unreadable(path: Path, error: OSError) -> FeedUnreadable:
    return FeedUnreadable(f"{path} cannot be read: {(error.strerror or str(error)).lower()}")
