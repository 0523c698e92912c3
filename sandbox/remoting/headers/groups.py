"""Headers for groups and their members."""

from typing import NamedTuple, Self

from sandbox.remoting.fields import Ext, int64, is_true, text, text_or_none, written


class GroupHeader(NamedTuple):
    """The header of 38, 40 and 203: a consumer group only."""

    group: str

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(text(ext, "consumerGroup"))

    def to_ext(self) -> dict[str, str]:
        return {"consumerGroup": self.group}


class UnregisterClientHeader(NamedTuple):
    """The header of UNREGISTER_CLIENT (35).

    An empty group is no group: C++ clients send one along with the other (spec remoting 7).
    """

    client_id: str
    producer_group: str | None = None
    consumer_group: str | None = None

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(
            text(ext, "clientID"),
            text_or_none(ext, "producerGroup") or None,
            text_or_none(ext, "consumerGroup") or None,
        )

    def to_ext(self) -> dict[str, str]:
        return written(clientID=self.client_id, producerGroup=self.producer_group, consumerGroup=self.consumer_group)


class ConsumeStatsHeader(NamedTuple):
    """The header of GET_CONSUME_STATS (208); without a topic it asks for all topics of the group."""

    group: str
    topic: str | None = None

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(text(ext, "consumerGroup"), text_or_none(ext, "topic") or None)

    def to_ext(self) -> dict[str, str]:
        return written(consumerGroup=self.group, topic=self.topic)


class TopicGroupHeader(NamedTuple):
    """The header of 221, 223 and 303: a topic and a group.

    An empty or missing `client_address` means all members.
    """

    topic: str
    group: str
    client_address: str | None = None

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(text(ext, "topic"), text(ext, "group"), text_or_none(ext, "clientAddr") or None)

    def to_ext(self) -> dict[str, str]:
        return written(topic=self.topic, group=self.group, clientAddr=self.client_address)


class ResetOffsetHeader(NamedTuple):
    """The header of a reset: 222 to a broker, 220 from the broker to the members.

    A `timestamp_ms` of -1 means the end of every queue.  Only 5.x uses one queue (`queue_id`) and an `offset`
    instead of a time; a 4.9 broker ignores both.
    """

    topic: str
    group: str
    timestamp_ms: int
    force: bool
    queue_id: int | None = None
    offset: int | None = None

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(text(ext, "topic"), text(ext, "group"), int64(ext, "timestamp"), is_true(ext, "isForce"))

    def to_ext(self) -> dict[str, str]:
        return written(
            topic=self.topic,
            group=self.group,
            timestamp=self.timestamp_ms,
            isForce=self.force,
            queueId=self.queue_id,
            offset=self.offset,
        )


class RunningInfoHeader(NamedTuple):
    """The header of GET_CONSUMER_RUNNING_INFO (307), to the broker and from the broker to the client."""

    group: str
    client_id: str
    with_stacks: bool = False

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(text(ext, "consumerGroup"), text(ext, "clientId"), is_true(ext, "jstackEnable"))

    def to_ext(self) -> dict[str, str]:
        return written(consumerGroup=self.group, clientId=self.client_id, jstackEnable=self.with_stacks)


class DeleteGroupHeader(NamedTuple):
    """The header of DELETE_SUBSCRIPTIONGROUP (207).  5.x calls the flag `cleanOffset`."""

    group: str
    remove_offset: bool = False

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(text(ext, "groupName"), is_true(ext, "removeOffset") or is_true(ext, "cleanOffset"))

    def to_ext(self) -> dict[str, str]:
        return written(groupName=self.group, removeOffset=self.remove_offset)


class CloneOffsetsHeader(NamedTuple):
    """The header of CLONE_GROUP_OFFSET (314): copy the offsets of one group to another, in one topic or in all.

    RocketMQ: `CloneGroupOffsetRequestHeader`.  Unless `offline`, topics to which an online source group does not
    subscribe are left out.
    """

    source: str
    target: str
    topic: str | None = None
    offline: bool = False

    @classmethod
    def from_ext(cls, ext: Ext) -> Self:
        return cls(
            text(ext, "srcGroup"), text(ext, "destGroup"), text_or_none(ext, "topic") or None, is_true(ext, "offline")
        )

    def to_ext(self) -> dict[str, str]:
        return written(srcGroup=self.source, destGroup=self.target, topic=self.topic, offline=self.offline)
