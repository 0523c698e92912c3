"""The settings that each member of a group requests, from its process or (external members) from its heartbeats."""

from collections.abc import Iterable

from sandbox.broker.consumers import MemberInfo
from sandbox.cluster.actors.consumer_actor import ConsumerActor
from sandbox.message.topic_names import retry_topic
from sandbox.queries.rows.board import ActorRow
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.rows.member_words import MemberWords, SubscriptionRow, differences
from sandbox.remoting.bodies import SubscriptionData

THERE = ("starting", "running", "hung", "stopping")


def words_of_actor(view: GroupView, actor: ConsumerActor, topic: str | None) -> MemberWords:
    """Return the settings of the actor's process, or of its next one.

    With `topic`, count only that topic's messages.
    """
    consumer, instance = actor.consumer, actor.instance
    subscriptions: list[SubscriptionRow] = [
        {"topic": sub.topic, "expression": sub.expression, "kind": sub.kind} for sub in actor.settings.subscriptions
    ]
    if consumer is not None and actor.lives and consumer.subscriptions:
        subscriptions = _rows(view, (subscription.data() for subscription in consumer.subscriptions.values()))
    dropped = (
        None
        if instance is None
        else sum(
            count
            for (group, of_topic), count in instance.dropped.items()
            if group == view.group and topic in (None, of_topic)
        )
    )
    return {
        "subscriptions": subscriptions,
        "model": actor.settings.model,
        "listener": actor.settings.listener,
        "dropped": dropped,
        "passed_over": _passed_over(view.connections().get(actor.client_id, []), topic),
    }


def words_of_wire(view: GroupView, client_id: str, topic: str | None) -> MemberWords:
    """Return the settings in the client's newest heartbeat, which does not contain its listener.

    `dropped` is the broker's count.  With `topic`, count only its messages.
    """
    infos = view.connections().get(client_id, [])
    newest = max((info for info in infos if info.words is not None), key=lambda info: info.last_update_ms, default=None)
    words = None if newest is None else newest.words
    if words is None:
        return {
            "subscriptions": None,
            "model": None,
            "listener": None,
            "dropped": None,
            "passed_over": _passed_over(infos, topic),
        }
    return {
        "subscriptions": _rows(view, words.subscriptions),
        "model": words.model,
        "listener": None,
        "dropped": sum(
            count for info in infos for of_topic, count in info.sifted.dropped.items() if topic in (None, of_topic)
        ),
        "passed_over": _passed_over(infos, topic),
    }


def members_differ(members: dict[str, ActorRow]) -> list[str]:
    """Return the settings in which the running members differ; a crashed member requests nothing."""
    return differences(row for row in members.values() if row["state"] in THERE)


def _passed_over(infos: list[MemberInfo], topic: str | None) -> int | None:
    return (
        None
        if not infos
        else sum(
            count for info in infos for of_topic, count in info.sifted.passed_over.items() if topic in (None, of_topic)
        )
    )


def _rows(view: GroupView, subscriptions: Iterable[SubscriptionData]) -> list[SubscriptionRow]:
    return [
        {"topic": sub.topic, "expression": sub.sub_string, "kind": sub.expression_type}
        for sub in sorted(subscriptions)
        if sub.topic != retry_topic(view.group)
    ]
