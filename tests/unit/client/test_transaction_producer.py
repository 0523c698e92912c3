"""A transaction producer against a scripted cluster."""

from collections.abc import Callable
from typing import Any

import pytest

from sandbox.client.config import ProducerConfig
from sandbox.client.results import SendStatus
from sandbox.client.transaction_producer import LocalTransactionState, TransactionProducer
from sandbox.kernel.errors import ClientError
from sandbox.message import properties, record
from sandbox.message.message import InboundMessage, Message
from sandbox.message.msg_id import host_bytes
from sandbox.message.sys_flag import TRANSACTION_PREPARED
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode as Code
from sandbox.remoting.command import FLAG_ONEWAY, RemotingCommand
from sandbox.remoting.headers import CheckTransactionHeader, EndTransactionHeader, SendHeader
from tests.unit.client.fake_cluster import FakeCluster

COMMIT, ROLLBACK, UNKNOW = (
    LocalTransactionState.COMMIT_MESSAGE,
    LocalTransactionState.ROLLBACK_MESSAGE,
    LocalTransactionState.UNKNOW,
)


def saying(state: Any) -> Callable[[Message], Any]:
    async def decide(_: Message) -> Any:
        if isinstance(state, Exception):
            raise state
        return state

    return decide


def started(cluster: FakeCluster, check: Any = UNKNOW, group: str = "P") -> TransactionProducer:
    made = TransactionProducer(ProducerConfig(group=group), cluster.instance(group), saying(check))
    cluster.run(made.start())
    return made


def ends(cluster: FakeCluster) -> list[tuple[EndTransactionHeader, RemotingCommand]]:
    cluster.loop.run_for(0.1)
    return [(EndTransactionHeader.from_ext(c.ext), c) for c in cluster.requests(Code.END_TRANSACTION)]


class Asking:
    """A broker's side of the connection a producer keeps."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster
        self._channels: list[Channel] = []
        self._beat = cluster._heart_beat
        cluster._heart_beat = self._hear  # type: ignore[method-assign]

    def _hear(self, command: RemotingCommand, channel: Channel) -> None:
        if channel not in self._channels:
            self._channels.append(channel)
        self._beat(command, channel)

    def ask(self, *, group: str = "P", key: str | None = "KEY", offset: int = 7) -> None:
        pairs = {"PGROUP": group, "REAL_TOPIC": "T", "REAL_QID": "2"} | ({"UNIQ_KEY": key} if key else {})
        m = InboundMessage("T", 2, b"pay", properties.encode(pairs).encode(), 0, 0, 0, 5, host_bytes("10.0.0.9", 1))
        body = record.encode(m, offset, 700, 6, host_bytes("10.0.0.1", 10911))
        header = CheckTransactionHeader(offset, 700, key, key, "ID")
        self._channels[-1].send(RemotingCommand(Code.CHECK_TRANSACTION_STATE, header.to_ext(), body, flag=FLAG_ONEWAY))


@pytest.mark.parametrize(
    ("said", "decision", "state"),
    [
        (COMMIT, 8, COMMIT),
        (ROLLBACK, 12, ROLLBACK),
        (UNKNOW, 0, UNKNOW),
        (None, 0, UNKNOW),
    ],
)
def test_the_local_transaction_decides_what_the_broker_hears(
    cluster: FakeCluster, said: Any, decision: int, state: LocalTransactionState
) -> None:
    sender = started(cluster)
    result = cluster.run(sender.send_in_transaction(Message.make("T", b"pay", delay_level=3), saying(said)))
    assert (result.state, result.sent.status) == (state, SendStatus.SEND_OK)
    [half] = [SendHeader.from_ext(c.ext) for c in cluster.requests(Code.SEND_MESSAGE_V2)]
    found = properties.decode(half.properties)
    assert half.sys_flag == TRANSACTION_PREPARED
    assert (found["TRAN_MSG"], found["PGROUP"], "DELAY" in found) == ("true", "P", False)
    [(header, command)] = ends(cluster)
    assert command.is_oneway
    assert (header.group, header.decision, header.from_check) == ("P", decision, False)
    assert (header.half_queue_offset, header.physical_offset) == (result.sent.queue_offset, 0)
    assert (header.msg_id, header.transaction_id, header.broker) == (result.sent.unique_key, None, "broker-a")
    assert command.remark is None


def test_a_local_transaction_that_fails_leaves_the_question_open(cluster: FakeCluster) -> None:
    sender = started(cluster)
    result = cluster.run(sender.send_in_transaction(Message.make("T", b"pay"), saying(ValueError("no money"))))
    assert result.state is UNKNOW
    [(header, command)] = ends(cluster)
    assert header.decision == 0
    assert "no money" in (command.remark or "")


def test_the_local_transaction_runs_after_the_half_message_is_stored(cluster: FakeCluster) -> None:
    sender = started(cluster)
    stored_by_then: list[int] = []

    async def look(message: Message) -> LocalTransactionState:
        stored_by_then.append(len(cluster.requests(Code.SEND_MESSAGE_V2)))
        assert message.unique_key
        return COMMIT

    cluster.run(sender.send_in_transaction(Message.make("T", b"pay"), look))
    assert stored_by_then == [1]


@pytest.mark.parametrize("code", [10, 11, 12])
def test_a_half_message_stored_less_safely_than_asked_is_rolled_back_at_once(
    cluster: FakeCluster, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender, ran = started(cluster), []

    async def never(_: Message) -> LocalTransactionState:
        ran.append(1)
        return COMMIT

    plain = cluster._send_message_v2

    def less_safely(command: RemotingCommand, channel: Channel) -> None:
        class Changed:
            def send(self, answer: RemotingCommand) -> None:
                answer.code = code
                channel.send(answer)

        plain(command, Changed())  # type: ignore[arg-type]

    monkeypatch.setattr(cluster, "_send_message_v2", less_safely)
    result = cluster.run(sender.send_in_transaction(Message.make("T", b"pay"), never))
    assert (result.state, ran) == (ROLLBACK, [])
    [(header, _)] = ends(cluster)
    assert header.decision == 12


def test_a_send_that_fails_ends_nothing(cluster: FakeCluster) -> None:
    sender = started(cluster)
    cluster.refuse = {Code.SEND_MESSAGE_V2: [16, 16, 16]}
    with pytest.raises(ClientError):
        cluster.run(sender.send_in_transaction(Message.make("T", b"pay"), saying(COMMIT)))
    assert ends(cluster) == []


@pytest.mark.parametrize(("said", "decision"), [(COMMIT, 8), (ROLLBACK, 12), (UNKNOW, 0)])
def test_a_question_is_answered_with_its_own_offsets(cluster: FakeCluster, said: Any, decision: int) -> None:
    asking = Asking(cluster)
    sender = started(cluster, check=said)
    cluster.run(sender.send_in_transaction(Message.make("T", b"pay"), saying(UNKNOW)))
    cluster.loop.run_for(31)
    asking.ask()
    [_, (header, command)] = ends(cluster)
    assert (header.group, header.decision, header.from_check) == ("P", decision, True)
    assert (header.half_queue_offset, header.physical_offset) == (7, 700)
    assert (header.msg_id, header.transaction_id, header.broker) == ("KEY", "KEY", None)
    assert command.is_oneway


def test_the_listener_sees_the_message_with_its_destination(cluster: FakeCluster) -> None:
    asking, seen = Asking(cluster), []

    async def look(message: Message) -> LocalTransactionState:
        seen.append(message)
        return COMMIT

    sender = TransactionProducer(ProducerConfig(group="P"), cluster.instance("P"), look)
    cluster.run(sender.start())
    cluster.run(sender.send_in_transaction(Message.make("T", b"x"), saying(COMMIT)))
    cluster.loop.run_for(31)
    asking.ask()
    ends(cluster)
    [message] = seen
    assert (message.topic, message.queue_id, message.body, message.unique_key) == ("T", 2, b"pay", "KEY")
    assert "MIN_OFFSET" not in message.properties


def test_a_listener_that_fails_says_so_and_one_that_says_nothing_is_not_heard(cluster: FakeCluster) -> None:
    asking = Asking(cluster)
    sender = started(cluster, check=ValueError("no idea"))
    cluster.run(sender.send_in_transaction(Message.make("T", b"x"), saying(COMMIT)))
    cluster.loop.run_for(31)
    asking.ask()
    [_, (header, command)] = ends(cluster)
    assert header.decision == 0
    assert "no idea" in (command.remark or "")
    sender._check = saying(None)
    asking.ask()
    assert len(ends(cluster)) == 2


def test_a_message_without_a_key_of_its_own_is_named_by_its_place(cluster: FakeCluster) -> None:
    asking = Asking(cluster)
    sender = started(cluster, check=COMMIT)
    cluster.run(sender.send_in_transaction(Message.make("T", b"x"), saying(COMMIT)))
    cluster.loop.run_for(31)
    asking.ask(key=None)
    [_, (header, _)] = ends(cluster)
    assert header.msg_id == "0A00000100002A9F00000000000002BC"


def test_a_question_for_another_group_is_nobodys(cluster: FakeCluster) -> None:
    asking = Asking(cluster)
    sender = started(cluster, check=COMMIT)
    cluster.run(sender.send_in_transaction(Message.make("T", b"x"), saying(COMMIT)))
    cluster.loop.run_for(31)
    asking.ask(group="other")
    assert len(ends(cluster)) == 1


def test_what_is_asked_while_the_process_hangs_is_answered_when_it_goes_on(cluster: FakeCluster) -> None:
    asking = Asking(cluster)
    sender = started(cluster, check=COMMIT)
    cluster.run(sender.send_in_transaction(Message.make("T", b"x"), saying(COMMIT)))
    cluster.loop.run_for(31)
    sender.producer.hang()
    asking.ask()
    cluster.loop.run_for(5)
    assert len(ends(cluster)) == 1

    async def go_on() -> None:
        sender.producer.resume()

    cluster.run(go_on())
    assert len(ends(cluster)) == 2
