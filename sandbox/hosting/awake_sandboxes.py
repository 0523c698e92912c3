"""The sandboxes that are open: how many an engine has room for, and which one is closed for another."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from sandbox.cluster.config import HostConfig
from sandbox.cluster.environment import Environment
from sandbox.cluster.lab_progress import LabProgress
from sandbox.hosting.branches import demand_complete
from sandbox.hosting.data_home import DataHome
from sandbox.hosting.paced_sandbox import PacedSandbox, in_virtual_time
from sandbox.hosting.registry import Registry, Slot
from sandbox.hosting.sandbox import Sandbox
from sandbox.kernel.errors import ActionRefused, SandboxError
from sandbox.queries.rows.host import ListeningRow, OpenedRow

log = logging.getLogger(__name__)


class AwakeSandboxes:
    """Opens and closes the sandboxes of an engine, at most `cap` at a time.

    `opened` is called with each sandbox that was just opened.
    """

    def __init__(
        self,
        home: Path,
        config: HostConfig,
        environment: Environment,
        registry: Registry,
        data_home: DataHome,
        opened: Callable[[Sandbox], None],
    ) -> None:
        self._home = home
        self._config = config
        self._environment = environment
        self._registry = registry
        self._data_home = data_home
        self._opened = opened
        self.cap = awake_cap(config, environment.descriptors()[1])
        self.is_closing = False

    async def close(self) -> None:
        """Close all sandboxes at once, because the server stops."""
        self.is_closing = True
        ends = [self.sleep(slot.slug, "server stop") for slot in self._registry.awake()]
        await asyncio.gather(*ends, return_exceptions=True)

    def unwatched(self) -> list[Slot]:
        """Return the open sandboxes that had no viewer for their idle time.  Watched ones count as viewed now."""
        now_s = self._environment.wall.monotonic()
        unwatched = []
        for slot in self._registry.awake():
            if slot.watched:
                slot.looked_s = now_s
            elif slot.sandbox is not None and now_s - slot.looked_s > slot.sandbox.cluster.limits.sleep_after_idle_s:
                unwatched.append(slot)
        return unwatched

    async def wake(self, slug: str) -> OpenedRow:
        slot = self._registry.get(slug)
        demand_complete(slot, self._registry.directory(slug))
        while slot.change is not None:  # being opened or closed: wait for that first
            await asyncio.shield(slot.change)
        self._registry.get(slug)  # it may have been deleted meanwhile
        if slot.sandbox is None:
            slot.change = self._environment.loop.create_task(self._open(slot))
            await asyncio.shield(slot.change)
        self.touch(slot)
        return slot.row()

    async def _open(self, slot: Slot) -> None:
        try:
            await self.make_room()
        except BaseException:
            slot.change = None
            raise
        try:
            slot.state = "waking"
            kind = in_virtual_time if slot.is_paced else Sandbox
            sandbox = kind(self._registry.directory(slot.slug), self._config, self._environment, home=self._home)
            sandbox.set_home_full(self._data_home.full)
            await sandbox.open()
            slot.opened(sandbox, self._environment.wall.monotonic())
            self._opened(sandbox)
        except Exception as error:
            expected = isinstance(error, SandboxError | OSError)
            log.error("opening %s failed: %s", slot.slug, error, exc_info=None if expected else error)
            slot.failed(str(error) if expected else f"{type(error).__name__}: {error}")
            raise ActionRefused(
                409,
                "The sandbox cannot be opened: {why}.",
                "Try again, or delete the sandbox in its settings.",
                why=str(error).removesuffix("."),
            ) from error
        finally:
            slot.change = None

    async def make_room(self) -> None:
        """At the limit, close the sandbox viewed longest ago; raise ActionRefused (503) if all have viewers."""
        while len(self._registry.awake()) >= self.cap and not self.is_closing:
            idle = [slot for slot in self._registry.awake() if not slot.watched and slot.change is None]
            if not idle:
                raise ActionRefused(
                    503, "All {cap} sandbox slots are in use and watched.", "Try again in a few minutes.", cap=self.cap
                )
            await self.sleep(min(idle, key=lambda slot: slot.looked_s).slug, "room for others")

    async def sleep(self, slug: str, reason: str) -> None:
        slot = self._registry.get(slug)
        while slot.change is not None:
            await asyncio.shield(slot.change)
        if slot.sandbox is not None:
            slot.change = self._environment.loop.create_task(self._close(slot, slot.sandbox, reason))
            await asyncio.shield(slot.change)

    async def _close(self, slot: Slot, sandbox: Sandbox, reason: str) -> None:
        slot.state = "going to sleep"
        try:
            await sandbox.close(reason)
        except Exception:
            log.exception("closing %s failed; its next wake recovers it", slot.slug)
            sandbox.crash()
        finally:
            slot.closed(sandbox.record)
            slot.change = None
            slot.ring()

    def awake(self, slug: str) -> Sandbox:
        """Return the open sandbox; the call counts as a view.  Raises ActionRefused: 404 if unknown, 503 if asleep."""
        slot = self._registry.get(slug)
        if slot.sandbox is None or slot.state != "live":
            raise ActionRefused(503, "The sandbox is {state}.", "Wake the sandbox first.", state=slot.state)
        self.touch(slot)
        return slot.sandbox

    def touch(self, slot: Slot) -> None:
        slot.looked_s = self._environment.wall.monotonic()

    async def open_listener(self, slug: str) -> ListeningRow:
        """Open a sandbox's ports.  A sandbox in virtual time first sleeps, and wakes in the machine's time."""
        slot = self._registry.get(slug)
        self.awake(slug).cluster.companion(LabProgress).check_alone()
        slot.with_ports, was_paced = True, isinstance(self.awake(slug), PacedSandbox)
        try:
            if was_paced:
                await self._again(slug, "ports open")
            sandbox = self.awake(slug)
            await sandbox.open_listeners()
        except BaseException:
            slot.with_ports = False
            if was_paced:
                await self._again(slug, "ports closed")
            raise
        return {"open": sandbox.cluster.listeners.is_open, "name_servers": list(sandbox.cluster.listeners.name_servers)}

    async def _again(self, slug: str, reason: str) -> None:
        await self.sleep(slug, reason)
        await self.wake(slug)

    async def close_listener(self, slug: str) -> ListeningRow:
        slot = self._registry.get(slug)
        while slot.change is not None:
            await asyncio.shield(slot.change)
        if slot.sandbox is not None:
            await slot.sandbox.close_listeners()
            slot.with_ports = False
            if slot.sandbox.record.repeatable and not isinstance(slot.sandbox, PacedSandbox):
                await self._again(slug, "ports closed")
        else:
            slot.stop_listening(self._registry.directory(slug))
        return {"open": False, "name_servers": []}


def awake_cap(config: HostConfig, descriptors: int) -> int:
    """Return how many sandboxes the machine can keep awake with this limit of descriptors."""
    limits = config.limits
    supported = (descriptors - limits.descriptors_reserved) // limits.descriptors_per_sandbox
    return max(1, min(limits.awake_sandboxes, supported))
