"""Configuration of clients.  Every default is RocketMQ 4.9.8's (spec client-behaviour 1)."""

from dataclasses import dataclass, field
from enum import StrEnum

from sandbox.client.allocate import AllocateMessageQueueStrategy, strategy
from sandbox.client.offset_store import OffsetStore
from sandbox.kernel import ids
from sandbox.kernel.errors import ClientError
from sandbox.message.compression import MAX_PLAIN_BYTES

MIB = 1024 * 1024
INNER_PRODUCER_GROUP = "CLIENT_INNER_PRODUCER"
DEFAULT_PRODUCER_GROUP = "DEFAULT_PRODUCER"
DEFAULT_CONSUMER_GROUP = "DEFAULT_CONSUMER"
RETRY_PREFIX = "%RETRY%"
MAX_GROUP_CHARS = 255
TIMESTAMP_BACK_MS = 30 * 60 * 1000  # consumeTimestamp: half an hour before the consumer object was built


class MessageModel(StrEnum):
    CLUSTERING = "CLUSTERING"
    BROADCASTING = "BROADCASTING"


class ConsumeFromWhere(StrEnum):
    """Start offset of a group without a committed one.  The three deprecated values mean LAST_OFFSET."""

    CONSUME_FROM_LAST_OFFSET = "CONSUME_FROM_LAST_OFFSET"
    CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST = "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST"
    CONSUME_FROM_MIN_OFFSET = "CONSUME_FROM_MIN_OFFSET"
    CONSUME_FROM_MAX_OFFSET = "CONSUME_FROM_MAX_OFFSET"
    CONSUME_FROM_FIRST_OFFSET = "CONSUME_FROM_FIRST_OFFSET"
    CONSUME_FROM_TIMESTAMP = "CONSUME_FROM_TIMESTAMP"


@dataclass(frozen=True, kw_only=True)
class ClientConfig:
    """Configuration of one client instance, as if it were a process of its own.  RocketMQ: `ClientConfig`.

    `stream` marks instances of pull consumers: their ids end in @STREAM and every request carries `ReqT`.
    """

    name_servers: tuple[str, ...]
    ip: str = "127.0.0.1"
    instance_name: str = "DEFAULT"
    unit_name: str = ""
    pid: int = 1
    stream: bool = False
    poll_name_server_ms: int = 30_000
    heartbeat_ms: int = 30_000
    first_heartbeat_ms: int = 1_000
    persist_offsets_ms: int = 5_000
    first_persist_ms: int = 10_000
    rebalance_ms: int = 20_000
    lock_renew_ms: int = 20_000
    lock_max_live_ms: int = 30_000
    pull_max_idle_ms: int = 120_000
    pull_delay_on_exception_ms: int = 1_000
    api_timeout_ms: int = 3_000
    connect_timeout_ms: int = 3_000
    max_pending_requests: int = 65_535
    body_bytes: int = MAX_PLAIN_BYTES  # maximum decompressed size of a body; a longer one stays compressed
    access_key: str = ""  # with a secret: every request is signed
    secret_key: str = field(default="", repr=False)
    security_token: str | None = field(default=None, repr=False)

    @property
    def client_id(self) -> str:
        plain = ids.client_id(self.ip, self.instance_name, self.unit_name)
        return f"{plain}@STREAM" if self.stream else plain


@dataclass(frozen=True, kw_only=True)
class ProducerConfig:
    """Configuration of a producer: the fields of `DefaultMQProducer` (spec client-behaviour 11)."""

    group: str
    namespace: str = ""  # put in front of the group and of every topic
    create_topic_key: str = "TBW102"
    default_topic_queues: int = 4
    send_timeout_ms: int = 3_000
    compress_over_bytes: int = 4_096  # a body of this size or more; batches never are
    retry_times: int = 2
    retry_times_async: int = 2
    async_sends: int = 50_000  # sends under way at once; Java: the queue in front of its threads
    retry_another_broker_when_not_stored: bool = False
    max_message_bytes: int = 4 * MIB
    retry_codes: frozenset[int] = frozenset({17, 14, 1, 16, 204, 205})
    avoid_faulty: bool = False  # sendLatencyFaultEnable

    def __post_init__(self) -> None:
        check_group(self.group, forbidden=DEFAULT_PRODUCER_GROUP)


@dataclass(frozen=True, kw_only=True)
class PushConsumerConfig:
    """Configuration of a push consumer: the fields of `DefaultMQPushConsumer` (spec client-behaviour 1.2).

    `timestamp_ms` None means half an hour before the consumer was built.  `offset_store` "memory" loses all offsets
    with the consumer; "default" is the broker's table, or a local file when broadcasting.  Any other value is the
    application's own store.
    """

    group: str
    namespace: str = ""  # put in front of the group and of every topic; listeners see topics without it
    listener: str = "concurrent"  # or "orderly"
    model: MessageModel = MessageModel.CLUSTERING
    from_where: ConsumeFromWhere = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
    timestamp_ms: int | None = None
    strategy: AllocateMessageQueueStrategy = field(default_factory=lambda: strategy("AVG"))
    offset_store: str | OffsetStore = "default"
    threads: int = 20
    consume_batch: int = 1
    pull_batch: int = 32
    pull_interval_ms: int = 0
    max_span: int = 2_000
    threshold_for_queue: int = 1_000
    threshold_bytes_for_queue: int = 100 * MIB
    threshold_for_topic: int = -1
    threshold_bytes_for_topic: int = -1
    post_subscription_when_pull: bool = False
    max_reconsume_times: int = -1
    suspend_ms: int = 1_000
    consume_timeout_ms: int = 15 * 60 * 1000
    await_termination_ms: int = 0

    def __post_init__(self) -> None:
        check_group(self.group, forbidden=DEFAULT_CONSUMER_GROUP)
        if self.listener not in ("concurrent", "orderly"):
            raise ClientError(f"a listener is concurrent or orderly, not {self.listener}")
        _check_range("threads", self.threads, 1, 1_000)
        _check_range("consume_batch", self.consume_batch, 1, 1_024)
        _check_range("pull_batch", self.pull_batch, 1, 1_024)
        _check_range("pull_interval_ms", self.pull_interval_ms, 0, 65_535)
        _check_range("max_span", self.max_span, 1, 65_535)
        _check_range("threshold_for_queue", self.threshold_for_queue, 1, 65_535)
        _check_range("threshold_bytes_for_queue", self.threshold_bytes_for_queue, 1, 1_024 * MIB)

    @property
    def orderly(self) -> bool:
        return self.listener == "orderly"

    @property
    def retry_topic(self) -> str:
        return RETRY_PREFIX + self.group

    @property
    def most_reconsume_times(self) -> int:
        """Maximum number of redeliveries.  The setting −1 means 16, or no limit for an orderly listener."""
        if self.max_reconsume_times != -1:
            return self.max_reconsume_times
        return 2**31 - 1 if self.orderly else 16


def check_group(group: str, *, forbidden: str) -> None:
    """Raise ClientError with the reason if the group name is not allowed.  RocketMQ: `Validators.checkGroup`."""
    if not group.strip():
        raise ClientError("the specified group is blank")
    if len(group) > MAX_GROUP_CHARS:
        raise ClientError(f"the group name has {len(group)} characters, {MAX_GROUP_CHARS} are allowed")
    check_characters("group", group)
    if group == forbidden:
        raise ClientError(f"{forbidden} is a reserved name")


def check_characters(what: str, name: str) -> None:
    """Raise ClientError if `name` has characters other than `% | - _` and ASCII letters and digits.

    RocketMQ: `Validators.regularExpressionMatcher`.
    """
    if not all(c.isascii() and (c.isalnum() or c in "%|-_") for c in name):
        raise ClientError(f"the specified {what}[{name}] contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$")


def _check_range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ClientError(f"{name} must be between {low} and {high}, not {value}")
