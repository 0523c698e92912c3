"""The network inside one sandbox, in memory.

The loop delivers commands, never re-entrantly: commands sent in one turn on one connection arrive as one batch in a
later turn.  Two hooks can cut and slow down links; without them a command costs about 1 µs.
"""

import asyncio
from collections.abc import Callable

from sandbox.kernel.clock import Clock, Loop
from sandbox.kernel.errors import ConnectFailed
from sandbox.remoting.channel import (
    ByteChannel,
    ByteHandler,
    ByteListener,
    Channel,
    Connector,
    Handler,
    Listener,
    OnByteClose,
    OnClose,
)
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.exchange import Closed, End, Exchange, Heard, Payload
from sandbox.remoting.frame import FrameDecoder, encode
from sandbox.remoting.lag import Lag, Later

CONNECT_TIMEOUT_S = 3.0  # over a cut link; RocketMQ: connectTimeoutMillis


class LoopbackNetwork:
    """An in-memory network.  Addresses are `ip:port`; a `connector` assigns those of connecting ends.

    `gate(sender, receiver)`, when set, returns True if bytes pass; on a cut link they are lost without notice.
    `delay(sender, receiver)` is the delay in seconds of the clock.  `tap(sender, receiver, command)` is called with
    every command that is sent.  With `wire`, each command is encoded and decoded on its way.
    """

    def __init__(self, loop: Loop, *, wire: bool = False, clock: Clock | None = None) -> None:
        self._loop = loop
        self._wire = wire
        self._later: Later = (clock or loop).call_later
        self._exchange = Exchange(loop.call_soon, self._carry)
        self._lag = Lag(self._later, clock.monotonic if clock else loop.time, self._arrive)
        self.gate: Callable[[str, str], bool] | None = None
        self.delay: Callable[[str, str], float] | None = None
        self.tap: Callable[[str, str, RemotingCommand], None] | None = None

    def listen(self, address: str, listener: Listener | ByteListener) -> None:
        self._exchange.listen(address, listener)

    def unlisten(self, address: str) -> None:
        self._exchange.unlisten(address)

    def connector(self, local_ip: str) -> Connector:
        return _Connector(self, local_ip)

    def connections(self) -> list[tuple[str, str]]:
        """Return every open connection as a pair of connecting and serving address."""
        return [(end.remote, end.local) for end in self._exchange.connections()]

    def open(
        self, local_ip: str, address: str, heard: Heard, on_close: Closed, opened: Callable[[End | None], None]
    ) -> None:
        """Open a connection, which takes the delay of both directions, and call `opened` with its end or None."""
        local = self._exchange.local_address(local_ip)
        if self.gate is not None and not (self.gate(local, address) and self.gate(address, local)):
            self._later(CONNECT_TIMEOUT_S, lambda: opened(None))
            return
        seconds = self._delay_s(local, address) + self._delay_s(address, local)
        if seconds > CONNECT_TIMEOUT_S:
            self._later(CONNECT_TIMEOUT_S, lambda: opened(None))
        elif seconds > 0:
            self._later(seconds, lambda: opened(self._exchange.dial(local, address, heard, on_close)))
        else:
            self._loop.call_soon(lambda: opened(self._exchange.dial(local, address, heard, on_close)))

    def _carry(self, sender: End, payload: Payload | None) -> None:
        if isinstance(payload, RemotingCommand):
            if self.tap is not None:
                self.tap(sender.local, sender.remote, payload)
            if self._wire:
                [payload] = FrameDecoder().feed(encode(payload))
        if self.gate is not None and not self.gate(sender.local, sender.remote):
            return
        if self.delay is not None or self._lag.under_way:
            self._lag.carry(sender, payload, self._delay_s(sender.local, sender.remote))
        else:
            sender.peer.arrive(payload)

    def _delay_s(self, sender: str, receiver: str) -> float:
        return self.delay(sender, receiver) if self.delay is not None else 0.0

    def _arrive(self, sender: End, payload: Payload | None) -> None:
        sender.peer.arrive(payload)


class _Connector:
    """A connector that opens connections from one address."""

    def __init__(self, network: LoopbackNetwork, local_ip: str) -> None:
        self._network = network
        self._local_ip = local_ip

    def open(
        self, address: str, on_commands: Handler, on_close: OnClose, opened: Callable[[Channel | None], None]
    ) -> None:
        self._network.open(self._local_ip, address, on_commands, on_close, opened)

    def open_bytes(
        self, address: str, on_bytes: ByteHandler, on_close: OnByteClose, opened: Callable[[ByteChannel | None], None]
    ) -> None:
        self._network.open(self._local_ip, address, on_bytes, on_close, opened)

    async def connect(self, address: str, on_commands: Handler, on_close: OnClose) -> Channel:
        answer: asyncio.Future[Channel | None] = asyncio.get_running_loop().create_future()

        def opened(channel: Channel | None) -> None:
            if not answer.done():
                answer.set_result(channel)
            elif channel is not None:
                channel.close()  # its caller does not wait any more

        self._network.open(self._local_ip, address, on_commands, on_close, opened)
        try:
            channel = await answer
        except asyncio.CancelledError:
            if answer.done() and not answer.cancelled() and (late := answer.result()) is not None:
                late.close()
            raise
        if channel is None:
            raise ConnectFailed(f"nothing listens at {address}")
        return channel
