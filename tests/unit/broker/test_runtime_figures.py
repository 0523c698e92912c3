"""A broker's runtime figures (28)."""

import json
from pathlib import Path

from sandbox.remoting.bodies import KVTable
from sandbox.remoting.codes import RequestCode
from tests.unit.broker.stage import Stage, small_store, stage_with

RECORDED = Path(__file__).parents[2] / "golden" / "wire" / "json.jsonl"
stage = stage_with()


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


def test_how_much_room_there_is_is_reported_where_there_is_an_end_to_it() -> None:
    stage = Stage(store=small_store(store_limit_bytes=3 * 1024 * 1024))
    assert figures(stage)["commitLogDirCapacity"] == "Total : 3.0 MiB, Free : 3.0 MiB."
    assert "commitLogDirCapacity" not in figures(Stage())


EMPTY = {
    "putMessageTimesTotal": "1",
    "putMessageSizeTotal": "0",
    "putMessageAverageSize": "0.0",
    "putMessageFailedTimes": "0",
    "putMessageEntireTimeMax": "0",
    "getMessageEntireTimeMax": "0",
    "putLatency99": "0.00",
    "putLatency999": "0.00",
    "putMessageDistributeTime": "null",
    "dispatchMaxBuffer": "0",
    "putTps": "0.0  ",
    "getFoundTps": "0.0  ",
    "getMissTps": "0.0  ",
    "getTransferedTps": "0.0  ",
    "getTotalTps": "0.0 0.0 0.0",
    "msgPutTotalYesterdayMorning": "0",
    "msgPutTotalTodayMorning": "0",
    "msgPutTotalTodayNow": "0",
    "msgGetTotalYesterdayMorning": "0",
    "msgGetTotalTodayMorning": "0",
    "msgGetTotalTodayNow": "0",
    "commitLogMinOffset": "-1",
    "commitLogMaxOffset": "0",
    "dispatchBehindBytes": "0",
    "earliestMessageTimeStamp": "-1",
    "startAcceptSendRequestTimeStamp": "0",
    "pageCacheLockTimeMills": "0",
    "remainHowManyDataToFlush": "0 B",
    "remainTransientStoreBufferNumbs": "2147483647",
    "sendThreadPoolQueueSize": "0",
    "pullThreadPoolQueueSize": "0",
    "queryThreadPoolQueueSize": "0",
    "EndTransactionQueueSize": "0",
    "sendThreadPoolQueueCapacity": "10000",
    "pullThreadPoolQueueCapacity": "100000",
    "queryThreadPoolQueueCapacity": "20000",
    "EndTransactionThreadPoolQueueCapacity": "100000",
    "sendThreadPoolQueueHeadWaitTimeMills": "0",
    "pullThreadPoolQueueHeadWaitTimeMills": "0",
    "queryThreadPoolQueueHeadWaitTimeMills": "0",
    "brokerVersion": "409",
    "brokerVersionDesc": "V4_9_8",
    "bootTimestamp": "1700000000000",
    "runtime": "[ 0 days, 0 hours, 0 minutes, 30 seconds ]",
}
OF_THE_MACHINE = {
    "commitLogDirCapacity",
    "commitLogDiskRatio",
    "commitLogDiskRatio_store/commitlog",
    "consumeQueueDiskRatio",
}
READ_BY_TOOLS = {"brokerActive", "getTransferredTps", "totalMemKBytes"}  # no broker of 4.9.8 has them


def test_a_broker_that_stored_nothing_says_what_apaches_says() -> None:
    stage = Stage(store=small_store(store_limit_bytes=64 * 1024 * 1024))
    stage.pass_s(30)
    found = figures(stage)
    assert {name: text for name, text in found.items() if name not in OF_THE_MACHINE | READ_BY_TOOLS} == EMPTY
    assert found.keys() == EMPTY.keys() | OF_THE_MACHINE | READ_BY_TOOLS


def test_how_long_puts_took_is_of_the_last_whole_minute(stage: Stage) -> None:
    """None takes any time here; before there was such a minute nothing is known, as in RocketMQ."""
    stage.client().send("orders", b"x")
    stage.pass_s(59)
    assert figures(stage)["putMessageDistributeTime"] == "null"
    stage.pass_s(1)
    rest = "".join(
        f"[{span}]:0 "
        for span in (
            "0~10ms",
            "10~50ms",
            "50~100ms",
            "100~200ms",
            "200~500ms",
            "500ms~1s",
            "1~2s",
            "2~3s",
            "3~4s",
            "4~5s",
            "5~10s",
            "10s~",
        )
    )
    assert figures(stage)["putMessageDistributeTime"] == f"[<=0ms]:1 {rest}"
    stage.pass_s(60)
    assert figures(stage)["putMessageDistributeTime"] == f"[<=0ms]:0 {rest}"


def test_the_disk_is_filled_in_whole_percents() -> None:
    stage = Stage(store=small_store(store_limit_bytes=10 * 1024 * 1024))
    stage.client().send("TBW102")
    percent = float(figures(stage)["commitLogDiskRatio"]) * 100
    assert percent == int(percent) == int(stage.broker.store.cleaning.used_ratio() * 100) + 1


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


def test_every_look_of_a_pull_counts_also_of_one_that_is_held(stage: Stage) -> None:
    stage.topic("orders", 1)
    client = stage.client()
    client.park("g", "orders", 0)
    stage.pass_s(1)
    assert (figures(stage)["getFoundTps"], figures(stage)["getMissTps"]) == ("0.0  ", "0.1  ")
    client.send("orders")
    stage.pass_s(1)
    assert (figures(stage)["getFoundTps"], figures(stage)["getMissTps"]) == ("0.1  ", "0.1  ")


def test_sizes_are_reported_as_people_read_them(stage: Stage) -> None:
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
