"""Check of a new member that copies the client id of another one."""

from sandbox.cluster.actors.consumer_actor import ConsumerActor
from sandbox.cluster.cluster import Cluster
from sandbox.control.actions import StartConsumer
from sandbox.kernel.errors import ActionRefused

FIELD = "client_id_of"


def check_copied(cluster: Cluster, action: StartConsumer) -> str:
    """Return the label of the member whose client id the new one copies; for a copy, that of its original.

    Raises ActionRefused (404, 409, 422).
    """
    wished = action.client_id_of or ""
    if action.instance is not None:
        raise ActionRefused(
            422,
            "A member shares the process of another member, or has its own process with that client ID.",
            "Choose the shared process or the separate process.",
            field=FIELD,
        )
    if cluster.actors.find(wished) is None and cluster.actors.is_wire_client(wished):
        raise ActionRefused(
            409,
            "{client} connected over a real network: its client ID cannot be used here.",
            "Choose a member of this sandbox.",
            field=FIELD,
            client=wished,
        )
    other = cluster.actors.find(wished)
    if other is None:
        raise ActionRefused(
            404, "Actor {actor} does not exist.", "The actor may have been removed.", field=FIELD, actor=wished
        )
    if not isinstance(other, ConsumerActor) or other.group != action.group:
        raise ActionRefused(
            409,
            "{actor} is not a member of {group}.",
            "Choose a member of the same group.",
            field=FIELD,
            actor=other.label,
            group=action.group,
        )
    if not other.client_id:
        raise ActionRefused(
            409,
            "{actor} has no client yet.",
            "Start {actor} first.",
            field=FIELD,
            actor=other.label,
        )
    if (other.settings.kind == "push") is not (action.kind == "push"):
        raise ActionRefused(
            422,
            "A push consumer and a consumer that pulls itself have clients with different IDs.",
            "Choose the same kind of consumer.",
            field=FIELD,
        )
    if action.model == "BROADCASTING":
        raise ActionRefused(
            422,
            "Members of a broadcasting group read all queues, regardless of their client IDs.",
            "Choose a clustering group.",
            field=FIELD,
        )
    return other.settings.client_id_of or other.label
