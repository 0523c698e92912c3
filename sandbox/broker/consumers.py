"""Online consumers by group, with their connections."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from sandbox.broker.config import BrokerConfig
from sandbox.broker.consumer_filters import ConsumerFilterManager
from sandbox.broker.member_words import MemberWords, Sifted, dropped_by, words_of
from sandbox.journal.events import MemberJoined, MemberLeft, MembersNotified, SubscriptionChanged
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import BrokerRefused
from sandbox.message.filter import ALL, EVERYTHING, TagFilter
from sandbox.remoting.bodies import ConsumerData, SubscriptionData
from sandbox.remoting.channel import LOOPBACK, Channel
from sandbox.remoting.codes import ResponseCode

MAX_SUBSCRIPTION_BYTES = 64 * 1024 * 1024  # subscriptions of all groups, estimated size in memory
MAX_WORDS_BYTES = 16 * 1024 * 1024  # members' own subscriptions; above this limit only the group's are kept
TAG_BYTES = 240  # of a tag and its hash, each in a row and a set, beside its characters
ROW_BYTES = 600  # of a subscription without its texts

Notify = Callable[[str, list[Channel]], None]
"""Notify these connections that the members of a group changed."""


@dataclass(slots=True)
class MemberInfo:
    """Connection of one group member.  RocketMQ: `ClientChannelInfo`."""

    client_id: str
    channel: Channel
    language: str
    version: int
    since_ms: int
    last_update_ms: int
    words: MemberWords | None = None  # its last heartbeat; None: not kept, because the limit is reached
    sifted: Sifted = field(default_factory=Sifted)
    weight_bytes: int = 0  # estimated size of `words`


@dataclass(slots=True)
class ConsumerGroup:
    """Online group with its members and subscriptions.  RocketMQ: `ConsumerGroupInfo`.

    The last heartbeat of any member counts for the whole group.
    """

    name: str
    consume_type: str
    model: str
    from_where: str
    channels: dict[Channel, MemberInfo] = field(default_factory=dict)
    subscriptions: dict[str, SubscriptionData] = field(default_factory=dict)
    tag_filters: dict[str, TagFilter] = field(default_factory=dict)  # one per subscription, shared by all its pulls
    last_update_ms: int = 0
    weight_bytes: int = 0  # estimated size of its subscriptions

    @property
    def members(self) -> dict[str, MemberInfo]:
        """Members by client id; if two connections have the same id, the later one."""
        return {info.client_id: info for info in self.channels.values()}

    def client_ids(self) -> list[str]:
        """Return one client id per connection, in order of arrival; clients sort them themselves."""
        return [info.client_id for info in self.channels.values()]


class ConsumerManager:
    """Online consumer groups of a broker.

    RocketMQ: `ConsumerManager`, `DefaultConsumerIdsChangeListener` (spec broker-behaviour 5).  `filters` receives
    every heartbeat, and the groups whose last member unregistered or lost its connection.
    """

    def __init__(
        self, config: BrokerConfig, clock: Clock, journal: Journal, notify: Notify, filters: ConsumerFilterManager
    ) -> None:
        self._config = config
        self._clock = clock
        self._journal = journal
        self._notify = notify
        self._filters = filters
        self.groups: dict[str, ConsumerGroup] = {}
        self._groups_of: dict[Channel, dict[str, None]] = {}
        self._weight_bytes = 0
        self._words_bytes = 0

    def register(
        self, data: ConsumerData, channel: Channel, client_id: str, language: str, version: int, *, notify_group: bool
    ) -> None:
        """Apply a heartbeat of one group on one connection; notify the group of a new connection or changed topics.

        Raises BrokerRefused (1) if the limit of subscriptions is reached and this heartbeat adds to them.
        """
        self._admit(data)
        group = self.groups.get(data.group_name)
        if group is None:
            group = self.groups[data.group_name] = ConsumerGroup(
                data.group_name, data.consume_type, data.message_model, data.consume_from_where
            )
        joined = self._update_channel(group, data, channel, client_id, language, version)
        topics = self._update_subscriptions(group, data.subscriptions, client_id)
        self._keep_words(group.channels[channel], words_of(data, group.subscriptions))
        if (joined or topics) and notify_group:
            self._announce(group, "member" if joined else "topics")
        self._filters.register(group.name, data.subscriptions)

    def unregister(self, group_name: str, channel: Channel, *, notify_group: bool) -> None:
        """Remove a member that unregisters, and notify the group if requested."""
        group = self.groups.get(group_name)
        if group is None:
            return
        if self._remove(group, channel, "unregistered") and notify_group:
            self._announce(group, "member")

    def channel_closed(self, channel: Channel) -> None:
        """Remove the member of a closed connection from all its groups at once and notify the other members."""
        for group in [self.groups[name] for name in self._groups_of.get(channel, ()) if name in self.groups]:
            self._remove(group, channel, "closed")
            self._announce(group, "member")

    def scan(self) -> list[Channel]:
        """Remove members without recent heartbeats; return their connections, to be closed.  No member is notified."""
        silent_since_ms = self._clock.now_ms() - self._config.channel_expired_ms
        expired: list[Channel] = []
        for group in list(self.groups.values()):
            for channel, info in list(group.channels.items()):
                if info.last_update_ms < silent_since_ms:
                    self._remove(group, channel, "expired")
                    expired.append(channel)
        return expired

    def subscription(self, group_name: str, topic: str) -> SubscriptionData | None:
        group = self.groups.get(group_name)
        return group.subscriptions.get(topic) if group else None

    def client_id(self, group_name: str, channel: Channel) -> str:
        """Return the client id of a pulling connection, or its address if it has sent no heartbeat."""
        group = self.groups.get(group_name)
        info = group.channels.get(channel) if group else None
        return info.client_id if info else channel.remote

    def note_sifted(self, group_name: str, channel: Channel, topic: str, passed_over: int, records: bytes) -> None:
        """Count the records that a member's pull does not deliver to its listener.

        `passed_over` were removed by the broker's filter; of `records`, those are counted that the client will drop.
        """
        group = self.groups.get(group_name)
        info = group.channels.get(channel) if group else None
        if group is None or info is None:
            return
        kept, dropped = group.subscriptions.get(topic), 0
        if kept is not None and records and channel.transport_kind != LOOPBACK:
            dropped = dropped_by(info.words, kept, records)
        info.sifted.note(topic, passed_over, dropped)

    def groups_of_topic(self, topic: str) -> list[str]:
        return sorted(name for name, group in self.groups.items() if topic in group.subscriptions)

    def _admit(self, data: ConsumerData) -> None:
        if self._weight_bytes <= MAX_SUBSCRIPTION_BYTES:
            return
        group = self.groups.get(data.group_name)
        known = group.subscriptions if group is not None else {}
        if any(known.get(sub.topic) != sub for sub in data.subscriptions):
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, "the groups of this broker subscribe to too much already")

    def _weigh(self, group: ConsumerGroup, weight_bytes: int) -> None:
        self._weight_bytes += weight_bytes - group.weight_bytes
        group.weight_bytes = weight_bytes

    def _update_channel(
        self, group: ConsumerGroup, data: ConsumerData, channel: Channel, client_id: str, language: str, version: int
    ) -> bool:
        now_ms = self._clock.now_ms()
        group.consume_type, group.model = data.consume_type, data.message_model
        group.from_where, group.last_update_ms = data.consume_from_where, now_ms
        known = group.channels.get(channel)
        if known is not None:
            known.client_id, known.last_update_ms = client_id, now_ms
            return False
        self._groups_of.setdefault(channel, {})[group.name] = None
        group.channels[channel] = MemberInfo(client_id, channel, language, version, now_ms, now_ms)
        self._journal.write(
            MemberJoined(
                broker=self._config.node,
                group=group.name,
                client_id=client_id,
                model=group.model,
                kind=group.consume_type,
                from_where=group.from_where,
            )
        )
        return True

    def _update_subscriptions(
        self, group: ConsumerGroup, subscriptions: Iterable[SubscriptionData], client_id: str
    ) -> bool:
        """Apply a heartbeat's subscriptions; return True if the group's topics changed.

        The last heartbeat decides which topics the group has; for each topic the highest version decides the
        expression.
        """
        changed = False
        named: set[str] = set()
        before = group.subscriptions.copy()
        for sub in subscriptions:
            named.add(sub.topic)
            old = group.subscriptions.get(sub.topic)
            if old is None:
                changed = True
            elif sub.sub_version <= old.sub_version:
                continue
            group.subscriptions[sub.topic] = sub
            group.tag_filters[sub.topic] = _tag_filter(sub)
            if old is None or old.sub_string != sub.sub_string:
                self._journal.write(
                    SubscriptionChanged(
                        broker=self._config.node,
                        group=group.name,
                        topic=sub.topic,
                        expression=sub.sub_string,
                        sub_version=sub.sub_version,
                        client_id=client_id,
                        replaced=old.sub_string if old else None,
                    )
                )
        for topic in [topic for topic in group.subscriptions if topic not in named]:
            gone = group.subscriptions.pop(topic)
            del group.tag_filters[topic]
            changed = True
            self._journal.write(
                SubscriptionChanged(
                    broker=self._config.node,
                    group=group.name,
                    topic=topic,
                    expression="",
                    sub_version=gone.sub_version,
                    client_id=client_id,
                    replaced=gone.sub_string,
                )
            )
        if group.subscriptions != before:
            self._weigh(group, sum(map(_bytes_of, group.subscriptions.values())))
        return changed

    def _keep_words(self, info: MemberInfo, words: MemberWords | None) -> None:
        if words == info.words:
            return
        self._words_bytes -= info.weight_bytes
        weight_bytes = 0 if words is None else sum(map(_bytes_of, words.subscriptions))
        if self._words_bytes + weight_bytes > MAX_WORDS_BYTES:
            words, weight_bytes = None, 0
        info.words, info.weight_bytes = words, weight_bytes
        self._words_bytes += weight_bytes

    def _remove(self, group: ConsumerGroup, channel: Channel, reason: str) -> bool:
        info = group.channels.pop(channel, None)
        mine = self._groups_of.get(channel, {})
        mine.pop(group.name, None)
        if not mine:
            self._groups_of.pop(channel, None)
        if not group.channels:
            self._weigh(group, 0)
        if info is not None:
            self._keep_words(info, None)
        if not group.channels and self.groups.pop(group.name, None) is not None and reason != "expired":
            self._filters.unregister(group.name)
        if info is not None:
            self._journal.write(
                MemberLeft(broker=self._config.node, group=group.name, client_id=info.client_id, reason=reason)
            )
        return info is not None

    def _announce(self, group: ConsumerGroup, reason: str) -> None:
        if not self._config.notify_consumer_ids_changed or not group.channels:
            return
        self._journal.write(
            MembersNotified(
                broker=self._config.node, group=group.name, members=tuple(sorted(group.client_ids())), why=reason
            )
        )
        self._notify(group.name, list(group.channels))


def _tag_filter(sub: SubscriptionData) -> TagFilter:
    """Return the filter of the hashes that the member sent (spec broker-behaviour 3.3).

    Go clients hash bytes, so their members receive no tag beyond ASCII.
    """
    if sub.sub_string == ALL:
        return EVERYTHING
    return TagFilter(sub.sub_string, frozenset(sub.tags), frozenset(sub.codes))


def _bytes_of(sub: SubscriptionData) -> int:
    return ROW_BYTES + len(sub.topic) + len(sub.sub_string) + tags_bytes(sub.tags, sub.codes)


def tags_bytes(tags: Collection[str], codes: Collection[int]) -> int:
    """Return the estimated memory of tags and their hashes, which a client sends separately."""
    return TAG_BYTES * max(len(tags), len(codes)) + sum(map(len, tags))
