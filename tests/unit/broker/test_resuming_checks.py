"""A transaction no one ended can be asked about again."""

from sandbox.message import msg_id
from sandbox.message import topic_names as topics
from sandbox.message.message import InboundMessage
from sandbox.message.msg_id import host_bytes
from sandbox.remoting.codes import RequestCode
from tests.unit.broker.stage import Stage

HOST = host_bytes("127.0.0.2", 10911)
TEXT = b"TRAN_MSG\x01true\x02PGROUP\x01P\x02REAL_TOPIC\x01orders\x02REAL_QID\x010\x02TRANSACTION_CHECK_TIMES\x0115\x02"


def abandoned(stage: Stage) -> str:
    """Return the id of a message in the topic of discarded messages."""
    result = stage.broker.store.put_message(
        InboundMessage(topics.CHECK_MAX_TIME_TOPIC, 0, b"half", TEXT, 0, 0, 3, 1_000, HOST, wait_store_ok=False)
    )
    stage.broker.store.dispatch()
    return msg_id.encode(HOST, result.physical_offset)


def test_the_message_is_a_half_message_again_that_no_one_was_asked_about() -> None:
    stage = Stage()
    answer = stage.client().call(RequestCode.RESUME_CHECK_HALF_MESSAGE, {"msgId": abandoned(stage)})
    assert answer.code == 0
    store = stage.broker.store
    unit = store.unit(topics.HALF_TOPIC, 0, store.max_offset(topics.HALF_TOPIC, 0) - 1)
    assert unit is not None
    half = store.read_message(unit.physical_offset)
    assert half is not None
    assert (half.body, half.flag, half.born_ms) == (b"half", 3, 1_000)
    assert half.properties["TRANSACTION_CHECK_TIMES"] == "0"
    assert half.properties["REAL_TOPIC"] == "orders"


def test_an_id_that_names_nothing_is_refused() -> None:
    stage = Stage()
    client = stage.client()
    for message_id in ("no id", msg_id.encode(HOST, 12_345)):
        answer = client.call(RequestCode.RESUME_CHECK_HALF_MESSAGE, {"msgId": message_id})
        assert (answer.code, answer.remark) == (
            1,
            "Exception was thrown when putting message back to RMQ_SYS_TRANS_HALF_TOPIC.",
        )
