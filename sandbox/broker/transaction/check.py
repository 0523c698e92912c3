"""Transaction checks: the broker asks producers for the state of old half messages."""

import logging
from collections.abc import Callable
from enum import Enum

from sandbox.broker.broker_to_client import BrokerToClient
from sandbox.broker.config import BrokerConfig
from sandbox.broker.consumer_offsets import ConsumerOffsetManager
from sandbox.broker.producers import ProducerManager
from sandbox.broker.stats import BrokerStats
from sandbox.broker.stored_text import host_of
from sandbox.broker.topics import TopicConfigManager
from sandbox.broker.transaction.half_messages import (
    HALF_QUEUE_ID,
    HalfMessage,
    asked_about,
    given_up,
    put_again,
    put_aside,
    whole,
)
from sandbox.broker.transaction.op_queue import EndedHalves
from sandbox.broker.transaction.open_transactions import OpenTransactions
from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.kernel.errors import CorruptRecord
from sandbox.message import msg_id, record
from sandbox.message import properties as names
from sandbox.message import topic_names as topics
from sandbox.message.message import StoredMessage
from sandbox.remoting.headers import CheckTransactionHeader
from sandbox.store.message_store import MessageStore
from sandbox.store.results import GetMessageStatus, PutMessageStatus, PutResult

log = logging.getLogger(__name__)

HOUR_MS = 3_600_000
RUN_LIMIT_MS = 60_000  # a longer run leaves the rest to the next one
LOOKED_AT_PER_TURN = 512
MISSES_PER_RUN = 2
ABOUT_NOW = (GetMessageStatus.NO_MESSAGE_IN_QUEUE, GetMessageStatus.OFFSET_OVERFLOW_ONE)


class Next(Enum):
    """Next step of a check run after one half message."""

    ONE_ON = "one on"
    ELSEWHERE = "elsewhere"  # the position was changed already
    OVER = "over"


class TransactionCheckService:
    """Check run over the half queue every 60 s, each from the end of the last one.

    Offsets of the group `CID_RMQ_SYS_TRANS` store the positions in the half and the op queue.  RocketMQ:
    `TransactionalMessageCheckService`, `TransactionalMessageServiceImpl.check` (spec broker-behaviour 2.3).  Where
    Java loops until its clock or store allows it to continue, a run ends here: the next one begins at the same
    position.
    """

    def __init__(
        self,
        config: BrokerConfig,
        store: MessageStore,
        clock: Clock,
        topic_configs: TopicConfigManager,
        offsets: ConsumerOffsetManager,
        producers: ProducerManager,
        broker_to_client: BrokerToClient,
        transactions: OpenTransactions,
        stats: BrokerStats,
    ) -> None:
        self._config = config
        self._store = store
        self._clock = clock
        self._topics = topic_configs
        self._offsets = offsets
        self._producers = producers
        self._broker_to_client = broker_to_client
        self._transactions = transactions
        self._stats = stats
        self._timer: TimerHandle | None = None

    def start(self) -> None:
        self._transactions.load()
        self._wait(self._config.transaction_check_ms / 1000, self._begin)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self, seconds: float, then: Callable[[], None]) -> None:
        self._timer = self._clock.call_later(seconds, then)

    def _begin(self) -> None:
        self._topics.create_for_group(topics.HALF_TOPIC, 1, "automatic")
        offset = self._offsets.get(topics.TRANSACTION_GROUP, topics.HALF_TOPIC, HALF_QUEUE_ID)
        if offset is None:
            offset = self._store.min_offset(topics.HALF_TOPIC, HALF_QUEUE_ID)
        self._go_on(
            _Walk(
                offset,
                EndedHalves(self._store, self._offsets, self._stats, offset),
                self._clock.now_ms(),
                self._store.max_offset(topics.HALF_TOPIC, HALF_QUEUE_ID),
            )
        )

    def _go_on(self, walk: "_Walk") -> None:
        """Process some of the due half messages in this turn; store the positions when the run is over."""
        try:
            over = self._some(walk)
        except Exception:  # as RocketMQ: the next run tries again
            log.exception("checking transactions")
            self._wait(self._config.transaction_check_ms / 1000, self._begin)
            return
        if over:
            if walk.offset != walk.first:
                self._commit(topics.HALF_TOPIC, walk.offset)
            if (op_offset := walk.ended.progress()) is not None:
                self._commit(topics.OP_HALF_TOPIC, op_offset)
        self._store.dispatch()
        self._wait(
            self._config.transaction_check_ms / 1000 if over else 0.0,
            self._begin if over else lambda: self._go_on(walk),
        )

    def _some(self, walk: "_Walk") -> bool:
        for _ in range(LOOKED_AT_PER_TURN):
            if walk.offset >= walk.end or self._clock.now_ms() - walk.begun_ms > RUN_LIMIT_MS:
                return True
            if walk.ended.take(walk.offset):
                walk.offset += 1
                continue
            match self._look(walk):
                case Next.ONE_ON:
                    walk.offset += 1
                case Next.OVER:
                    return True
        return False

    def _look(self, walk: "_Walk") -> Next:
        """Process one half message for which no op message was read yet; return the next step."""
        read = self._store.get_message(topics.HALF_TOPIC, HALF_QUEUE_ID, walk.offset, 1, None)
        self._stats.get(topics.TRANSACTION_GROUP, topics.HALF_TOPIC, read.count, len(read.records))
        if not read.records:
            walk.misses += 1
            if walk.misses >= MISSES_PER_RUN or read.status in ABOUT_NOW:
                return Next.OVER
            walk.offset = read.next_offset
            return Next.ELSEWHERE
        try:
            half = record.decode(read.records)
        except CorruptRecord as error:
            log.warning("half message %d cannot be read: %s", walk.offset, error)
            return Next.ONE_ON
        now_ms = self._clock.now_ms()
        checks = whole(half.properties.get(names.TRANSACTION_CHECK_TIMES, "0"))
        if checks >= self._config.transaction_check_max:
            self._give_up(half, half.properties)
            return Next.ONE_ON
        properties = {**half.properties, names.TRANSACTION_CHECK_TIMES: str(checks + 1)}
        age_ms = now_ms - half.born_ms
        if age_ms > self._store.config.file_reserved_hours * HOUR_MS:
            self._give_up(half, properties)
            return Next.ONE_ON
        if half.store_ms >= walk.begun_ms:
            return Next.OVER
        immune_ms = self._immunity_ms(properties)
        if age_ms < immune_ms:
            if names.CHECK_IMMUNITY_TIME_IN_SECONDS in properties:
                return self._leave_alone(walk, half, properties)
            if age_ms >= 0:
                return Next.OVER
        if walk.ended.read_on_needed(walk.begun_ms, self._config.transaction_timeout_ms) and age_ms >= 0:
            walk.ended.read_on()
            return Next.ELSEWHERE
        return Next.ONE_ON if self._ask(half, properties) else Next.OVER

    def _immunity_ms(self, properties: dict[str, str]) -> int:
        """Return the minimum age in ms of a half message before its producer is asked."""
        own = whole(properties.get(names.CHECK_IMMUNITY_TIME_IN_SECONDS, "-1"))
        return self._config.transaction_timeout_ms if own == -1 else own * 1000

    def _leave_alone(self, walk: "_Walk", half: StoredMessage, properties: dict[str, str]) -> Next:
        """Put a half message within its immunity time at the end of its queue, unless its first copy has ended.

        The put counts as a check, and an end that was stored before this run is no longer read: both as in 4.9.8.
        """
        first = properties.get(names.TRAN_PREPARED_QUEUE_OFFSET)
        if first is not None and walk.ended.take(whole(first)):
            self._transactions.forget(HalfMessage.of(half))
            return Next.ONE_ON
        done = self._store.put_quietly(put_aside(half, properties))
        if done.status is not PutMessageStatus.PUT_OK:
            return Next.OVER
        self._transactions.moved(self._moved(half, properties, done))
        return Next.ONE_ON

    def _ask(self, half: StoredMessage, properties: dict[str, str]) -> bool:
        """Put a half message at the end of its queue and ask one producer of its group for the state.

        Return False if the store refuses the message.
        """
        done = self._store.put_quietly(put_again(half, properties))
        if done.status is not PutMessageStatus.PUT_OK:
            log.warning("half message %d not put again: %s", half.queue_offset, done.status.value)
            return False
        moved = self._moved(half, properties, done)
        self._transactions.moved(moved)
        info = self._producers.available(moved.producer_group)
        if info is not None:
            try:
                body = asked_about(half, properties, done.queue_offset, done.physical_offset)
            except ValueError as error:
                log.warning("half message %d cannot be asked about: %s", half.queue_offset, error)
                return True
            key = properties.get(names.UNIQ_KEY)
            new_id = msg_id.encode(host_of(half.store_host), done.physical_offset)
            header = CheckTransactionHeader(done.queue_offset, done.physical_offset, key, key, new_id)
            self._broker_to_client.check_transaction(info.channel, header, body)
        self._transactions.checked(moved, info.client_id if info is not None else None)
        return True

    def _give_up(self, half: StoredMessage, properties: dict[str, str]) -> None:
        """Discard a half message that was checked too often or is too old: store it in a separate topic."""
        self._topics.create_for_group(topics.CHECK_MAX_TIME_TOPIC, 1, "automatic")
        done = self._store.put_quietly(given_up(half, properties))
        if done.status is not PutMessageStatus.PUT_OK:
            log.error("half message %d lost: %s", half.queue_offset, done.status.value)
        self._transactions.ended(HalfMessage.of(half), "discarded", "check")

    def _moved(self, half: StoredMessage, properties: dict[str, str], done: PutResult) -> HalfMessage:
        return HalfMessage.of_properties(
            properties, done.queue_offset, done.physical_offset, half.born_ms, host_of(half.store_host)
        )

    def _commit(self, topic: str, offset: int) -> None:
        self._offsets.commit(topics.TRANSACTION_GROUP, topic, HALF_QUEUE_ID, offset, "timer")


class _Walk:
    """Progress of one check run.  `end`: messages stored later belong to the next run."""

    def __init__(self, offset: int, ended: EndedHalves, begun_ms: int, end: int) -> None:
        self.first = self.offset = offset
        self.ended = ended
        self.begun_ms = begun_ms
        self.end = end
        self.misses = 0
