"""Each member's own subscription, beside the one that its broker keeps for the whole group.

RocketMQ keeps no such thing: a heartbeat's subscription replaces the group's, and pulls of all members are filtered by
that (`ConsumerGroupInfo.updateSubscription`).  Pages show where members differ, and what that costs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from sandbox.message import properties, record
from sandbox.message.filter import ALL, TAG
from sandbox.remoting.bodies import ConsumerData, SubscriptionData

TAGS = properties.TAGS.encode()
MOST_TOPICS = 64  # a member's counts are kept for


class MemberWords(NamedTuple):
    """One member's last heartbeat."""

    model: str
    consume_type: str
    subscriptions: tuple[SubscriptionData, ...]


def words_of(data: ConsumerData, kept: Mapping[str, SubscriptionData]) -> MemberWords:
    """`kept`: the group's; one that differs in its version alone is the same object, and takes no memory of its own."""
    return MemberWords(
        data.message_model,
        data.consume_type,
        tuple(
            known
            if (known := kept.get(sub.topic)) is not None and known._replace(sub_version=sub.sub_version) == sub
            else sub
            for sub in data.subscriptions
        ),
    )


@dataclass(slots=True)
class Sifted:
    """Messages of a member's pulls that no listener gets, by topic, since its connection began.

    `passed_over`: left out by the broker, by the group's filter.  `dropped`: handed out by it, and dropped by the
    client, as their tag is not among its own; counted here for clients of other people alone, ours count themselves.
    """

    passed_over: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)

    def note(self, topic: str, passed_over: int, dropped: int) -> None:
        for counts, number in ((self.passed_over, passed_over), (self.dropped, dropped)):
            if number and (topic in counts or len(counts) < MOST_TOPICS):
                counts[topic] = counts.get(topic, 0) + number


def dropped_by(words: MemberWords | None, kept: SubscriptionData, records: bytes) -> int:
    """Count the records of an answer that the client drops: by text, as `PullAPIWrapper.processPullResult`."""
    own = None if words is None else next((sub for sub in words.subscriptions if sub.topic == kept.topic), None)
    if own is None or own is kept or (own.expression_type or TAG) != TAG or own.sub_string == ALL or not own.tags:
        return 0
    tags = {tag.encode() for tag in own.tags}
    return sum(tag not in tags for tag in _tags(records))


def _tags(records: bytes) -> Iterator[bytes | None]:
    at = 0
    while at < len(records):
        result = record.examine(records, at, len(records), check_crc=False)
        if not isinstance(result, record.Layout):
            return
        yield properties.find(records[result.properties_at : result.properties_at + result.properties_bytes], TAGS)
        at += result.size
