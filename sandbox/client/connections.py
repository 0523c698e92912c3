"""Connections of a client by address, and the requests that wait for an answer on them."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from sandbox.client.config import ClientConfig
from sandbox.client.tasks import within
from sandbox.kernel.errors import ConnectFailed, RemotingError, SendTimeout, TooManyRequests
from sandbox.kernel.process_clock import ProcessClock
from sandbox.remoting.channel import Channel, Connector
from sandbox.remoting.command import FLAG_ONEWAY, Language, RemotingCommand
from sandbox.remoting.signature import sign

OnRequest = Callable[[RemotingCommand, Channel], None]


class Pending(NamedTuple):
    """Request that waits for its answer, as the client page shows it."""

    opaque: int
    code: int
    address: str
    since_ms: int
    timeout_ms: int


class _Waiting(NamedTuple):
    future: "asyncio.Future[RemotingCommand]"
    channel: Channel
    pending: Pending


class Connections:
    """Connections to servers, one per address, each opened at first use.  RocketMQ: `NettyRemotingClient`.

    A request ends with its answer, with SendTimeout on the clock, or with RemotingError as soon as its connection
    closes.  While the client's process is stopped, arriving commands wait in order.
    """

    def __init__(self, connector: Connector, clock: ProcessClock, config: ClientConfig, on_request: OnRequest) -> None:
        self._connector = connector
        self._clock = clock
        self._config = config
        self._on_request = on_request
        self._channels: dict[str, Channel] = {}
        self._opening: dict[str, asyncio.Future[Channel]] = {}
        self._waiting: dict[int, _Waiting] = {}
        self._arrived_while_stopped: list[Callable[[], None]] = []
        self._opaque = 0
        self._closed = False

    async def invoke(
        self, address: str, command: RemotingCommand, timeout_ms: int, *, close_on_timeout: bool = True
    ) -> RemotingCommand:
        """Send a request and return its answer.  Raises SendTimeout after `timeout_ms`.

        After a timeout the connection is closed, as Java closes it after a synchronous call (closeSocketIfTimeout),
        unless `close_on_timeout` is False.
        """
        if len(self._waiting) >= self._config.max_pending_requests:
            raise TooManyRequests(f"{len(self._waiting)} requests are waiting for answers")
        channel = await self._channel(address)
        command = self._numbered(command)
        future: asyncio.Future[RemotingCommand] = asyncio.get_running_loop().create_future()
        pending = Pending(command.opaque, command.code, address, self._clock.now_ms(), timeout_ms)
        self._waiting[command.opaque] = _Waiting(future, channel, pending)

        def give_up() -> None:
            if not future.done():
                reason = f"no answer from {address} to request {int(command.code)} within {timeout_ms} ms"
                future.set_exception(SendTimeout(reason))
                if close_on_timeout:
                    channel.close()

        timer = self._clock.call_later(timeout_ms / 1000, give_up)
        try:
            channel.send(command)
            return await future
        finally:
            timer.cancel()
            self._waiting.pop(command.opaque, None)

    async def send_oneway(self, address: str, command: RemotingCommand) -> None:
        """Send a request without waiting for an answer.  Raises ConnectFailed if no connection can be opened."""
        channel = await self._channel(address)
        command = self._numbered(command)
        command.flag |= FLAG_ONEWAY
        channel.send(command)

    @property
    def signs(self) -> bool:
        """True if requests carry an access key and a signature."""
        return bool(self._config.access_key and self._config.secret_key)

    def is_connected(self, address: str) -> bool:
        channel = self._channels.get(address)
        return channel is not None and channel.is_open

    @property
    def addresses(self) -> list[str]:
        """The addresses with an open connection."""
        return [address for address in self._channels if self.is_connected(address)]

    @property
    def pending(self) -> list[Pending]:
        return [waiting.pending for waiting in self._waiting.values()]

    def close(self) -> None:
        """Close every connection at once.  Requests that wait for an answer fail."""
        self._closed = True
        channels, self._channels = list(self._channels.values()), {}
        self._arrived_while_stopped.clear()
        for channel in channels:
            channel.close()
        for waiting in list(self._waiting.values()):
            _fail(waiting, "the client is closing")

    def deliver_held(self) -> None:
        """Handle, in order, all commands that arrived while the process was stopped.  Called when it resumes."""
        held, self._arrived_while_stopped = self._arrived_while_stopped, []
        for handle in held:
            handle()

    def _numbered(self, command: RemotingCommand) -> RemotingCommand:
        command.opaque = self._opaque
        self._opaque += 1
        command.language = Language.PYTHON
        if self._config.stream:
            command.ext = {**(command.ext or {}), "ReqT": "0"}
        if self.signs:
            sign(command, self._config.access_key, self._config.secret_key, self._config.security_token)
        return command

    async def _channel(self, address: str) -> Channel:
        if self._closed:
            raise ConnectFailed(f"the client is closed and opens no connection to {address}")
        channel = self._channels.get(address)
        if channel is not None and channel.is_open:
            return channel
        opening = self._opening.get(address)
        if opening is None:
            return await self._open(address)
        return await asyncio.shield(opening)

    async def _open(self, address: str) -> Channel:
        """Open the connection to an address once for all requests that wait for it."""
        opening: asyncio.Future[Channel] = asyncio.get_running_loop().create_future()
        self._opening[address] = opening
        try:
            connecting = self._connector.connect(address, self._heard, self._lost)
            channel = await within(self._clock, connecting, self._config.connect_timeout_ms / 1000)
            if channel is None:
                raise ConnectFailed(f"{address} did not answer within {self._config.connect_timeout_ms} ms")
            await self._clock.going_on()
            if self._closed:
                channel.close()
                raise ConnectFailed(f"the client was closed while it connected to {address}")
            self._channels[address] = channel
            opening.set_result(channel)
            return channel
        except BaseException as error:
            opening.set_exception(ConnectFailed(str(error) or f"connecting to {address} was cancelled"))
            opening.exception()  # the exception counts as retrieved, also if no caller waits
            raise
        finally:
            del self._opening[address]

    def _heard(self, commands: list[RemotingCommand], channel: Channel) -> None:
        if self._clock.stopped:
            self._arrived_while_stopped.append(lambda: self._heard(commands, channel))
            return
        for command in commands:
            if not command.is_response:
                self._on_request(command, channel)
                continue
            waiting = self._waiting.get(command.opaque)
            if waiting is not None and not waiting.future.done():
                waiting.future.set_result(command)

    def _lost(self, channel: Channel) -> None:
        if self._clock.stopped:
            self._arrived_while_stopped.append(lambda: self._lost(channel))
            return
        for address, known in list(self._channels.items()):
            if known is channel:
                del self._channels[address]
        for waiting in list(self._waiting.values()):
            if waiting.channel is channel:
                _fail(waiting, f"the connection to {waiting.pending.address} closed")


def answer(command: RemotingCommand, channel: Channel) -> None:
    """Send the reply to a request from the other side."""
    command.language = Language.PYTHON
    channel.send(command)


def _fail(waiting: _Waiting, reason: str) -> None:
    if not waiting.future.done():
        waiting.future.set_exception(RemotingError(reason))
