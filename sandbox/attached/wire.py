"""What an attached cluster is reached over."""

import ssl
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from sandbox.attached.settings import AttachedSettings
from sandbox.remoting.channel import Connector
from sandbox.transport.tcp_client import TcpConnector


class Wire(NamedTuple):
    """`close` ends every connection the connector opened."""

    connector: Connector
    close: Callable[[], Awaitable[None]]


Wires = Callable[[AttachedSettings], Wire]


def tcp_wire(settings: AttachedSettings) -> Wire:
    """Real sockets.

    With TLS a node must show a certificate the machine trusts (SSL_CERT_FILE names a cluster's own authority).  Whose
    name is in it does not matter: brokers are known by addresses their name server tells.  RocketMQ's own clients
    trust anybody unless told otherwise.
    """
    context: ssl.SSLContext | None = None
    if settings.tls:
        context = ssl.create_default_context()
        context.check_hostname = False
    connector = TcpConnector(tls=context)
    return Wire(connector, connector.close)
