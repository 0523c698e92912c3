"""The connector to an attached cluster."""

import ssl
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from sandbox.attached.settings import AttachedSettings
from sandbox.remoting.channel import Connector
from sandbox.transport.tcp_client import TcpConnector


class Wire(NamedTuple):
    """A connector to a cluster.  `close` ends every connection that the connector opened."""

    connector: Connector
    close: Callable[[], Awaitable[None]]


Wires = Callable[[AttachedSettings], Wire]


def tcp_wire(settings: AttachedSettings) -> Wire:
    """Return a connector with real sockets.

    With TLS a node must show a certificate the machine trusts (SSL_CERT_FILE names a cluster's own authority).  The
    name in it is not checked: brokers are known by the addresses of their name server.  RocketMQ's own clients trust
    any certificate by default.
    """
    context: ssl.SSLContext | None = None
    if settings.tls:
        context = ssl.create_default_context()
        context.check_hostname = False
    connector = TcpConnector(tls=context)
    return Wire(connector, connector.close)
