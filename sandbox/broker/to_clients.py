"""Requests the broker itself sends, to clients that are connected to it."""

from collections.abc import Callable

from sandbox.broker.connections import Connections
from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import FLAG_ONEWAY, RemotingCommand
from sandbox.remoting.headers import CheckTransactionHeader, GroupHeader, ResetOffsetHeader

Heard = Callable[[RemotingCommand | None], None]
"""What a client answered; None: nothing in time."""

MAX_CALLS = 1_024  # awaiting an answer at a time
MAX_CALL_BYTES = 64 * 1024 * 1024  # of the bodies sent with them, which are kept until then


class ToClients:
    """RocketMQ: `Broker2Client`.  Requests go out in the serialize type the connection last used."""

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
        """Tell one member where to go on.  isForce is always false, as RocketMQ has it (spec observed 1.1.11)."""
        ext = asked._replace(force=False).to_ext()
        self._send(channel, RequestCode.RESET_CONSUMER_CLIENT_OFFSET, ext, body, FLAG_ONEWAY)

    def check_transaction(self, channel: Channel, asked: CheckTransactionHeader, body: bytes) -> None:
        """Ask one producer what became of a transaction; it answers, if at all, with an END_TRANSACTION of its own."""
        self._send(channel, RequestCode.CHECK_TRANSACTION_STATE, asked.to_ext(), body, FLAG_ONEWAY)

    def call(self, channel: Channel, code: RequestCode, ext: dict[str, str], body: bytes | None, timeout_s: float,
             heard: Heard) -> None:
        """Ask a client; `heard` is called once, with its answer or with None."""
        size = len(body or b"")
        if len(self._calls) >= MAX_CALLS or self._call_bytes + size > MAX_CALL_BYTES:
            heard(None)
            return
        self._call_bytes += size
        key = (channel, self._send(channel, code, ext, body, 0))
        self._calls[key] = (self._clock.call_later(timeout_s, lambda: self._finish(key, None)), heard, size)

    def answered(self, c: RemotingCommand, channel: Channel) -> None:
        """A client answered; an answer nobody awaits (any more) is dropped."""
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
        self._connections.send(channel, RemotingCommand(code, ext, body, flag=flag, opaque=self._opaque,
                                                        serialize_type=kind))
        return self._opaque
