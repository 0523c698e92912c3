"""Subscriptions of single members, next to the one that the broker keeps for the whole group.

RocketMQ has no such table: a heartbeat's subscription replaces the group's, which filters the pulls of all members
(`ConsumerGroupInfo.updateSubscription`).  Pages show where members differ and which messages that costs.
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
    """Content of one member's last heartbeat for its group."""

    model: str
    consume_type: str
    subscriptions: tuple[SubscriptionData, ...]


def words_of(data: ConsumerData, kept: Mapping[str, SubscriptionData]) -> MemberWords:
    """Return a heartbeat's content for one member.

    `kept`: the group's subscriptions.  One that differs in its version alone is shared, so it takes no extra memory.
    """
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
    """Messages in a member's pulls that its listener does not receive, by topic, since its connection began.

    `passed_over`: removed by the broker with the group's filter.  `dropped`: delivered by the broker and dropped by
    the client, because the tag is not in the member's own subscription.  `dropped` counts external clients only; the
    sandbox's clients count themselves.
    """

    passed_over: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)

    def note(self, topic: str, passed_over: int, dropped: int) -> None:
        for counts, number in ((self.passed_over, passed_over), (self.dropped, dropped)):
            if number and (topic in counts or len(counts) < MOST_TOPICS):
                counts[topic] = counts.get(topic, 0) + number


def dropped_by(words: MemberWords | None, kept: SubscriptionData, records: bytes) -> int:
    """Return how many records of an answer the client drops by tag text, as `PullAPIWrapper.processPullResult` does."""
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
