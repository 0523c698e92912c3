"""The interface of a connector to an attached cluster."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from sandbox.attached.settings import AttachedSettings
from sandbox.kernel.errors import ActionRefused
from sandbox.remoting.channel import Connector


class Wire(NamedTuple):
    """A connector to a cluster.  `close` ends every connection that the connector opened."""

    connector: Connector
    close: Callable[[], Awaitable[None]]


Wires = Callable[[AttachedSettings], Wire]


def no_wire(settings: AttachedSettings) -> Wire:
    """Refuse: this engine opens no connections.  Raises ActionRefused (409)."""
    raise ActionRefused(409, "This engine opens no connections.", "Attach the cluster to a server of QueueViz.")
