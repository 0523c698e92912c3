"""Sandboxes that an engine has claimed, if engines of several machines share a data home (`hosting.lease`).

A sandbox is claimed at first need and given back asleep, so it moves only asleep.  The engine opens no others.
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
    """Claimed sandboxes of an engine.  All methods run on the engine's loop."""

    def __init__(
        self, lease: Lease, registry: Registry, environment: Environment, woken: Callable[[str], object]
    ) -> None:
        """Create it without claims.

        `woken` is called with a sandbox that must be opened without a visit, because its ports are open.
        """
        self._lease = lease
        self._registry = registry
        self._environment = environment
        self._woken = woken
        self._busy: dict[str, asyncio.Task[None]] = {}
        self.is_draining = False

    async def hold(self, slug: str, *, new: bool) -> None:
        """Claim a sandbox; do nothing if it is claimed already, or if it does not exist and is not `new`.

        Raises HeldElsewhere, LeaseLost, EngineBusy, or OSError if its files could not be copied; then others may try.
        """
        await self._one_at_a_time(slug, lambda: self._take(slug, new=new))

    async def give_back(self, slot: Slot) -> None:
        """Give back a sleeping sandbox; this engine does not serve it until it claims it again."""
        self._registry.remove(slot.slug)
        await self._one_at_a_time(slot.slug, lambda: self._asked(lambda: self._lease.give_back(slot.slug)))

    async def forget(self, slug: str) -> None:
        """Remove the claim of a sandbox that is deleted or was never created."""
        await self._one_at_a_time(slug, lambda: self._asked(lambda: self._lease.forget(slug)))

    async def drain(
        self, slots: list[Slot], sleep: Callable[[str], Awaitable[None]], moved: Callable[[str], None]
    ) -> None:
        """Close all sandboxes cleanly, one after the other, and give them back; call `moved` with each."""
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
        """Run `work` when no other work on this sandbox runs.  It continues if its caller is cancelled."""
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
        """Claim a sandbox on a worker's thread; return the number of the claim.

        If the previous engine never gave the sandbox back, its files are copied.
        """
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
