"""The flights feed: the whole year, in time order, nights cut."""

from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import orjson
import pytest

from sandbox.cluster.actors.feeds import LONGEST_GAP_S, FlightsFeed, prepare_flights


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare_flights(tmp_path_factory.mktemp("home"))


def test_every_departure_of_the_year_is_there_once(table: Path) -> None:
    keys = 0
    without_tail_number = 0
    for row in islice(FlightsFeed(table).rows(), 336_776):
        keys += 1
        without_tail_number += orjson.loads(row.body)["tail_number"] is None
    assert keys == 336_776
    assert without_tail_number == 2_512
    assert row.position == table.stat().st_size


def test_rows_come_in_scheduled_order_and_gaps_are_cut_to_five_minutes(table: Path) -> None:
    rows = list(islice(FlightsFeed(table).rows(), 5_000))
    times = [orjson.loads(row.body)["scheduled"] for row in rows]
    assert times == sorted(times)
    assert times[0] == "2013-01-01T05:15"
    assert max(row.gap_s for row in rows) == LONGEST_GAP_S, "five thousand rows hold several nights"
    assert min(row.gap_s for row in rows) == 0


def test_a_flight_without_tail_number_is_keyed_by_carrier_and_number(table: Path) -> None:
    row = next(row for row in FlightsFeed(table).rows() if orjson.loads(row.body)["tail_number"] is None)
    body = orjson.loads(row.body)
    assert row.key == f"{body['carrier']}{body['flight']}"
    assert row.tag == body["carrier"]


def test_sandboxes_that_start_together_get_the_same_table(table: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        made = set(pool.map(prepare_flights, [tmp_path] * 3))
    assert [path.name for path in tmp_path.joinpath("feeds").iterdir()] == [table.name], "no draft is left"
    assert made.pop().read_bytes() == table.read_bytes()


def test_a_feed_goes_on_where_it_stopped(table: Path) -> None:
    whole = list(islice(FlightsFeed(table).rows(), 600))
    feed = FlightsFeed(table)
    first = list(islice(feed.rows(), 300))
    rest = list(islice(FlightsFeed(table, first[-1].position).rows(), 300))
    assert [row.body for row in first + rest] == [row.body for row in whole]


def test_after_the_last_departure_the_year_begins_again(table: Path) -> None:
    last = table.read_bytes().rstrip(b"\n").rfind(b"\n") + 1
    rows = list(islice(FlightsFeed(table, last).rows(), 2))
    assert orjson.loads(rows[0].body)["scheduled"].startswith("2013-12-31")
    assert orjson.loads(rows[1].body)["scheduled"] == "2013-01-01T05:15"
