"""Tests of transactions speak to the broker through a producer that sends just what it is given."""

from sandbox.message import msg_id, record
from sandbox.message.message import StoredMessage
from sandbox.remoting.bodies import HeartbeatData
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import CheckTransactionHeader, EndTransactionHeader, SendResponseHeader
from tests.unit.broker.stage import Client, Stage

HALF, OP, GIVEN_UP = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC"
GROUP = "CID_RMQ_SYS_TRANS"
COMMIT, ROLLBACK, UNKNOWN = 8, 12, 0


class Transactor:
    """A member of producer group PG."""

    def __init__(self, stage: Stage, name: str = "p1", ip: str = "127.0.0.1") -> None:
        self.stage = stage
        self.name = name
        self.client: Client = stage.client(ip)
        self.beat()

    def beat(self) -> None:
        self.client.call(RequestCode.HEART_BEAT, None, HeartbeatData(self.name, ("PG",), ()).encode())

    def live(self, seconds: float) -> None:
        """Let time pass, with a heartbeat every 20 s."""
        while seconds > 0:
            self.stage.pass_s(min(seconds, 20))
            self.beat()
            seconds -= 20

    def prepare(
        self, key: str = "U1", *, topic: str = "orders", queue: int = 1, body: bytes = b"pay", more: str = ""
    ) -> SendResponseHeader:
        text = f"UNIQ_KEY\x01{key}\x02WAIT\x01true\x02PGROUP\x01PG\x02TRAN_MSG\x01true\x02TAGS\x01A{more}"
        answer = self.client.send(topic, body, queue=queue, properties=text)
        assert answer.code == 0, answer
        return SendResponseHeader.from_ext(answer.ext)

    def end(self, half: SendResponseHeader, decision: int, **changes: object) -> RemotingCommand:
        header = EndTransactionHeader(
            "PG", half.queue_offset, msg_id.decode(half.msg_id).physical_offset, decision, False, "U1"
        )
        return self.client.call(RequestCode.END_TRANSACTION, header._replace(**changes).to_ext())  # type: ignore[arg-type]

    def asked(self) -> list[tuple[CheckTransactionHeader, StoredMessage]]:
        """The questions that came in, each with the message it is about."""
        return [
            (CheckTransactionHeader.from_ext(c.ext), record.decode(c.body or b""))
            for c in self.client.requests
            if c.code == RequestCode.CHECK_TRANSACTION_STATE
        ]

    def say(self, asked: CheckTransactionHeader, decision: int) -> None:
        """Answer a question as Java does: with a one-way end."""
        header = EndTransactionHeader(
            "PG",
            asked.half_queue_offset,
            asked.physical_offset,
            decision,
            True,
            asked.msg_id or "",
            asked.transaction_id,
        )
        self.client.oneway(RequestCode.END_TRANSACTION, header.to_ext())


def stored(stage: Stage, topic: str, queue: int = 0) -> list[StoredMessage]:
    """Everything a queue holds."""
    store, found = stage.broker.store, []
    for offset in range(store.max_offset(topic, queue)):
        unit = store.unit(topic, queue, offset)
        message = store.read_message(unit.physical_offset) if unit is not None else None
        assert message is not None
        found.append(message)
    return found


def progress(stage: Stage) -> tuple[int | None, int | None]:
    """Return the positions of the checks in the half and in the op queue."""
    offsets = stage.broker.consumer_offsets
    return offsets.get(GROUP, HALF, 0), offsets.get(GROUP, OP, 0)
