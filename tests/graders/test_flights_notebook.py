"""docs/examples/flights.ipynb: executed by Jupyter, it prints what plain Python computes of the same records."""

import json
import struct
from collections import defaultdict
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from sandbox.cluster.actors.feeds import FlightsFeed, prepare_flights
from sandbox.journal.segments import rows_since
from tests.graders.environment import Unavailable, make
from tests.graders.notebook_run import Outputs, executed, outputs_of
from tests.server.server import ROOT

NOTEBOOK = ROOT / "docs" / "examples" / "flights.ipynb"
PICTURE = ROOT / "docs" / "images" / "flights.png"
MOST_BYTES = 80_000
FLIGHTS, LEAST_OF_A_CARRIER = 6_000, 100
DAY, QUEUES = "2013-01-01", 8
MINUTES = 24 * 60


def size_of(picture: bytes) -> tuple[int, int]:
    """Return width and height of a PNG.  Raises AssertionError for another file."""
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", picture[16:24])
    return width, height


def records(home: Path) -> list[dict[str, Any]]:
    """Return the bodies of the flights that the notebook stores."""
    return [json.loads(row.body) for row in islice(FlightsFeed(prepare_flights(home)).rows(), FLIGHTS)]


def delays(flights: Iterable[dict[str, Any]]) -> list[tuple[str, str, str, str]]:
    """Return carrier, flights, mean delay and cancelled flights, the highest delay first."""
    by_carrier: dict[str, list[int | None]] = defaultdict(list)
    for flight in flights:
        by_carrier[flight["carrier"]].append(flight["departure_delay_min"])
    rows = [
        (carrier, len(values), mean(value for value in values if value is not None), values.count(None))
        for carrier, values in by_carrier.items()
        if len(values) >= LEAST_OF_A_CARRIER
    ]
    rows.sort(key=lambda row: -row[2])
    return [(carrier, str(count), f"{delay:.1f}", str(cancelled)) for carrier, count, delay, cancelled in rows]


def lags(journal: Path, first_minute: int) -> list[list[int]]:
    """Return the lag of each queue at the end of each minute of the schedule: messages stored and not committed."""
    events = list(rows_since(journal, 0))
    first_ms = next(row["at_ms"] for row in events if row["type"] == "ActionTaken" and row["action"] == "SendMessages")
    stored, committed = [0] * QUEUES, [0] * QUEUES
    result = []
    changes = [row for row in events if row["type"] in ("MessagesStored", "OffsetCommitted")]
    changes = [row for row in changes if row["topic"] == "flights"]
    position = 0
    for second in range(MINUTES - first_minute):
        while position < len(changes) and changes[position]["at_ms"] < first_ms + (second + 1) * 1_000:
            row = changes[position]
            if row["type"] == "MessagesStored":
                stored[row["queue_id"]] += row["count"]
            elif row["group"] == "gate-display":
                committed[row["queue_id"]] = int(row["offset"])
            position += 1
        result.append([stored[queue] - committed[queue] for queue in range(QUEUES)])
    return result


def peaks(by_second: list[list[int]], first_minute: int) -> list[tuple[str, str, str]]:
    """Return peak, its first time ("-" for a peak of 0) and last lag of each queue, then of all queues together."""
    rows = []
    for values in (*zip(*by_second, strict=True), [sum(row) for row in by_second]):
        peak = max(values)
        minute = first_minute + 1 + list(values).index(peak)
        rows.append((str(peak), f"{minute // 60:02}:{minute % 60:02}" if peak else "-", str(values[-1])))
    return rows


def tables(printed: str) -> list[list[list[str]]]:
    """Return the cells of the printed tables, without their headings."""
    return [[line.split() for line in table.splitlines()[1:]] for table in printed.strip().split("\n\n")]


def test_the_picture_of_the_page_is_that_of_the_notebook() -> None:
    [picture] = outputs_of(NOTEBOOK).pictures
    assert picture == PICTURE.read_bytes()
    assert len(picture) < MOST_BYTES


@pytest.mark.wide
def test_the_notebook_computes_what_plain_python_does(tmp_path: Path) -> None:
    try:
        programs = make()
    except Unavailable as why:
        pytest.skip(str(why))
    saved, played = outputs_of(NOTEBOOK), outputs_of(executed(programs, NOTEBOOK, tmp_path))
    assert played.texts == saved.texts
    check_figures(played, tmp_path)


def check_figures(played: Outputs, directory: Path) -> None:
    [home] = directory.glob("queueviz-flights-*")
    flights = records(home)
    delay, by_queue = tables(played.texts["tables"])
    assert [tuple(row[:4]) for row in delay] == delays(flights)
    day = [flight for flight in flights if flight["scheduled"].startswith(DAY)]
    hour, minute = min(flight["scheduled"] for flight in day)[11:].split(":")
    first_minute = int(hour) * 60 + int(minute)
    by_second = lags(home / "sandboxes" / "world" / "journal", first_minute)
    assert [tuple(row[3:]) for row in by_queue] == peaks(by_second, first_minute)
    queue_of = {carrier: row[0] for row in by_queue for carrier in row[1].split(",")}
    assert [row[4] for row in delay] == [queue_of[row[0]] for row in delay]
    counts = {row[0]: int(row[2]) for row in by_queue}
    assert counts.pop("all") == sum(counts.values()) == len(day)
    assert counts == {
        queue: sum(queue_of[flight["carrier"]] == queue for flight in day) for queue in map(str, range(QUEUES))
    }
    [picture] = played.pictures
    assert min(size_of(picture)) > 300
