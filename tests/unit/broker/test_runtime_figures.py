"""What a broker says of itself when it is asked for its runtime (28)."""

import json
from pathlib import Path

import pytest

from sandbox.remoting.bodies import KVTable
from sandbox.remoting.codes import RequestCode
from tests.unit.broker.stage import Stage, small_store

RECORDED = Path(__file__).parents[2] / "golden" / "wire" / "json.jsonl"


@pytest.fixture
def stage() -> Stage:
    return Stage()


def figures(stage: Stage) -> dict[str, str]:
    """A new client each time: idle connections are closed."""
    return KVTable.decode(stage.client().call(RequestCode.GET_BROKER_RUNTIME_INFO).body).table


def test_every_figure_a_real_broker_gave_is_there() -> None:
    stage = Stage(store=small_store(store_limit_bytes=64 * 1024 * 1024))
    rows = [json.loads(line) for line in RECORDED.read_text("utf-8").splitlines()]
    asked = {row["seq"] for row in rows if row["kind"] == "request" and row["code"] == 28}
    [recorded] = [json.loads(row["body_text"])["table"] for row in rows if row.get("request_seq") in asked]
    of_levels = {name for name in recorded if name.startswith("scheduleMessageOffset_")}
    assert recorded.keys() - figures(stage).keys() == of_levels


def test_how_much_room_there_is_is_told_where_there_is_an_end_to_it() -> None:
    stage = Stage(store=small_store(store_limit_bytes=3 * 1024 * 1024))
    assert figures(stage)["commitLogDirCapacity"] == "Total : 3.0 MiB, Free : 3.0 MiB."
    assert "commitLogDirCapacity" not in figures(Stage())


def test_means_are_of_ten_seconds_a_minute_and_ten_as_far_as_it_lives(stage: Stage) -> None:
    stage.topic("orders", 1)
    client = stage.client()
    for _ in range(30):
        client.send("orders")
    client.pull("g", "orders", 0)
    client.pull("g", "orders", 30)
    stage.pass_s(1)
    assert (figures(stage)["putTps"], figures(stage)["getTransferedTps"]) == ("3.0  ", "3.0  ")
    assert (figures(stage)["getFoundTps"], figures(stage)["getMissTps"]) == ("0.1  ", "0.1  ")
    assert figures(stage)["getTotalTps"] == "0.2 0.0 0.0"
    stage.pass_s(59)
    assert figures(stage)["putTps"] == "0.0 0.5 "
    stage.pass_s(540)
    assert figures(stage)["putTps"] == "0.0 0.0 0.05"
    stage.pass_s(2)
    assert figures(stage)["putTps"] == "0.0 0.0 0.0"


def test_sizes_are_told_as_people_read_them(stage: Stage) -> None:
    stage.client().send("orders", b"x" * 3_000)
    found = figures(stage)
    assert found["remainHowManyDataToFlush"] == f"{int(found['commitLogMaxOffset']) / 1024:.1f} KiB"
    assert found["putMessageSizeTotal"] == found["commitLogMaxOffset"]
    assert float(found["putMessageAverageSize"]) == float(found["putMessageSizeTotal"])


def test_totals_of_the_morning_are_taken_at_midnight(stage: Stage) -> None:
    """The clock starts at 2023-11-14 22:13:20."""
    assert stage.time.clock.now_ms() == 1_700_000_000_000
    stage.client().send("orders")

    def put() -> tuple[str, str, str]:
        found = figures(stage)
        return (found["msgPutTotalYesterdayMorning"], found["msgPutTotalTodayMorning"], found["msgPutTotalTodayNow"])

    stage.pass_s(6_399)
    assert put() == ("0", "0", "1")
    stage.pass_s(1)
    assert put() == ("0", "1", "1")
    stage.client().send("orders")
    assert put() == ("0", "1", "2")
    stage.pass_s(2 * 86_400)
    assert put() == ("2", "2", "2")
