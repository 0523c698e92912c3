"""Actions on producers and consumers: add, change, stop, crash."""

from dataclasses import fields, replace

from sandbox.cluster.actors.actors import Actor, start_or_refuse
from sandbox.cluster.actors.consumer_actor import ConsumerActor, check_config
from sandbox.cluster.cluster import Cluster
from sandbox.commands.consumer_kinds import check_kind, check_kind_change
from sandbox.commands.copied_client import check_copied
from sandbox.commands.executors import executes
from sandbox.commands.outcome import CarryOut
from sandbox.commands.validate import check_change, check_consumer, check_producer, given
from sandbox.control.actions import (
    ChangeActor,
    CrashActor,
    HangActor,
    RemoveActor,
    RestartActor,
    ResumeActor,
    StartConsumer,
    StartProducer,
    StopActor,
)
from sandbox.kernel.errors import ActionRefused, ClientError
from sandbox.message.topic_names import ILLEGAL, complaint

ILLEGAL_IN_WORDS = "It contains illegal characters: letters, digits and the signs - _ % | are allowed."

OF_ONE_S_OWN = tuple(
    spec.name
    for spec in fields(StartConsumer)
    if spec.name not in ("group", "subscriptions", "actor", "copies", "instance", "client_id_of")
)
"""Fields that may differ in a member added with the settings of the others."""


@executes(StartProducer)
def start_producer(cluster: Cluster, action: StartProducer) -> CarryOut:
    check_topic_name(action.topic)
    cluster.limit_guard.check("producers", len(cluster.actors.producers()) + 1, cluster.limits.producers, action.topic)
    check_producer(action)
    if action.body_bytes > cluster.preset.max_message_bytes:
        raise ActionRefused(
            422,
            "A message can have at most {allowed} bytes here, not {value}.",
            "Choose a smaller body.",
            field="body_bytes",
            allowed=cluster.preset.max_message_bytes,
            value=action.body_bytes,
        )
    _check_label(cluster, action.actor, 1)
    return lambda seq, by: start_or_refuse(cluster.actors, cluster.actors.add_producer(action))


@executes(StartConsumer)
def start_consumer(cluster: Cluster, action: StartConsumer) -> CarryOut:
    """Start members; without subscriptions, with the settings of the group's newest member and the action's fields."""
    actors = cluster.actors
    like = _like_the_others(cluster, action) if not action.subscriptions else action
    for subscription in like.subscriptions:
        check_topic_name(subscription.topic)
    cluster.limit_guard.check("members", len(actors.consumers()) + like.copies, cluster.limits.members, like.group)
    groups = {actor.group for actor in actors.consumers()} | {like.group}
    cluster.limit_guard.check("groups", len(groups), cluster.limits.groups, like.group)
    check_consumer(action)
    check_kind(like)
    _check_label(cluster, like.actor, like.copies)
    _check_config(cluster, like)
    if like.client_id_of is not None:
        like = replace(like, client_id_of=check_copied(cluster, like))
    if like.instance is not None:
        _check_shared(cluster, like)

    def carry_out(seq: int, by: str) -> None:
        for actor in actors.add_consumers(like):
            start_or_refuse(actors, actor)

    return carry_out


@executes(ChangeActor)
def change(cluster: Cluster, action: ChangeActor) -> CarryOut:
    actor = cluster.actors.get(action.actor)
    check_change(action, actor)
    if isinstance(actor, ConsumerActor):
        check_kind_change(action, actor)
    return lambda seq, by: actor.change(action)


@executes(StopActor)
def stop(cluster: Cluster, action: StopActor) -> CarryOut:
    actor = _living(cluster, action.actor)
    if actor.state == "hung":
        raise ActionRefused(
            409,
            "{actor} is hung and cannot stop cleanly.",
            "Resume the producer or consumer, or crash it.",
            actor=actor.label,
        )
    return lambda seq, by: cluster.actors.stop(actor)


@executes(CrashActor)
def crash(cluster: Cluster, action: CrashActor) -> CarryOut:
    actor = _living(cluster, action.actor)
    return lambda seq, by: cluster.actors.crash(actor)


@executes(RestartActor)
def restart(cluster: Cluster, action: RestartActor) -> CarryOut:
    """Restart an actor; a process that still runs is killed first, as a supervisor would do."""
    actor = cluster.actors.get(action.actor)

    def carry_out(seq: int, by: str) -> None:
        if actor.lives:
            cluster.actors.crash(actor)
        start_or_refuse(cluster.actors, actor)

    return carry_out


@executes(RemoveActor)
def remove(cluster: Cluster, action: RemoveActor) -> CarryOut:
    """Remove an actor at once; its process stops cleanly unless it hangs."""
    actor = cluster.actors.get(action.actor)

    def carry_out(seq: int, by: str) -> None:
        if actor.state == "hung":
            cluster.actors.crash(actor)
        elif actor.lives:
            cluster.actors.stop(actor)
        cluster.actors.remove(actor.label)
        cluster.links.forget(actor.label)

    return carry_out


@executes(HangActor)
def hang(cluster: Cluster, action: HangActor) -> CarryOut:
    actor = cluster.actors.get(action.actor)
    if actor.state != "running":
        raise ActionRefused(
            409,
            "{actor} is {state}, not running.",
            "Choose a running producer or consumer.",
            actor=actor.label,
            state=actor.state,
        )
    return lambda seq, by: cluster.actors.hang(actor)


@executes(ResumeActor)
def resume(cluster: Cluster, action: ResumeActor) -> CarryOut:
    actor = cluster.actors.get(action.actor)
    if actor.state != "hung":
        raise ActionRefused(
            409,
            "{actor} is {state}; only a hung producer or consumer can be resumed.",
            "",
            actor=actor.label,
            state=actor.state,
        )
    return lambda seq, by: cluster.actors.resume(actor)


def check_topic_name(topic: str) -> None:
    """Raise ActionRefused (422) if no broker accepts the topic's name."""
    problem = complaint(topic)
    if problem is not None:
        if problem == ILLEGAL:
            problem = ILLEGAL_IN_WORDS
        raise ActionRefused(
            422,
            "{topic} is not a valid topic name: {problem}",
            "Use letters, digits, dashes and underscores.",
            field="topic",
            topic=topic,
            problem=problem,
        )


def _living(cluster: Cluster, label: str) -> Actor:
    actor = cluster.actors.get(label)
    if not actor.lives:
        raise ActionRefused(
            409,
            "{actor} is already {state}.",
            "Restart the producer or consumer to use it again.",
            actor=actor.label,
            state=actor.state,
        )
    return actor


def _check_label(cluster: Cluster, wished: str | None, copies: int) -> None:
    labels = [] if wished is None else [wished] if copies == 1 else [f"{wished}.{n}" for n in range(1, copies + 1)]
    for label in labels:
        if label in cluster.actors.by_label:
            raise ActionRefused(
                409, "Actor {actor} already exists.", "Choose another name.", field="actor", actor=label
            )
        if "/" in label or label.startswith("."):
            raise ActionRefused(
                422, "{actor} is not a valid name.", "Remove slashes and leading dots.", field="actor", actor=label
            )


def _check_config(cluster: Cluster, action: StartConsumer) -> None:
    try:
        check_config(action, cluster.preset, cluster.actors.strategy_for(action))
    except ClientError as error:
        if "illegal characters" in str(error):
            raise ActionRefused(
                422,
                "{group} is not a valid group name: {problem}",
                "Use letters, digits, dashes and underscores.",
                field="group",
                group=action.group,
                problem=ILLEGAL_IN_WORDS,
            ) from error
        raise ActionRefused(
            422, "{group} cannot start: {why}.", field="group", group=action.group, why=error
        ) from error


def _check_shared(cluster: Cluster, action: StartConsumer) -> None:
    assert action.instance is not None
    host = cluster.actors.get(action.instance)
    if host.instance is None or not host.lives:
        raise ActionRefused(
            409,
            "{actor} is not running, so its client cannot be shared.",
            "Start {actor} first.",
            field="instance",
            actor=host.label,
        )
    if host.instance.config.stream is (action.kind == "push"):
        raise ActionRefused(
            422,
            "A push consumer and a consumer that pulls itself have clients with different IDs.",
            "Give the new consumer its own client.",
            field="instance",
        )
    if action.group in host.instance.consumers or action.copies > 1:
        raise ActionRefused(
            409,
            "A client can have only one member of {group}.",
            "Give the new consumer its own client.",
            field="instance",
            group=action.group,
        )


def _like_the_others(cluster: Cluster, action: StartConsumer) -> StartConsumer:
    newest = cluster.actors.newest_of(action.group)
    if newest is None:
        raise ActionRefused(422, "A new group needs a topic to subscribe to.", "Choose a topic.", field="subscriptions")
    wishes = {name: getattr(action, name) for name in given(action, OF_ONE_S_OWN)}
    return replace(
        newest.settings,
        actor=action.actor,
        copies=action.copies,
        instance=action.instance,
        client_id_of=action.client_id_of,
        **wishes,
    )
