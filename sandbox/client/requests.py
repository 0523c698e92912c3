"""Single requests with their answers, the base of the client library and the administrator."""

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from sandbox.client.connections import Connections
from sandbox.kernel.errors import (
    BrokerRefused,
    CorruptRecord,
    NotKnownThere,
    RemotingError,
    SendTimeout,
    UnreadableAnswer,
)
from sandbox.remoting.channel import Channel, Connector
from sandbox.remoting.codes import RequestCode, ResponseCode, request_name
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.fields import Malformed, written

T = TypeVar("T")


class RequestHeader(Protocol):
    """Request header of `remoting.headers`."""

    def to_ext(self) -> dict[str, str]: ...


class Fields:
    """Request header with few fields, too small for a type of its own."""

    def __init__(self, **fields: str | int | bool | None) -> None:
        self._fields = fields

    def to_ext(self) -> dict[str, str]:
        return written(**self._fields)


class Requests:
    """Requests over connections; each waits `timeout_ms` unless the call sets another timeout.

    An answer other than success raises BrokerRefused; NotKnownThere if the server's release does not support the
    request.  Without an answer they raise RemotingError: ConnectFailed if the request was not sent, SendTimeout if
    no answer arrives.
    """

    def __init__(self, connections: Connections, timeout_ms: int) -> None:
        self.connections = connections
        self.timeout_ms = timeout_ms

    async def ask(
        self,
        address: str,
        code: RequestCode,
        header: RequestHeader | None = None,
        *,
        body: bytes | None = None,
        timeout_ms: int | None = None,
    ) -> RemotingCommand:
        command = RemotingCommand(code, header.to_ext() if header is not None else None, body)
        answer = await self.connections.invoke(address, command, timeout_ms or self.timeout_ms)
        if answer.code != ResponseCode.SUCCESS:
            raise refusal(answer)
        return answer

    async def read(
        self,
        address: str,
        code: RequestCode,
        header: RequestHeader | None,
        of: Callable[[RemotingCommand], T],
        *,
        body: bytes | None = None,
    ) -> T:
        """Send a request and return its answer, decoded by `of`.  Raises UnreadableAnswer if `of` cannot decode it."""
        answer = await self.ask(address, code, header, body=body)
        try:
            return of(answer)
        except (Malformed, CorruptRecord) as error:
            raise UnreadableAnswer(
                f"the {request_name(code)} response of {address} is not readable: {error}"
            ) from error


def refusal(answer: RemotingCommand) -> BrokerRefused:
    """Return the exception for an answer that refuses a request."""
    kind = NotKnownThere if answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED else BrokerRefused
    return kind(answer.code, answer.remark or "")


async def ask(connector: Connector, address: str, request: RemotingCommand, timeout_s: float) -> RemotingCommand:
    """Send one request over a connection of its own; return the answer.

    Raises ConnectFailed, SendTimeout, RemotingError.
    """
    answered: asyncio.Future[RemotingCommand] = asyncio.get_running_loop().create_future()

    def answer(commands: list[RemotingCommand], _: Channel) -> None:
        if not answered.done():
            answered.set_result(commands[0])

    def lost(_: Channel) -> None:
        if not answered.done():
            answered.set_exception(RemotingError(f"{address} closed the connection"))

    channel = await connector.connect(address, answer, lost)
    channel.send(request)
    try:
        async with asyncio.timeout(timeout_s):
            return await answered
    except TimeoutError as error:
        raise SendTimeout(f"{address} did not answer within {timeout_s:g} s") from error
    finally:
        answered.cancel()
        channel.close()
