"""A link to a running cluster for synchronous code: a loop of its own, which runs only during a call."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from sandbox.kernel.clock import ScaledClock, wall_ms
from sandbox.pipeline.sources.cluster_access import Access
from sandbox.pipeline.sources.cluster_link import Link
from sandbox.transport.tcp_client import TcpConnector

T = TypeVar("T")


class Line(Protocol):
    """The connection that a reader needs: a link and a way to run its coroutines."""

    @property
    def link(self) -> Link: ...
    def run(self, coroutine: Coroutine[Any, Any, T]) -> T: ...
    def close(self) -> None: ...


Dial = Callable[[Access], Line]


class TcpLine:
    """A line over real TCP connections."""

    def __init__(self, access: Access) -> None:
        self._loop = asyncio.new_event_loop()
        self._clock = ScaledClock(self._loop, start_ms=wall_ms())
        self._connector = TcpConnector(tls=access.context)
        self.link = Link(access, clock=self._clock, connector=self._connector)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(coroutine)

    def close(self) -> None:
        self._loop.run_until_complete(self._closed())
        self._clock.close()
        self._loop.close()

    async def _closed(self) -> None:
        self.link.close()
        await self._connector.close()
