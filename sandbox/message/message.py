"""Types of a message: an application's, the input of the store, a record of the log."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sandbox.message import properties as names


@dataclass(slots=True)
class Message:
    """A message of an application.  RocketMQ: `Message`, `MessageExt`.

    A received message also has the fields from `queue_id` on; None: not sent yet.
    """

    topic: str
    body: bytes
    properties: dict[str, str] = field(default_factory=dict)
    flag: int = 0
    broker: str | None = None
    queue_id: int | None = None
    queue_offset: int | None = None
    physical_offset: int | None = None
    store_bytes: int = 0
    sys_flag: int = 0
    born_ms: int | None = None
    store_ms: int | None = None
    reconsume_times: int = 0
    msg_id: str | None = None  # the offset message id: address and position in the log

    @classmethod
    def make(
        cls,
        topic: str,
        body: bytes,
        *,
        keys: str = "",
        tags: str = "",
        delay_level: int = 0,
        wait_store_ok: bool = True,
    ) -> "Message":
        properties: dict[str, str] = {}
        if keys:
            properties[names.KEYS] = keys
        if tags:
            properties[names.TAGS] = tags
        if delay_level:
            properties[names.DELAY] = str(delay_level)
        properties[names.WAIT] = "true" if wait_store_ok else "false"
        return cls(topic, body, properties)

    @property
    def keys(self) -> str:
        return self.properties.get(names.KEYS, "")

    @property
    def tags(self) -> str:
        return self.properties.get(names.TAGS, "")

    @property
    def unique_key(self) -> str | None:
        return self.properties.get(names.UNIQ_KEY)


class InboundMessage(NamedTuple):
    """A message that the broker passes to the store.  RocketMQ: `MessageExtBrokerInner`.

    `properties` is the stored text, already encoded; hosts are address and port bytes (8, or 20 for IPv6, as the sys
    flag shows).
    """

    topic: str
    queue_id: int
    body: bytes
    properties: bytes
    tags_code: int
    sys_flag: int
    flag: int
    born_ms: int
    born_host: bytes
    reconsume_times: int = 0
    prepared_offset: int = 0
    wait_store_ok: bool = True


class InboundBatch(NamedTuple):
    """Messages for one queue, stored one after the other, as columns.  RocketMQ: `MessageExtBatch`.

    `bodies`, `properties` and `flags` have one value per message, everything else is the same for all.
    """

    topic: str
    queue_id: int
    bodies: Sequence[bytes]
    properties: Sequence[bytes]
    flags: Sequence[int]
    sys_flag: int
    born_ms: int
    born_host: bytes
    reconsume_times: int = 0
    prepared_offset: int = 0

    @classmethod
    def of(cls, messages: Sequence[InboundMessage]) -> "InboundBatch":
        """Return the batch of these messages; queue and common fields are those of the first."""
        topic, queue_id, _, _, _, sys_flag, _, born_ms, born_host, times, prepared, _ = messages[0]
        return cls(
            topic,
            queue_id,
            [m.body for m in messages],
            [m.properties for m in messages],
            [m.flag for m in messages],
            sys_flag,
            born_ms,
            born_host,
            times,
            prepared,
        )


class StoredMessage(NamedTuple):
    """A decoded record of the log (spec store-format 2.1).  `body` is as stored, possibly compressed."""

    topic: str
    queue_id: int
    queue_offset: int
    physical_offset: int
    store_bytes: int
    body_crc: int
    flag: int
    sys_flag: int
    born_ms: int
    born_host: str  # ip:port
    store_ms: int
    store_host: str
    reconsume_times: int
    prepared_offset: int
    body: bytes
    properties: dict[str, str]
