"""Cost of an open connection, and its complete release."""

import asyncio
import gc
import socket
import weakref

from sandbox.transport.tcp_limits import TcpLimits
from tests.unit.transport.tcp_stage import Port, request

KIB = 1024


async def test_a_connection_that_is_over_goes_without_the_garbage_collector() -> None:
    """A look at everything holds the loop for 0.1 s and more; so nothing of a connection may wait for it."""
    async with Port() as port:
        client = await port.client()
        client.say(request(1))
        await client.read(1)
        [channel] = port.node.channels
        left = weakref.ref(channel)
        del channel
        gc.disable()
        try:
            await client.close()
            await port.node.until(lambda: not port.server.connections)
            port.node.channels.clear()
            port.node.gone.clear()
            await asyncio.sleep(0)
            assert left() is None
        finally:
            gc.enable()


async def test_the_machine_keeps_little_for_a_client_that_does_not_read() -> None:
    """Left to itself Linux gives each connection up to 4 MiB for what it receives, and 32 for what it sends."""
    async with Port(limits=TcpLimits(socket_bytes=64 * KIB)) as port:
        client = await port.client()
        client.say(request(1))
        await client.read(1)
        [stream] = port.server._streams
        accepted = stream._transport.get_extra_info("socket")
        for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            assert accepted.getsockopt(socket.SOL_SOCKET, buffer) <= 2 * 64 * KIB
        await client.close()
