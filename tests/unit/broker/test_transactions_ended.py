"""Transactional messages: prepared, committed, rolled back."""

import pytest

from sandbox.broker.config import BrokerConfig
from sandbox.journal.events import TransactionEnded, TransactionPrepared
from sandbox.message import msg_id
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import EndTransactionHeader, SendHeader, SendResponseHeader
from tests.unit.broker.stage import Stage, messages, small_store
from tests.unit.broker.transactions import COMMIT, HALF, OP, ROLLBACK, UNKNOWN, Transactor, stored


def test_a_half_message_stands_in_the_half_queue_and_not_in_its_topic(shop: Transactor, stage: Stage) -> None:
    answer = shop.prepare(queue=3)
    [half] = stored(stage, HALF)
    assert (half.queue_offset, half.queue_id, half.sys_flag, half.prepared_offset) == (0, 0, 0, 0)
    assert half.properties == {
        "UNIQ_KEY": "U1",
        "WAIT": "true",
        "PGROUP": "PG",
        "TRAN_MSG": "true",
        "TAGS": "A",
        "CLUSTER": "DefaultCluster",
        "REAL_TOPIC": "orders",
        "REAL_QID": "3",
    }
    assert (answer.queue_id, answer.queue_offset) == (3, 0), "the queue asked for, the offset of the half queue"
    assert msg_id.decode(answer.msg_id).physical_offset == half.physical_offset
    assert stored(stage, "orders", 3) == []
    [fact] = stage.events(TransactionPrepared)
    assert fact == TransactionPrepared("PG", "U1", 0)


def test_a_half_message_uses_up_no_offset_of_the_real_queue(shop: Transactor, stage: Stage) -> None:
    shop.prepare(queue=1)
    plain = shop.client.send("orders", queue=1)
    assert (plain.ext or {})["queueOffset"] == "0"


def test_a_half_message_is_found_by_its_key_in_the_half_topic_only(shop: Transactor, stage: Stage) -> None:
    shop.prepare("U7")
    store = stage.broker.store
    assert len(store.query(HALF, "U7", 32, 0, 2**62).records) == 1
    assert store.query("orders", "U7", 32, 0, 2**62).records == []


def test_no_one_pulls_a_half_message(shop: Transactor) -> None:
    shop.prepare()
    answer = shop.client.pull("g", HALF, 0)
    assert answer.code == 17  # measured: the topic has no configuration until the first check


def test_a_committed_message_is_readable_and_remembers_its_half(shop: Transactor, stage: Stage) -> None:
    half = shop.prepare(queue=2)
    born_ms = stage.time.clock.now_ms()
    stage.pass_s(3)
    answer = shop.end(half, COMMIT)
    assert (answer.code, answer.remark) == (0, None)
    [message] = messages(shop.client.pull("g", "orders", 0, queue=2))
    assert (message.body, message.sys_flag, message.queue_offset) == (b"pay", 8, 0)
    assert message.prepared_offset == msg_id.decode(half.msg_id).physical_offset
    assert (message.born_ms, message.store_ms) == (born_ms, born_ms + 3_000)
    [first] = stored(stage, HALF)
    assert message.properties == first.properties, "TRAN_MSG, PGROUP, REAL_* and WAIT stay in the text"
    [op] = stored(stage, OP)
    assert (op.body, op.properties, op.sys_flag) == (b"0", {"WAIT": "true", "TAGS": "d"}, 0)
    assert op.born_host == op.store_host == "127.0.0.2:10911"
    [fact] = stage.events(TransactionEnded)
    assert fact == TransactionEnded("PG", "U1", 0, "commit", "producer", 0)


def test_a_commit_wakes_who_waits_for_the_topic(shop: Transactor) -> None:
    half = shop.prepare(queue=2)
    parked = shop.client.park("g", "orders", 0, queue=2)
    assert parked not in shop.client.answers
    shop.end(half, COMMIT)
    assert len(messages(shop.client.answers[parked])) == 1


def test_what_is_rolled_back_is_never_seen(shop: Transactor, stage: Stage) -> None:
    half = shop.prepare()
    answer = shop.end(half, ROLLBACK)
    assert (answer.code, answer.remark) == (0, "not set any response code")
    assert stored(stage, "orders", 1) == []
    assert [op.body for op in stored(stage, OP)] == [b"0"]
    stage.pass_s(200)
    assert stored(stage, "orders", 1) == []
    assert shop.asked() == []
    [fact] = stage.events(TransactionEnded)
    assert (fact.outcome, fact.by) == ("rollback", "producer")


def test_not_knowing_ends_nothing_and_gets_no_answer(shop: Transactor, stage: Stage) -> None:
    half = shop.prepare()
    header = EndTransactionHeader(
        "PG", half.queue_offset, msg_id.decode(half.msg_id).physical_offset, UNKNOWN, False, "U1"
    )
    opaque = shop.client.post(RequestCode.END_TRANSACTION, header.to_ext())
    stage.settle()
    assert opaque not in shop.client.answers
    assert (stored(stage, OP), stage.events(TransactionEnded)) == ([], [])


def test_a_second_commit_stores_the_message_again(shop: Transactor, stage: Stage) -> None:
    half = shop.prepare()
    assert shop.end(half, COMMIT).code == shop.end(half, COMMIT).code == 0
    assert [m.queue_offset for m in stored(stage, "orders", 1)] == [0, 1]
    assert [op.body for op in stored(stage, OP)] == [b"0", b"0"]


@pytest.mark.parametrize(
    ("changes", "remark"),
    [
        ({"group": "other"}, "The producer group wrong"),
        ({"half_queue_offset": 1}, "The transaction state table offset wrong"),
        ({"physical_offset": 77}, "Find prepared transaction message failed"),
        ({"physical_offset": -1}, "Find prepared transaction message failed"),
    ],
)
@pytest.mark.parametrize("decision", [COMMIT, ROLLBACK])
def test_an_end_that_fits_no_half_message_is_refused(
    shop: Transactor, stage: Stage, changes: dict[str, object], remark: str, decision: int
) -> None:
    half = shop.prepare()
    answer = shop.end(half, decision, **changes)
    assert (answer.code, answer.remark) == (1, remark)
    assert (stored(stage, "orders", 1), stored(stage, OP)) == ([], [])


def test_an_end_of_a_message_of_nobodys_transaction_is_refused(shop: Transactor, stage: Stage) -> None:
    plain = shop.client.send("orders", queue=1, properties="PGROUP\x01PG")
    place = msg_id.decode((plain.ext or {})["msgId"]).physical_offset
    header = EndTransactionHeader("PG", 0, place, COMMIT, False, "U1")
    assert shop.client.call(RequestCode.END_TRANSACTION, header.to_ext()).code == 1
    assert stored(stage, OP) == []


def test_a_committed_message_on_its_way_again_is_no_transaction_any_more(shop: Transactor, stage: Stage) -> None:
    half = shop.prepare()
    shop.end(half, COMMIT)
    [message] = stored(stage, "orders", 1)
    ext = {"offset": str(message.physical_offset), "group": "g", "delayLevel": "1"}
    assert shop.client.call(RequestCode.CONSUMER_SEND_MSG_BACK, ext).code == 0
    stage.pass_s(2)
    [retry] = stored(stage, "%RETRY%g")
    assert (retry.properties["TRAN_MSG"], retry.sys_flag) == ("true", 8)
    assert len(stored(stage, HALF)) == 1


def test_a_delayed_retry_with_the_flag_is_no_transaction(shop: Transactor, stage: Stage) -> None:
    """Clients before 4.6.1 send a committed message to the retry topic with everything it says."""
    stage.broker.subscription_groups.find("g")
    text = "UNIQ_KEY\x01U1\x02PGROUP\x01PG\x02TRAN_MSG\x01true\x02DELAY\x011\x02RECONSUME_TIME\x011"
    assert shop.client.send("%RETRY%g", b"again", queue=0, properties=text, reconsume_times=1).code == 0
    stage.pass_s(2)
    assert [message.body for message in stored(stage, "%RETRY%g")] == [b"again"]
    assert stage.events(TransactionPrepared) == []


def test_a_delayed_half_message_is_delivered_nowhere(shop: Transactor, stage: Stage) -> None:
    shop.prepare(more="\x02DELAY\x011")
    [waiting] = stored(stage, "SCHEDULE_TOPIC_XXXX")
    assert (waiting.properties["REAL_TOPIC"], waiting.properties["REAL_QID"]) == (HALF, "0")
    stage.pass_s(2)
    assert (stored(stage, HALF), stored(stage, "orders", 1)) == ([], [])
    assert stage.broker.delay.table == {1: 1}


def test_a_full_disk_keeps_the_half_message_waiting(shop: Transactor, stage: Stage) -> None:
    half = shop.prepare()
    stage.broker.store.cleaning.full = True
    answer = shop.end(half, COMMIT)
    assert (answer.code, answer.remark) == (14, "Service not available now.")
    stage.broker.store.cleaning.full = False
    assert stage.events(TransactionEnded) == []
    assert list(stage.broker.transactions.table) == ["U1"]
    assert shop.end(half, COMMIT).code == 0


def test_where_sends_wait_for_the_disk_a_commit_does_too() -> None:
    stage, shop, header = waiting_for_the_disk()
    answer = shop.client.post(RequestCode.END_TRANSACTION, header.to_ext())
    stage.pass_s(0.1)
    assert shop.client.answers[answer].code == 0
    assert (len(stored(stage, "orders", 1)), len(stored(stage, OP)), stage.broker.transactions.table) == (1, 1, {})


def test_a_commit_that_is_not_flushed_in_time_counts_but_its_half_message_waits_on() -> None:
    stage, shop, header = waiting_for_the_disk()
    stage.disk.broken_sync = True
    answer = shop.client.post(RequestCode.END_TRANSACTION, header.to_ext())
    stage.pass_s(4)
    assert answer not in shop.client.answers
    stage.pass_s(2)
    assert shop.client.answers[answer].code == 0
    assert len(stored(stage, "orders", 1)) == 1
    assert (stored(stage, OP), stage.events(TransactionEnded)) == ([], []), "the disk takes nothing now"
    assert list(stage.broker.transactions.table) == ["U1"]


def waiting_for_the_disk() -> tuple[Stage, Transactor, EndTransactionHeader]:
    """A broker that answers when the disk has it, a half message, and its commit."""
    stage = Stage(store=small_store(flush="SYNC_FLUSH"))
    stage.topic("orders")
    shop = Transactor(stage)
    text = "UNIQ_KEY\x01U1\x02PGROUP\x01PG\x02TRAN_MSG\x01true"
    half = SendHeader("PG", "orders", "TBW102", 4, 1, 4, stage.time.clock.now_ms(), 0, text)
    opaque = shop.client.post(RequestCode.SEND_MESSAGE_V2, half.to_ext(), b"pay")
    stage.pass_s(0.1)
    place = SendResponseHeader.from_ext(shop.client.answers[opaque].ext).msg_id
    return stage, shop, EndTransactionHeader("PG", 0, msg_id.decode(place).physical_offset, COMMIT, False, "U1")


def test_open_transactions_are_listed_until_they_end(shop: Transactor, stage: Stage) -> None:
    first, second = shop.prepare("U1"), shop.prepare("U2")
    opened = stage.broker.transactions.table
    assert [(half.transaction_id, half.topic, half.queue_id, half.half_offset) for half in opened.values()] == [
        ("U1", "orders", 1, 0),
        ("U2", "orders", 1, 1),
    ]
    shop.end(first, COMMIT)
    assert list(opened) == ["U2"]
    shop.end(second, ROLLBACK)
    assert opened == {}
    assert stage.broker.transactions.was_here("U1")
    assert not stage.broker.transactions.was_here("U3")


def test_a_half_message_that_cannot_be_read_is_not_listed_and_stops_no_one(shop: Transactor, stage: Stage) -> None:
    half = shop.prepare()
    store = stage.broker.store
    place = msg_id.decode(half.msg_id).physical_offset
    file = store.log.files.find(place)
    assert file is not None
    store.pool.view(file)[place - file.base + 4 : place - file.base + 8] = bytes(4)  # its magic
    stage.broker.transactions.load()
    assert stage.broker.transactions.table == {}


def test_apaches_settings_are_understood() -> None:
    config = BrokerConfig.from_properties(
        {
            "transactionTimeOut": "1000",
            "transactionCheckMax": "3",
            "transactionCheckInterval": "5000",
            "rejectTransactionMessage": "true",
        },
        address="127.0.0.1:10911",
    )
    assert (config.transaction_timeout_ms, config.transaction_check_max, config.transaction_check_ms) == (1000, 3, 5000)
    assert config.reject_transaction
    plain = BrokerConfig(name="b", address="127.0.0.1:10911")
    assert (plain.transaction_timeout_ms, plain.transaction_check_max, plain.transaction_check_ms) == (6000, 15, 60_000)
    assert not plain.reject_transaction
