"""Action on external clients."""

from sandbox.cluster.cluster import Cluster
from sandbox.commands.executors import executes
from sandbox.commands.outcome import CarryOut
from sandbox.control.actions import CutConnection
from sandbox.kernel.errors import ActionRefused


@executes(CutConnection)
def cut(cluster: Cluster, action: CutConnection) -> CarryOut:
    """Close an external client's connections: the brokers remove its members at once.  A running client reconnects."""
    connections = cluster.connections_of(action.client_id)
    if not connections:
        _refuse(cluster, action.client_id)

    def carry_out(seq: int, by: str) -> None:
        for connection in connections:
            connection.cut()

    return carry_out


def _refuse(cluster: Cluster, client_id: str) -> None:
    names = {name for actor in cluster.actors.by_label.values() for name in (actor.label, actor.client_id) if name}
    if client_id in names:
        raise ActionRefused(
            409,
            "{client} is a process of this sandbox.",
            "Crash, hang or stop the client instead.",
            field="client_id",
            client=client_id,
        )
    raise ActionRefused(
        404,
        "No client {client} is connected over a real network.",
        "The client may have disconnected.",
        field="client_id",
        client=client_id,
    )
