"""Resolution of a teacher's intervention into actions of one sandbox, and into the actions that undo them.

Of several members, brokers and queues it selects the first by name, so that sandboxes in the same state get the same
actions.
"""

from typing import NamedTuple

from sandbox.cluster.actors.consumer_actor import ConsumerActor
from sandbox.cluster.cluster import Cluster
from sandbox.cluster.lab_progress import LabProgress
from sandbox.control.actions import (
    Action,
    BeginStepAgain,
    ChangeActor,
    CrashActor,
    HangBroker,
    PowerCut,
    RestartActor,
    ResumeBroker,
    SendMessages,
    StartBroker,
    StartNameServer,
    StopNameServer,
    fields_of,
    name_of,
)
from sandbox.control.interventions import BURST, SLOW_MS, Fault
from sandbox.kernel.errors import ActionRefused

SUBJECTS = ("slow_queue", "actor", "broker", "name_server", "topic")
"""Fields of the actions here that name what is changed, the most exact one first."""


class Resolved(NamedTuple):
    """Action of an intervention, and the action that undoes it; `heal` is None if the effect ends by itself."""

    action: Action
    heal: Action | None


def resolve(cluster: Cluster, kind: Fault) -> Resolved:
    """Return the actions of a fault in this sandbox.  Raises ActionRefused (409) if it has no target here."""
    match kind:
        case "crash_member":
            label = _member(cluster).label
            return Resolved(CrashActor(actor=label), RestartActor(actor=label))
        case "slow_message":
            member = _member(cluster)
            held = sorted(mq for mq, _ in member.owned_queues())
            if not held:
                raise ActionRefused(409, "{actor} has no queue.", actor=member.label)
            slow = ChangeActor(actor=member.label, slow_queue=f"{held[0].broker}:{held[0].queue_id}", slow_ms=SLOW_MS)
            return Resolved(slow, None)
        case "burst":
            return Resolved(SendMessages(topic=_topic(cluster), count=BURST), None)
        case "stop_name_server":
            running = [node.name for node in cluster.nodes.name_servers if node.name_server is not None]
            if not running:
                raise ActionRefused(409, "No name server is running.")
            return Resolved(StopNameServer(name_server=running[0]), StartNameServer(name_server=running[0]))
        case "hang_broker":
            broker = _broker(cluster)
            return Resolved(HangBroker(broker=broker), ResumeBroker(broker=broker))
        case "power_cut":
            broker = _broker(cluster)
            return Resolved(PowerCut(broker=broker), StartBroker(broker=broker))


def is_needed(cluster: Cluster, heal: Action) -> bool:
    """Return True if a heal action must be executed: not for a member that was restarted meanwhile.

    The other heal actions are refused if they are not needed.
    """
    if not isinstance(heal, RestartActor):
        return True
    actor = cluster.actors.by_label.get(heal.actor)
    return actor is not None and not actor.lives


def begins_again(cluster: Cluster, after: Action) -> BeginStepAgain | None:
    """Return the action that opens a prediction again after the teacher's action `after`, or None.

    A prediction sealed before that action was about another state of the sandbox.
    """
    progress = cluster.companion(LabProgress)
    progress.catch_up()
    attempt = progress.attempt
    if attempt is None or not attempt.can_be_touched:
        return None
    return BeginStepAgain(lab=attempt.lab.slug, step=attempt.step, after=name_of(after), what=subject_of(after))


def subject_of(action: Action) -> str:
    """Return the name of the part that an action of an intervention changes."""
    fields = fields_of(action)
    return next(str(fields[name]) for name in SUBJECTS if fields.get(name))


def _member(cluster: Cluster) -> ConsumerActor:
    """Return a running consumer, of the lab's group if it has one.  Raises ActionRefused (409)."""
    running = [actor for actor in cluster.actors.consumers() if actor.state == "running"]
    group = _number(cluster, "group")
    members = [actor for actor in running if actor.group == group] or running
    if not members:
        raise ActionRefused(409, "No member is running.")
    return members[0]


def _broker(cluster: Cluster) -> str:
    running = sorted(node.record.name for node in cluster.nodes.masters() if node.state == "running")
    if not running:
        raise ActionRefused(409, "No broker is running.")
    return running[0]


def _topic(cluster: Cluster) -> str:
    named = _number(cluster, "topic")
    topics = (
        [named]
        if named
        else sorted(
            subscription.topic for actor in cluster.actors.consumers() for subscription in actor.settings.subscriptions
        )
    )
    if not topics:
        raise ActionRefused(409, "No group consumes a topic here.")
    return topics[0]


def _number(cluster: Cluster, name: str) -> str | None:
    """Return a number of the lab in progress, or None."""
    attempt = cluster.companion(LabProgress).attempt
    return None if attempt is None else attempt.evidence.numbers.get(name)
