"""Lookup of node names, by address and by user input."""

from sandbox.cluster import console
from sandbox.cluster.actors.actors import Actors, slot_of_ip
from sandbox.cluster.nodes import Nodes
from sandbox.kernel.errors import ActionRefused


class NodeNames:
    """Names of nodes: servers by `ns-1`, `broker-a`, `broker-a.1`; clients by their actor's permanent label.

    Clients that share a process share its node.
    """

    def __init__(self, nodes: Nodes, actors: Actors) -> None:
        self._nodes = nodes
        self._actors = actors

    def name_of(self, address: str) -> str | None:
        """Return the name of the node at `ip:port`; None if there is none."""
        server = self._nodes.name_at(address)
        if server is not None:
            return server
        ip = address.rpartition(":")[0]
        if ip == console.IP:
            return console.LABEL
        slot = slot_of_ip(ip)
        return next((label for label, actor in self._actors.by_label.items() if actor.slot == slot), None)

    def node(self, field: str, wished: str) -> str:
        """Return the name of the node that a user entered.  Raises ActionRefused (422) if it does not exist."""
        if wished in self._nodes.names() or wished == console.LABEL:
            return wished
        actor = self._actors.by_label.get(wished) or next(
            (actor for actor in self._actors.by_label.values() if actor.client_id == wished), None
        )
        if actor is None:
            raise ActionRefused(
                422,
                "Node {node} does not exist in this sandbox.",
                "Available nodes: {known}.",
                field=field,
                node=wished,
                known=", ".join(self.names()),
            )
        while (host := getattr(actor.settings, "instance", None)) in self._actors.by_label:
            actor = self._actors.by_label[host]
        return actor.label

    def names(self) -> list[str]:
        """Return every node that a link can connect."""
        return [*self._nodes.names(), *sorted(self._actors.by_label)]

    def talk(self, a: str, b: str) -> bool:
        """Return True if the two nodes ever connect.

        Name servers and clients do not connect among themselves, and brokers only within their own name.
        """
        node, other = self._nodes.find(a), self._nodes.find(b)
        if node is not None and other is not None:
            return node is not other and node.name == other.name
        return self._kind(a) != self._kind(b)

    def _kind(self, name: str) -> str:
        if self._nodes.find(name) is not None:
            return "broker"
        return "name server" if name in self._nodes.names() else "client"
