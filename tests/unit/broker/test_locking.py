"""LOCK_BATCH_MQ and UNLOCK_BATCH_MQ over the wire."""

from sandbox.journal.events import LocksLost, QueueUnlocked
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import LockBatchBody, LockedQueues
from sandbox.remoting.codes import RequestCode
from tests.unit.broker.stage import Client, Stage

QUEUES = tuple(MessageQueue("orders", "broker-a", n) for n in range(3))


def lock(client: Client, client_id: str, *queues: MessageQueue) -> tuple[tuple[str, str, int], ...]:
    answer = client.call(RequestCode.LOCK_BATCH_MQ, None, LockBatchBody("g", client_id, queues).encode())
    assert answer.code == 0
    return LockedQueues.decode(answer.body).queues


def test_the_answer_lists_exactly_what_the_client_holds_now() -> None:
    stage = Stage()
    client = stage.client()
    assert lock(client, "c1", QUEUES[0]) == (QUEUES[0],)
    assert lock(client, "c2", *QUEUES) == QUEUES[1:]
    assert set(stage.broker.locks.table["g"]) == set(QUEUES)


def test_queues_that_do_not_exist_can_be_locked() -> None:
    nowhere = MessageQueue("nowhere", "broker-a", 9)
    assert lock(Stage().client(), "c1", nowhere) == (nowhere,)


def test_a_stopping_client_unlocks_with_an_answer_a_rebalancing_one_without() -> None:
    stage = Stage()
    client = stage.client()
    lock(client, "c1", *QUEUES)
    client.oneway(RequestCode.UNLOCK_BATCH_MQ, None, LockBatchBody("g", "c1", QUEUES[:1]).encode())
    assert client.call(RequestCode.UNLOCK_BATCH_MQ, None, LockBatchBody("g", "c1", QUEUES[1:]).encode()).code == 0
    assert [e.why for e in stage.events(QueueUnlocked)] == ["rebalance", "shutdown", "shutdown"]
    assert stage.broker.locks.table == {}


def test_a_restarted_broker_has_lost_its_locks() -> None:
    stage = Stage()
    lock(stage.client(), "c1", *QUEUES)
    stage.stop_broker()
    assert [(e.broker, e.count) for e in stage.events(LocksLost)] == [("broker-a", 3)]
    stage.start_broker()
    assert lock(stage.client(), "c2", *QUEUES) == QUEUES


def test_a_body_that_is_none_is_refused_with_code_1() -> None:
    assert Stage().client().call(RequestCode.LOCK_BATCH_MQ, None, b"[]").code == 1
