"""Which sandboxes an engine has, where engines of several machines share a data home (`hosting.lease`).

Taken at first need and given back asleep, so a sandbox moves only asleep.  The engine opens nothing else.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from sandbox.cluster.environment import Environment
from sandbox.hosting.lease import Lease, LeaseUnreachable
from sandbox.hosting.reclaimed_copies import take_over
from sandbox.hosting.registry import Registry, Slot
from sandbox.kernel.errors import EngineBusy

T = TypeVar("T")

log = logging.getLogger(__name__)

DRAINING = "This engine accepts no new sandboxes. Try again in a moment."
NO_TABLE = "The database does not answer, so the engine of the sandbox is unknown. Try again in a moment."


class Holding:
    """All on the engine's loop."""

    def __init__(
        self, lease: Lease, registry: Registry, environment: Environment, woken: Callable[[str], object]
    ) -> None:
        """`woken`: called with a sandbox that is to be opened without a visit: its ports are open."""
        self._lease = lease
        self._registry = registry
        self._environment = environment
        self._woken = woken
        self._busy: dict[str, asyncio.Task[None]] = {}
        self.is_draining = False

    async def hold(self, slug: str, *, new: bool) -> None:
        """Nothing where it is held, or where there is no such sandbox and none is to be made.

        Raises HeldElsewhere, LeaseLost, EngineBusy, OSError: it could not be copied, and others may try.
        """
        await self._one_at_a_time(slug, lambda: self._take(slug, new=new))

    async def give_back(self, slot: Slot) -> None:
        """It sleeps, and stays unknown here until it is held again."""
        self._registry.remove(slot.slug)
        await self._one_at_a_time(slot.slug, lambda: self._asked(lambda: self._lease.give_back(slot.slug)))

    async def forget(self, slug: str) -> None:
        """It is deleted, or was never made."""
        await self._one_at_a_time(slug, lambda: self._asked(lambda: self._lease.forget(slug)))

    async def drain(
        self, slots: list[Slot], sleep: Callable[[str], Awaitable[None]], moved: Callable[[str], None]
    ) -> None:
        """Close all cleanly, one after the other, for others to have; `moved` gets each when it is free."""
        self.is_draining = True
        for slot in slots:
            try:
                await sleep(slot.slug)
                await self.give_back(slot)
            except Exception:
                log.exception("%s was not given back", slot.slug)
            else:
                moved(slot.slug)

    async def _one_at_a_time(self, slug: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Goes on where its caller is cancelled."""
        while slug in self._busy:
            await asyncio.wait([self._busy[slug]])
        task = self._busy[slug] = asyncio.get_running_loop().create_task(work())
        task.add_done_callback(lambda _: self._busy.pop(slug, None))
        await asyncio.shield(task)

    async def _take(self, slug: str, *, new: bool) -> None:
        root = self._registry.root_of(slug)
        if self._registry.has(slug):
            self._keep(slug)
            return
        if not (new or root.exists()):
            return
        if self.is_draining:
            raise EngineBusy(DRAINING)
        fence = await self._asked(lambda: self._take_files(slug))
        if root.exists():
            self._registry.adopt(slug, fence)
            self._keep(slug)
            if self._registry.get(slug).listening:
                self._woken(slug)

    def _keep(self, slug: str) -> None:
        """Count the sandbox as just visited: the caller is about to wake it, so it must not be released as idle."""
        self._registry.get(slug).looked_s = self._environment.wall.monotonic()

    def _take_files(self, slug: str) -> int:
        """The number of the claim.  On a worker's thread."""
        held = self._lease.claim(slug)
        if held.is_clean or not self._registry.root_of(slug).exists():
            return held.fence
        log.warning("%s was with an engine that is gone: its files are copied", slug)
        try:
            take_over(self._registry.root_of(slug), held.fence, self._lease.check)
        except OSError:
            self._lease.give_back(slug, is_clean=False)
            raise
        return held.fence

    async def _asked(self, work: Callable[[], T]) -> T:
        try:
            return await self._environment.run_blocking(work)
        except LeaseUnreachable as error:
            raise EngineBusy(NO_TABLE) from error
