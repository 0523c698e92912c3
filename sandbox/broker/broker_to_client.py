"""Requests that the broker sends to connected clients."""

from collections.abc import Callable

from sandbox.broker.connections import Connections
from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import FLAG_ONEWAY, RemotingCommand
from sandbox.remoting.headers import CheckTransactionHeader, GroupHeader, ResetOffsetHeader

Heard = Callable[[RemotingCommand | None], None]
"""A client's answer; None: none in time."""

MAX_CALLS = 1_024  # waiting for an answer at the same time
MAX_CALL_BYTES = 64 * 1024 * 1024  # of their bodies, which are kept until then


class BrokerToClient:
    """Sender of requests to clients, in the serialize type that the connection last used.

    RocketMQ: `Broker2Client`.
    """

    def __init__(self, connections: Connections, clock: Clock) -> None:
        self._connections = connections
        self._clock = clock
        self._opaque = 0
        self._calls: dict[tuple[Channel, int], tuple[TimerHandle, Heard, int]] = {}
        self._call_bytes = 0

    def notify_consumer_ids_changed(self, group: str, channels: list[Channel]) -> None:
        for channel in channels:
            self._send(channel, RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, GroupHeader(group).to_ext(), None, FLAG_ONEWAY)

    def reset_offset(self, channel: Channel, asked: ResetOffsetHeader, body: bytes) -> None:
        """Send one member its new offsets.  isForce is always false, as in RocketMQ (spec observed 1.1.11)."""
        ext = asked._replace(force=False).to_ext()
        self._send(channel, RequestCode.RESET_CONSUMER_CLIENT_OFFSET, ext, body, FLAG_ONEWAY)

    def check_transaction(self, channel: Channel, asked: CheckTransactionHeader, body: bytes) -> None:
        """Ask one producer for the state of a transaction; it answers, if at all, with its own END_TRANSACTION."""
        self._send(channel, RequestCode.CHECK_TRANSACTION_STATE, asked.to_ext(), body, FLAG_ONEWAY)

    def call(
        self,
        channel: Channel,
        code: RequestCode,
        ext: dict[str, str],
        body: bytes | None,
        timeout_s: float,
        heard: Heard,
    ) -> None:
        """Send a request to a client; call `heard` once, with the answer or with None.

        The argument is None after `timeout_s`, or at once if too many requests or bytes wait.
        """
        size = len(body or b"")
        if len(self._calls) >= MAX_CALLS or self._call_bytes + size > MAX_CALL_BYTES:
            heard(None)
            return
        self._call_bytes += size
        key = (channel, self._send(channel, code, ext, body, 0))
        self._calls[key] = (self._clock.call_later(timeout_s, lambda: self._finish(key, None)), heard, size)

    def answered(self, c: RemotingCommand, channel: Channel) -> None:
        """Pass a client's answer to its waiting request; drop an answer that no request waits for."""
        self._finish((channel, c.opaque), c)

    def stop(self) -> None:
        for timer, _, _ in self._calls.values():
            timer.cancel()
        self._calls.clear()

    def _finish(self, key: tuple[Channel, int], answer: RemotingCommand | None) -> None:
        timer, heard, size = self._calls.pop(key, (None, None, 0))
        self._call_bytes -= size
        if timer is not None and heard is not None:
            timer.cancel()
            heard(answer)

    def _send(self, channel: Channel, code: RequestCode, ext: dict[str, str], body: bytes | None, flag: int) -> int:
        self._opaque += 1
        kind = self._connections.serialize_type(channel)
        self._connections.send(
            channel, RemotingCommand(code, ext, body, flag=flag, opaque=self._opaque, serialize_type=kind)
        )
        return self._opaque
