"""Rows of the subscription and settings that each member of a group requests.

RocketMQ requires that all members of a group have the same subscription.  A broker keeps one subscription for the
group, that of the newest heartbeat (`ConsumerGroupInfo.updateSubscription`).  If members differ, it sends some
messages to a member that drops them, or sends them to no member; the committed offset passes over both.
"""

from collections.abc import Iterable, Mapping
from typing import TypedDict

MOST_WORDS = 16  # members of a group whose settings are in a row

TOPICS, EXPRESSIONS, MODEL, LISTENER = "topics", "expressions", "model", "listener"


class SubscriptionRow(TypedDict):
    """The subscription of a group or a member to one topic."""

    topic: str
    expression: str | None  # None: the group is offline, and a real cluster does not say
    kind: str | None  # TAG, SQL92


class MemberWords(TypedDict):
    """The subscription and settings that one member requests, and the messages it did not get.  None: not known."""

    subscriptions: list[SubscriptionRow] | None  # without its retry topic
    model: str | None  # CLUSTERING, BROADCASTING
    listener: str | None  # concurrent, orderly
    dropped: int | None  # messages its client got and dropped by their tag, since it began
    passed_over: int | None  # messages of its pulls that brokers left out by the group's subscription, since it began


class NamedWords(MemberWords):
    """The subscription and settings of a member with its client id."""

    client_id: str
    actor: str | None  # label; None: external client


def differences(members: Iterable[MemberWords]) -> list[str]:
    """Return the settings in which these members differ: topics, expressions of a common topic, model, listener.

    A setting that a member does not report differs from no other.
    """
    words = list(members)
    subscriptions = [
        {sub["topic"]: (sub["expression"], sub["kind"]) for sub in member["subscriptions"]}
        for member in words
        if member["subscriptions"] is not None
    ]
    of_topic: dict[str, set[tuple[str | None, str | None]]] = {}
    for topics in subscriptions:
        for topic, expression in topics.items():
            of_topic.setdefault(topic, set()).add(expression)
    differing = [TOPICS] if len({frozenset(topics) for topics in subscriptions}) > 1 else []
    differing += [EXPRESSIONS] if any(len(expressions) > 1 for expressions in of_topic.values()) else []
    differing += [MODEL] if len({member["model"] for member in words} - {None}) > 1 else []
    return differing + ([LISTENER] if len({member["listener"] for member in words} - {None}) > 1 else [])


def named(members: Mapping[str, MemberWords], labels: Mapping[str, str | None]) -> list[NamedWords]:
    """Return the rows of the first `MOST_WORDS` members, by client id."""
    return [
        {
            "client_id": client_id,
            "actor": labels.get(client_id),
            "subscriptions": words["subscriptions"],
            "model": words["model"],
            "listener": words["listener"],
            "dropped": words["dropped"],
            "passed_over": words["passed_over"],
        }
        for client_id, words in list(members.items())[:MOST_WORDS]
    ]
