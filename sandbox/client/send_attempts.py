"""One try to hand a message to one broker, and the account of how tries ended."""

from typing import TYPE_CHECKING

from sandbox.client.client_api import SendAnswer
from sandbox.client.outgoing import Outgoing
from sandbox.client.results import SendResult, SendStatus
from sandbox.journal.events import SendFailed
from sandbox.kernel.errors import BrokerRefused, ClientError, SandboxError, SendTimeout
from sandbox.message.queue import MessageQueue
from sandbox.remoting.codes import ResponseCode

if TYPE_CHECKING:
    from sandbox.client.producer import Producer

_STATUS = {
    ResponseCode.SUCCESS: SendStatus.SEND_OK,
    ResponseCode.FLUSH_DISK_TIMEOUT: SendStatus.FLUSH_DISK_TIMEOUT,
    ResponseCode.FLUSH_SLAVE_TIMEOUT: SendStatus.FLUSH_SLAVE_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE: SendStatus.SLAVE_NOT_AVAILABLE,
}


class SendAttempts:
    """Sends for one producer and counts in its name; what a try took teaches its fault strategy."""

    def __init__(self, producer: "Producer") -> None:
        self._producer = producer

    async def once(
        self, mq: MessageQueue, outgoing: Outgoing, unique_key: str, deadline_ms: int, *, at: str | None = None,
        waits: bool = True,
    ) -> SendResult:
        """To the master of the queue's broker, or of `at` with the header as it is.

        `waits`: somebody waits for the answer, as with Java's synchronous call.  Raises ClientError, BrokerRefused
        or RemotingError.
        """
        producer, broker = self._producer, at or mq.broker
        clock = producer.instance.clock
        began_ms = clock.now_ms()
        try:
            address = await self.master(mq.topic, broker)
            left_ms = deadline_ms - clock.now_ms()
            if left_ms <= 0:
                raise SendTimeout(f"no time is left to send to {mq.key}")
            answer = await producer.instance.api.send(address, outgoing.to(mq), outgoing.body, left_ms, waits=waits)
        except SandboxError as why:
            producer.faults.learn(broker, clock.now_ms() - began_ms, failed=True)
            self._count(status_text(why))
            raise
        producer.faults.learn(broker, clock.now_ms() - began_ms, failed=False)
        producer.sent += 1
        result = _result(answer, mq.topic, broker, unique_key)
        self._count(result.status.value)
        return result

    async def master(self, topic: str, broker: str) -> str:
        """Raises ClientError when no master of that name is known."""
        producer = self._producer
        address = producer.instance.routes.master(broker)
        if address is None:
            await producer.publish_queues(topic)
            address = producer.instance.routes.master(broker)
        if address is None:
            raise ClientError(f"The broker[{broker}] not exist")
        return address

    def note_failure(self, topic: str, broker: str, status: str, attempt: int, *, retried: bool) -> None:
        """An attempt was not the good one; `retried`: another follows."""
        producer = self._producer
        producer.retried += retried
        if producer.instance.journal.tracing:
            producer.instance.journal.write(SendFailed(
                client_id=producer.instance.client_id, topic=topic, broker=broker, status=status, attempt=attempt,
                retried=retried,
            ))  # fmt: skip

    def _count(self, status: str) -> None:
        answers = self._producer.answers
        answers[status] = answers.get(status, 0) + 1


def status_text(why: SandboxError) -> str:
    """The answer's code, or what kind of failure it was."""
    return str(why.code) if isinstance(why, BrokerRefused) else type(why).__name__


def _result(answer: SendAnswer, topic: str, broker: str, unique_key: str) -> SendResult:
    header = answer.header
    return SendResult(
        status=_STATUS[ResponseCode(answer.code)],
        queue=MessageQueue(topic, broker, header.queue_id),
        queue_offset=header.queue_offset,
        msg_id=header.msg_id,
        unique_key=unique_key,
        transaction_id=header.transaction_id,
    )
