"""Configuration of a lite pull consumer."""

from dataclasses import dataclass, field

from sandbox.client.allocate import AllocateMessageQueueStrategy, strategy
from sandbox.client.config import DEFAULT_CONSUMER_GROUP, MIB, ConsumeFromWhere, MessageModel, check_group
from sandbox.client.offset_store import OffsetStore
from sandbox.kernel.errors import ClientError

LEAST_AUTO_COMMIT_MS = 1_000
WHERE = (
    ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
    ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
    ConsumeFromWhere.CONSUME_FROM_TIMESTAMP,
)


@dataclass(frozen=True, kw_only=True)
class LitePullConsumerConfig:
    """Configuration of a lite pull consumer: the fields of `DefaultLitePullConsumer` (spec client-behaviour 12).

    Its client instance must be a `stream` one.  `offset_store` as in `PushConsumerConfig`.  `threshold_for_all`
    counts fetched batches times `pull_batch`.
    """

    group: str
    model: MessageModel = MessageModel.CLUSTERING
    from_where: ConsumeFromWhere = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
    timestamp_ms: int | None = None
    strategy: AllocateMessageQueueStrategy = field(default_factory=lambda: strategy("AVG"))
    offset_store: str | OffsetStore = "default"
    auto_commit: bool = True
    auto_commit_ms: int = 5_000
    poll_timeout_ms: int = 5_000
    pull_threads: int = 20
    pull_batch: int = 10
    threshold_for_all: int = 10_000
    threshold_for_queue: int = 1_000
    threshold_bytes_for_queue: int = 100 * MIB
    max_span: int = 2_000
    topic_check_ms: int = 30_000

    def __post_init__(self) -> None:
        check_group(self.group, forbidden=DEFAULT_CONSUMER_GROUP)
        if self.from_where not in WHERE:
            raise ClientError(f"Invalid ConsumeFromWhere Value {self.from_where}")
        if self.auto_commit_ms < LEAST_AUTO_COMMIT_MS:
            raise ClientError(f"auto_commit_ms must be at least {LEAST_AUTO_COMMIT_MS}, not {self.auto_commit_ms}")
