"""Bells: callbacks that wake the hub's loop from the engine's thread when a sandbox has new events."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from sandbox.kernel.errors import SandboxError

if TYPE_CHECKING:
    from sandbox.hosting.port import EnginePort


class SlugBell:
    """A bell of one sandbox, rung in the engine's thread at every event.

    It wakes the hub's loop at most once until it is reset.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, heard: Callable[[], None]) -> None:
        self._loop = loop
        self._heard = heard
        self._rung = False

    def ring(self) -> None:
        if not self._rung:
            self._rung = True
            try:
                self._loop.call_soon_threadsafe(self._heard)
            except RuntimeError:  # the loop is closed: no one can hear it
                return

    def listen_again(self) -> None:
        self._rung = False


class Bells:
    """The bells of a hub: one for each sandbox that is watched or about to be watched."""

    def __init__(self, port: "EnginePort", loop: asyncio.AbstractEventLoop, heard: Callable[[str], None]) -> None:
        self._port = port
        self._loop = loop
        self._heard = heard
        self._bells: dict[str, tuple[SlugBell, asyncio.Future[None]]] = {}

    def __contains__(self, slug: str) -> bool:
        return slug in self._bells

    async def listen(self, slug: str, patience_s: float) -> bool:
        """Subscribe to the events of `slug`, and return True if the engine rings for it now.

        Concurrent callers wait for the same subscription.
        """
        if slug not in self._bells:
            bell = SlugBell(self._loop, lambda: self._heard(slug))
            subscribed = asyncio.wrap_future(self._port.subscribe(slug, bell))
            subscribed.add_done_callback(lambda done: done.cancelled() or done.exception())  # its waiter may be gone
            self._bells[slug] = bell, subscribed
        try:
            await asyncio.wait_for(asyncio.shield(self._bells[slug][1]), patience_s)
        except (SandboxError, TimeoutError):
            return False
        return True

    def listen_again(self, slug: str) -> None:
        """Reset the bell before the sandbox is read, so that later events ring again."""
        if slug in self._bells:
            self._bells[slug][0].listen_again()

    def drop(self, slug: str) -> None:
        """Remove the bell without waiting for the engine, which processes calls in their order."""
        bell, subscribed = self._bells.pop(slug)
        subscribed.cancel()
        self._port.unsubscribe(slug, bell)
