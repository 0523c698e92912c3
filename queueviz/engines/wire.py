"""Messages between the web process and an engine process: four bytes of length, then a pickled tuple.

They go over a socket pair.  It has no address: only the two processes hold its ends, so each unpickles only what the
other one pickled.  Between machines Ray carries them, and unpickles by itself (`actor`).
"""

import asyncio
import pickle
import socket
import struct
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

from sandbox.cluster.config import HostConfig
from sandbox.hosting.engine_share import Share
from sandbox.kernel.errors import EngineBusy, SandboxError

LENGTH = struct.Struct("!I")

Message = tuple[Any, ...]  # its kind, then what the kind has


class Begin(NamedTuple):
    """The first message to an engine process.  `share`: the part of the data home's sandboxes that it serves."""

    home: str
    config: HostConfig
    share: Share
    logging: dict[str, object]


def pack(message: Message) -> bytes:
    """Return the packed message.  Raises the errors of pickling before anything is sent."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(body)) + body


def unpack(packed: bytes) -> Message:
    message: Message = pickle.loads(memoryview(packed)[LENGTH.size :])
    return message


def pack_failure(number: int, error: BaseException) -> bytes:
    """Return the packed answer of a failed call.  If the exception cannot be pickled, its text is sent."""
    try:
        return pack(("failed", number, error))
    except Exception:
        kind = SandboxError if isinstance(error, SandboxError) else EngineBusy
        return pack(("failed", number, kind(f"{type(error).__name__}: {error}")))


def messages(end: socket.socket) -> Iterator[Any]:
    """Yield messages until the other end is closed.  Blocks, so it needs a thread of its own."""
    while head := _exactly(end, LENGTH.size):
        [size] = LENGTH.unpack(head)
        if not (body := _exactly(end, size)):
            return
        yield pickle.loads(body)


def _exactly(end: socket.socket, size: int) -> bytearray:
    """Return exactly `size` bytes; empty at the end of the stream.

    It reads no further, because an engine's loop then reads the rest of the stream.
    """
    taken = bytearray()
    while len(taken) < size:
        piece = end.recv(size - len(taken))
        if not piece:
            return bytearray()
        taken += piece
    return taken


async def messages_of(stream: asyncio.StreamReader) -> AsyncIterator[Any]:
    """Yield the messages of an asyncio stream until its end."""
    while True:
        try:
            [size] = LENGTH.unpack(await stream.readexactly(LENGTH.size))
            yield pickle.loads(await stream.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionError):
            return
