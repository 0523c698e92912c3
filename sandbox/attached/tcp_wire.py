"""The connector to an attached cluster with real sockets."""

import ssl

from sandbox.attached.settings import AttachedSettings
from sandbox.attached.wire import Wire
from sandbox.transport.tcp_client import TcpConnector


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
