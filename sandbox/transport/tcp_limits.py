"""Limits of external connections (catalogue 6)."""

from dataclasses import dataclass, replace

from sandbox.remoting.frame import MAX_FRAME_BYTES, MAX_HEADER_BYTES

MIB = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class TcpLimits:
    """Limits of all ports of one sandbox together; `pending_requests` and `unread_bytes` are per connection.

    The timeout of 120 s without a command is the broker's own (`broker.connections`), on any transport.
    """

    connections: int = 32
    frame_bytes: int = MAX_FRAME_BYTES  # RocketMQ: com.rocketmq.remoting.frameMaxLength
    header_bytes: int = MAX_HEADER_BYTES
    read_bytes: int = 64 * 1024  # at a time, so that one connection does not block the loop
    unfinished_bytes: int = 64 * MIB  # of incomplete frames, over all connections
    pending_requests: int = 1_024  # unanswered, without pulls; further ones are answered with code 2
    pending_s: float = 60.0  # an unanswered request is not counted after this time
    unread_bytes: int = 8 * MIB  # of answers; a connection with more at its next answer is closed
    socket_bytes: int = MIB // 4  # of the operating system's buffers, each way of a connection; it may hold twice that
    unread_total_bytes: int = 64 * MIB  # over all connections; then those idle for longest are closed
    drain_bytes: int = MIB // 4  # of answers; while more are unread, no further request is read
    connect_s: float = 3.0  # RocketMQ: connectTimeoutMillis
    handshake_s: float = 10.0  # of TLS
    linger_s: float = 3.0  # bytes still unread this long after the end are dropped
    idle_s: float = 120.0  # of listeners without a rule of their own; RocketMQ: serverChannelMaxIdleTimeSeconds
    refusals_told_per_s: int = 5  # as events; all of them are counted


HEADLESS = replace(TcpLimits(), connections=4_096, unfinished_bytes=256 * MIB, unread_total_bytes=256 * MIB)
"""Of a broker process without a sandbox."""
