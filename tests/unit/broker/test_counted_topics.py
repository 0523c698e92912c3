"""Which topic a stored message counts for: RocketMQ counts where the record stands, and a delivery once more."""

from sandbox.remoting.bodies import KVTable, StatsData
from sandbox.remoting.codes import RequestCode
from tests.unit.broker.slave_stage import MASTER, SlaveStage
from tests.unit.broker.stage import Client, Stage, messages, stage_with
from tests.unit.broker.transactions import COMMIT, GROUP, HALF, OP, ROLLBACK, Transactor, stored

DELAYED = "SCHEDULE_TOPIC_XXXX"
stage = stage_with(queues=2)


def counted(stage: Stage, name: str, key: str = "DefaultCluster") -> int | None:
    """Return the count of the last minute, sampled every 10 s; None: no such counter."""
    answer = stage.client().call(RequestCode.VIEW_BROKER_STATS_DATA, {"statsName": name, "statsKey": key})
    return StatsData.decode(answer.body).minute.sum if answer.code == 0 else None


def taken(admin: Client) -> tuple[int, int]:
    """Records and bytes, as runtime figures have them."""
    found = KVTable.decode(admin.call(RequestCode.GET_BROKER_RUNTIME_INFO).body).table
    assert found["msgPutTotalTodayNow"] == found["putMessageTimesTotal"]
    return int(found["msgPutTotalTodayNow"]), int(found["putMessageSizeTotal"])


def test_a_delayed_message_counts_for_the_delay_topic_first(admin: Client, stage: Stage) -> None:
    admin.send("orders", properties="DELAY\x015")
    size = stage.broker.store.max_physical_offset
    stage.pass_s(10)
    assert counted(stage, "TOPIC_PUT_NUMS", DELAYED) == counted(stage, "QUEUE_PUT_NUMS", f"{DELAYED}@4") == 1
    assert counted(stage, "TOPIC_PUT_SIZE", DELAYED) == counted(stage, "QUEUE_PUT_SIZE", f"{DELAYED}@4") == size
    assert counted(stage, "TOPIC_PUT_NUMS", "orders") is None
    assert taken(admin) == (1, size)


def test_a_delivered_message_counts_for_its_own_topic_and_as_got_from_the_delay_topic(
    admin: Client, stage: Stage
) -> None:
    admin.send("orders", properties="DELAY\x011")
    stage.pass_s(10)
    first, last = (message.store_bytes for message in stored(stage, DELAYED) + stored(stage, "orders"))
    assert counted(stage, "TOPIC_PUT_NUMS", "orders") == 1
    assert counted(stage, "TOPIC_PUT_SIZE", "orders") == last
    assert counted(stage, "BROKER_PUT_NUMS") == 2
    for name, value in (("NUMS", 1), ("SIZE", last)):
        assert counted(stage, f"GROUP_GET_{name}", f"{DELAYED}@SCHEDULE_CONSUMER") == value
        assert counted(stage, f"QUEUE_GET_{name}", f"{DELAYED}@0@SCHEDULE_CONSUMER") == value
    assert counted(stage, "BROKER_GET_NUMS") == 0, "no member got it"
    assert taken(stage.client()) == (2, first + last)


def test_a_topic_is_as_fast_as_messages_reach_it(admin: Client, stage: Stage) -> None:
    for _ in range(10):
        admin.send("orders", properties="DELAY\x012")
    stage.pass_s(3)
    assert stage.broker.store.stats.put_per_s("orders") == 0.0
    stage.pass_s(7)
    assert stage.broker.store.stats.put_per_s("orders") == 1.0, "ten in the last ten seconds"


def test_a_message_given_back_counts_for_the_delay_topic_and_not_for_the_broker(admin: Client, stage: Stage) -> None:
    admin.send("orders")
    [sent] = messages(admin.pull("g", "orders", 0))
    for level in ("5", "-1"):
        admin.call(
            RequestCode.CONSUMER_SEND_MSG_BACK,
            {"offset": str(sent.physical_offset), "group": "g", "delayLevel": level, "originTopic": "orders"},
        )
    stage.pass_s(10)
    assert counted(stage, "TOPIC_PUT_NUMS", DELAYED) == counted(stage, "QUEUE_PUT_NUMS", f"{DELAYED}@4") == 1
    assert counted(stage, "TOPIC_PUT_NUMS", "%DLQ%g") is None
    assert counted(stage, "BROKER_PUT_NUMS") == 1
    assert taken(admin)[0] == 3


def test_a_half_message_counts_for_the_half_topic_and_its_end_for_no_topic(admin: Client, stage: Stage) -> None:
    shop = Transactor(stage)
    committed, dropped = shop.prepare("U1"), shop.prepare("U2")
    size = stage.broker.store.max_physical_offset
    assert taken(admin) == (2, size)
    shop.end(committed, COMMIT)
    shop.end(dropped, ROLLBACK)
    stage.pass_s(10)
    assert counted(stage, "TOPIC_PUT_NUMS", HALF) == 2
    assert counted(stage, "TOPIC_PUT_SIZE", HALF) == size
    assert counted(stage, "BROKER_PUT_NUMS") == 2
    assert counted(stage, "TOPIC_PUT_NUMS", "orders") is counted(stage, "TOPIC_PUT_NUMS", OP) is None
    assert taken(admin) == (5, stage.broker.store.max_physical_offset), "two halves, two ends, one message"


def test_a_retry_sent_too_often_counts_for_the_dead_letters(admin: Client, stage: Stage) -> None:
    admin.heartbeat("c1", "g", "orders")
    admin.send("%RETRY%g", reconsume_times=16)
    stage.pass_s(10)
    assert (counted(stage, "TOPIC_PUT_NUMS", "%DLQ%g"), counted(stage, "TOPIC_PUT_NUMS", "%RETRY%g")) == (1, None)


def test_what_the_transaction_check_reads_counts_as_got(stage: Stage) -> None:
    shop = Transactor(stage)
    shop.end(shop.prepare("U1"), ROLLBACK)
    shop.prepare("U2")
    shop.live(80)
    assert counted(stage, "GROUP_GET_NUMS", f"{HALF}@{GROUP}") == 2, "again once the op queue was read on"
    assert counted(stage, "GROUP_GET_NUMS", f"{OP}@{GROUP}") == 1
    assert counted(stage, "BROKER_GET_NUMS") == 3


def test_a_slave_counts_what_it_takes_over() -> None:
    pair = SlaveStage()
    pair.follow()
    for _ in range(3):
        pair.client(MASTER).send("TBW102")
    pair.pass_s(1)
    taken_over, sent = pair.slave.store.stats, pair.master.store.stats
    assert taken_over.puts.value == sent.puts.value == 3
    assert taken_over.bytes == sent.bytes == pair.slave.store.max_physical_offset
