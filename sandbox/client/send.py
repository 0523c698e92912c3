"""One send of a packed message or batch, with its attempts."""

from sandbox.client.client_api import SendAnswer
from sandbox.client.outgoing import Outgoing
from sandbox.client.results import SendResult, SendStatus
from sandbox.client.sender import Sender
from sandbox.kernel.errors import BrokerRefused, ClientError, RemotingError, SandboxError, SendTimeout
from sandbox.message.queue import MessageQueue
from sandbox.remoting.codes import ResponseCode

_STATUS = {
    ResponseCode.SUCCESS: SendStatus.SEND_OK,
    ResponseCode.FLUSH_DISK_TIMEOUT: SendStatus.FLUSH_DISK_TIMEOUT,
    ResponseCode.FLUSH_SLAVE_TIMEOUT: SendStatus.FLUSH_SLAVE_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE: SendStatus.SLAVE_NOT_AVAILABLE,
}


class Send:
    """One send; all attempts share the packed header, the UNIQ_KEY and the deadline.

    `to`, `in_turn` and `unattended` each execute it.  They raise ClientError, BrokerRefused or RemotingError if the
    message may not have been stored.  RocketMQ: `DefaultMQProducerImpl.sendDefaultImpl`, `sendKernelImpl`.
    """

    def __init__(self, sender: Sender, outgoing: Outgoing, unique_key: str, deadline_ms: int) -> None:
        self._sender = sender
        self._outgoing = outgoing
        self._unique_key = unique_key
        self._deadline_ms = deadline_ms

    async def to(self, mq: MessageQueue) -> SendResult:
        """Try once to send to the queue that the application chose."""
        try:
            return await self._with_this_header(mq, [], retries=0, waits=True)
        except SandboxError:
            self._sender.failed += 1
            raise

    async def in_turn(self, topic: str) -> SendResult:
        """Send to the next queue in turn; after a failure retry up to `retry_times`, at another broker if possible."""
        sender, config = self._sender, self._sender.config
        queues = await sender.queues(topic)
        last_broker: str | None = None
        tried: list[str] = []
        problem: SandboxError | None = None
        for attempt in range(1, config.retry_times + 2):
            mq = sender.faults.select(queues, last_broker)
            last_broker = mq.broker
            if not self._has_time:
                break
            tried.append(mq.broker)
            try:
                result = await self._attempt(mq, mq.broker, waits=True)
            except SandboxError as error:
                problem, may_retry = error, self._may_retry(error)
                again = may_retry and attempt <= config.retry_times and self._has_time
                sender.note_failure(mq.topic, mq.broker, status_text(error), attempt, retried=again)
                if not may_retry:
                    sender.failed += 1
                    raise
                continue
            if result.status is SendStatus.SEND_OK:
                return result
            again = config.retry_another_broker_when_not_stored and attempt <= config.retry_times and self._has_time
            sender.note_failure(mq.topic, mq.broker, result.status.value, attempt, retried=again)
            if not again:
                return result
        sender.failed += 1
        raise _given_up(topic, tried, problem)

    async def unattended(self, mq: MessageQueue, queues: list[MessageQueue]) -> SendResult:
        """Send to `mq`, with up to `retry_times_async` retries after a connection failure, never after an answer.

        A retry goes to another broker of `queues` with the same header, so the queue id stays.  Without `queues` it
        goes to the same broker.  After a timeout no retry follows: all attempts share its time (spec
        client-behaviour 11).
        """
        return await self._with_this_header(mq, queues, retries=self._sender.config.retry_times_async, waits=False)

    async def _with_this_header(
        self, mq: MessageQueue, queues: list[MessageQueue], *, retries: int, waits: bool
    ) -> SendResult:
        sender, broker = self._sender, mq.broker
        for attempt in range(1, retries + 2):
            try:
                result = await self._attempt(mq, broker, waits=waits)
            except SandboxError as error:
                again = isinstance(error, RemotingError) and attempt <= retries and self._has_time
                sender.note_failure(mq.topic, broker, status_text(error), attempt, retried=again)
                if not again:
                    raise
                if queues:
                    broker = sender.faults.select(queues, broker).broker
                continue
            if result.status is not SendStatus.SEND_OK:
                sender.note_failure(mq.topic, broker, result.status.value, attempt, retried=False)
            return result
        raise AssertionError("the last attempt returns or raises")

    async def _attempt(self, mq: MessageQueue, broker: str, *, waits: bool) -> SendResult:
        """Send once to the master of `broker` and report its latency to the fault strategy.

        `waits`: a caller waits for the answer, as with Java's synchronous call.
        """
        sender, clock = self._sender, self._sender.clock
        began_ms = clock.now_ms()
        try:
            address = await sender.master(mq.topic, broker)
            left_ms = self._deadline_ms - clock.now_ms()
            if left_ms <= 0:
                raise SendTimeout(f"the send timeout to {mq.key} has passed")
            answer = await sender.api.send(address, self._outgoing.to(mq), self._outgoing.body, left_ms, waits=waits)
        except SandboxError as error:
            sender.faults.learn(broker, clock.now_ms() - began_ms, failed=True)
            sender.count(status_text(error))
            raise
        sender.faults.learn(broker, clock.now_ms() - began_ms, failed=False)
        sender.sent += 1
        result = _result(answer, mq.topic, broker, self._unique_key)
        sender.count(result.status.value)
        return result

    @property
    def _has_time(self) -> bool:
        return self._sender.clock.now_ms() < self._deadline_ms

    def _may_retry(self, error: SandboxError) -> bool:
        if isinstance(error, BrokerRefused):
            return error.code in self._sender.config.retry_codes
        return isinstance(error, RemotingError | ClientError)


def status_text(error: SandboxError) -> str:
    """Return the response code of a refusal, or the name of the error's class."""
    return str(error.code) if isinstance(error, BrokerRefused) else type(error).__name__


def _given_up(topic: str, tried: list[str], problem: SandboxError | None) -> SandboxError:
    """Return the error of a send whose attempts or time are used up."""
    if problem is None:
        return SendTimeout(f"the send timeout to {topic} has passed")
    if isinstance(problem, BrokerRefused):
        return problem
    return ClientError(f"sent {len(tried)} times to {topic} ({', '.join(tried)}), still failed: {problem}")


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
