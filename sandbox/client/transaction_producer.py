"""Transactional producer: consumers receive its messages only after a local transaction has committed."""

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from sandbox.client.config import ProducerConfig
from sandbox.client.producer import Producer
from sandbox.client.results import SendResult, SendStatus
from sandbox.kernel.errors import ClientError, SandboxError
from sandbox.message import msg_id, properties
from sandbox.message.message import Message
from sandbox.message.sys_flag import TRANSACTION_COMMIT, TRANSACTION_NONE, TRANSACTION_ROLLBACK
from sandbox.remoting.headers import CheckTransactionHeader, EndTransactionHeader

if TYPE_CHECKING:
    from sandbox.client.instance import ClientInstance

log = logging.getLogger(__name__)

MAX_CHECKS_WAITING = 2_000  # RocketMQ: checkRequestHoldMax; further ones are asked again a minute later


class LocalTransactionState(Enum):
    """State of a local transaction, with RocketMQ's names and spelling."""

    COMMIT_MESSAGE = "COMMIT_MESSAGE"
    ROLLBACK_MESSAGE = "ROLLBACK_MESSAGE"
    UNKNOW = "UNKNOW"


LocalTransaction = Callable[[Message], Awaitable[LocalTransactionState | None]]
"""What the application does between the halves, or says when it is asked; the message is known by its UNIQ_KEY."""

_DECISION = {
    LocalTransactionState.COMMIT_MESSAGE: TRANSACTION_COMMIT,
    LocalTransactionState.ROLLBACK_MESSAGE: TRANSACTION_ROLLBACK,
    LocalTransactionState.UNKNOW: TRANSACTION_NONE,
}


class TransactionSendResult(NamedTuple):
    """Result of storing the half message, and the state of the local transaction as the producer reported it."""

    sent: SendResult
    state: LocalTransactionState


class _Asked(NamedTuple):
    header: CheckTransactionHeader
    message: Message
    address: str


class TransactionProducer:
    """Producer with a listener for the broker's transaction checks.  RocketMQ: `TransactionMQProducer`.

    `check` returns the state of a transaction whose outcome the broker does not have; checks run one after the
    other.  `producer` is the underlying producer: its life cycle, its counts, and plain sends.
    """

    def __init__(self, config: ProducerConfig, instance: "ClientInstance", check: LocalTransaction) -> None:
        self.producer = Producer(config, instance)
        self.producer.on_check = self._asked_by_broker
        self._instance = instance
        self._check = check
        self._asked: deque[_Asked] = deque()
        self._answering = False

    @property
    def group(self) -> str:
        return self.producer.group

    async def start(self) -> None:
        """Start the underlying producer."""
        await self.producer.start()

    async def shutdown(self) -> None:
        await self.producer.shutdown()

    async def send_in_transaction(self, message: Message, execute: LocalTransaction) -> TransactionSendResult:
        """Store the half message, run the local transaction, send its state to the broker.

        A transaction that fails or returns no state counts as UNKNOW.  If the send status is not SEND_OK, the half
        message is rolled back without running the transaction.  A delay level is removed.  Raises ClientError if no
        half message was stored.  If the state cannot be sent, that is no error: the broker will check.
        """
        message.properties.pop(properties.DELAY, None)
        message.properties[properties.TRAN_MSG] = "true"
        message.properties[properties.PGROUP] = self.group
        try:
            sent = await self.producer.send(message)
        except SandboxError as error:
            raise ClientError(f"send message Exception: {error}") from error
        state, remark = LocalTransactionState.ROLLBACK_MESSAGE, None
        if sent.status is SendStatus.SEND_OK:
            state, remark = await self._execute(message, execute)
        try:
            await self._end(sent, state, remark)
        except SandboxError as error:
            log.warning("%s is %s, but this was not reported to the broker: %s", sent.unique_key, state.value, error)
        return TransactionSendResult(sent, state)

    async def _execute(self, message: Message, execute: LocalTransaction) -> tuple[LocalTransactionState, str | None]:
        """Run the local transaction; return its state, and a remark if it raised an exception."""
        try:
            return await execute(message) or LocalTransactionState.UNKNOW, None
        except Exception as error:  # the application's own; its progress is unknown
            log.info("local transaction of %s failed: %r", message.unique_key, error)
            return LocalTransactionState.UNKNOW, f"executeLocalTransactionBranch exception: {error!r}"

    async def _end(self, sent: SendResult, state: LocalTransactionState, remark: str | None) -> None:
        await self._instance.clock.going_on()
        header = EndTransactionHeader(
            group=self.group,
            half_queue_offset=sent.queue_offset,
            physical_offset=msg_id.decode(sent.msg_id).physical_offset,
            decision=_DECISION[state],
            from_check=False,
            msg_id=sent.unique_key,
            transaction_id=sent.transaction_id,
            broker=sent.queue.broker,
        )
        address = self._instance.routes.master(sent.queue.broker)
        if address is None:
            raise ClientError(f"The broker[{sent.queue.broker}] not exist")
        await self._instance.api.end_transaction(address, header, remark)

    # Checks.

    def _asked_by_broker(self, header: CheckTransactionHeader, message: Message, address: str) -> None:
        if len(self._asked) >= MAX_CHECKS_WAITING:
            log.warning("%d transaction checks are pending; further checks are dropped", len(self._asked))
            return
        self._asked.append(_Asked(header, message, address))
        if not self._answering:
            self._answering = True
            self._instance.tasks.spawn(self._answer_in_turn(), "answer transaction checks")

    async def _answer_in_turn(self) -> None:
        try:
            while self._asked:
                asked = self._asked.popleft()
                try:
                    await self._answer(asked)
                except SandboxError as error:
                    log.info("%s did not receive the state of %s: %s", asked.address, asked.header.msg_id, error)
        finally:
            self._answering = False

    async def _answer(self, asked: _Asked) -> None:
        """Run the check listener and send its state to the broker.  If it returns None, nothing is sent."""
        state: LocalTransactionState | None = LocalTransactionState.UNKNOW
        remark = None
        try:
            state = await self._check(asked.message)
        except Exception as error:  # the application's
            log.info("checking the local transaction of %s failed: %r", asked.message.unique_key, error)
            remark = f"checkLocalTransactionState Exception: {error!r}"
        if state is None:
            return
        await self._instance.clock.going_on()
        header = EndTransactionHeader(
            group=self.group,
            half_queue_offset=asked.header.half_queue_offset,
            physical_offset=asked.header.physical_offset,
            decision=_DECISION[state],
            from_check=True,
            msg_id=asked.message.unique_key or asked.message.msg_id or "",
            transaction_id=asked.header.transaction_id,
            broker=asked.header.broker,
        )
        await self._instance.api.end_transaction(asked.address, header, remark)
