"""Host of all sandboxes of one engine: opens and closes them, and runs the calls to them."""

import asyncio
import logging
import re
import shutil
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sandbox.attached.clusters import Clusters
from sandbox.attached.settings import is_attached
from sandbox.attached.wire import Wires, no_wire
from sandbox.cluster import record as records
from sandbox.cluster.config import HostConfig
from sandbox.cluster.environment import Environment
from sandbox.control.access_keys import Keys
from sandbox.control.channel_names import ChannelUnknown, NodeStopped, parse_channel
from sandbox.control.questions import Question, RecentLag
from sandbox.control.readings import Bell, Read, Reading, Refusal
from sandbox.hosting.awake_sandboxes import AwakeSandboxes
from sandbox.hosting.branches import Branches
from sandbox.hosting.data_home import DataHome
from sandbox.hosting.engine_share import Share
from sandbox.hosting.initial_files import Beginnings
from sandbox.hosting.interventions import Interventions
from sandbox.hosting.last_readings import read_last
from sandbox.hosting.past_states import Past
from sandbox.hosting.registry import NotHeld, Registry, Slot
from sandbox.hosting.sandbox import Sandbox
from sandbox.kernel.errors import ActionRefused, EngineBusy, SandboxError
from sandbox.queries.recent_lag import last_lag
from sandbox.queries.rows.host import HostStatus, ListeningRow, OpenedRow
from sandbox.queries.rows.messages import finish, unfinished
from sandbox.queries.rows.snapshot import Snapshot

if TYPE_CHECKING:
    from sandbox.hosting.claimed_sandboxes import Holding
    from sandbox.hosting.lease import Lease

log = logging.getLogger(__name__)

T = TypeVar("T")

RESTED_S = 60.0  # asleep without a view, before engines of other machines may have it

_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


class Host:
    """Engine's side of `EnginePort`.  Everything runs on the engine's loop."""

    def __init__(
        self,
        home: Path,
        config: HostConfig,
        environment: Environment,
        share: Share | None = None,
        lease: "Lease | None" = None,
        wires: Wires = no_wire,
    ) -> None:
        """Create a host.  `wires`: the connections to attached clusters."""
        self._home = home
        self._config = config
        self._environment = environment
        self._registry = Registry(home / "sandboxes", share, is_leased=lease is not None)
        self.holding = self._holding(lease) if lease is not None else None
        self._data_home = DataHome(home / "sandboxes", config.limits, share)
        self._measuring = asyncio.Lock()
        self.clusters = Clusters(environment.wall, wires=wires)
        self._beginnings = Beginnings(home, config, self._registry, environment)
        self.interventions = Interventions(environment, self.awake)
        self._slots = AwakeSandboxes(
            home, config, environment, self._registry, self._data_home, self.interventions.heal_left
        )
        self.branches = Branches(home, config, environment, self._registry, self._demand_room, self._slots.make_room)
        self.past = Past(self._registry, self.clusters, environment, config.limits)
        self._tasks: set[asyncio.Task[None]] = set()

    def _holding(self, lease: "Lease") -> "Holding":
        from sandbox.hosting.claimed_sandboxes import Holding  # only where engines share a data home: it needs threads

        return Holding(lease, self._registry, self._environment, lambda slug: self.run(self.wake(slug), Future()))

    def start(self) -> None:
        """Register all sandboxes as asleep, and wake those with open ports, because their clients may be waiting."""
        self._registry.scan()
        for slot in self._registry.all():
            if slot.listening:
                self.run(self.wake(slot.slug), Future())
        self._environment.wall.call_later(self._config.look_around_s, self._look_around)

    async def close(self) -> None:
        """Close all sandboxes at once, because the server stops."""
        await asyncio.gather(self._slots.close(), self.clusters.close(), return_exceptions=True)

    def run(self, coroutine: Coroutine[Any, Any, T], future: "Future[T]") -> None:
        """Run a coroutine to its end; set its outcome on `future`, unless that was cancelled."""

        async def settle() -> None:
            waited_for = future.set_running_or_notify_cancel()
            try:
                value = await coroutine
            except asyncio.CancelledError:
                if waited_for:
                    future.set_exception(EngineBusy("The engine is stopped."))
                raise
            except BaseException as error:
                if not isinstance(error, SandboxError):
                    log.exception("a coroutine failed")
                if waited_for:
                    future.set_exception(error)
            else:
                if waited_for:
                    future.set_result(value)

        task = self._environment.loop.create_task(settle())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def hold(self, slug: str, *, new: bool) -> None:
        if self.holding is not None and not is_attached(slug):
            await self.holding.hold(slug, new=new)

    async def drain(self, moved: Callable[[str], None]) -> None:
        if self.holding is not None:
            await self.holding.drain(self._registry.all(), lambda slug: self.sleep(slug, "moves"), moved)

    async def create(
        self,
        slug: str,
        template: str,
        *,
        preset: str,
        seed: str | int | None,
        changes: dict[str, object] | None,
        limits: dict[str, object] | None,
        history: bool = False,
    ) -> OpenedRow:
        await self._demand_room(slug)
        await self._beginnings.begin(
            slug, template, preset=preset, seed=seed, changes=changes, limits=limits, history=history
        )
        return await self.wake(slug)

    async def _demand_room(self, slug: str) -> None:
        """Check the name and the space for another sandbox.  Raises ActionRefused."""
        if not _SLUG.fullmatch(slug):
            raise ActionRefused(
                422,
                "{slug} is not a valid address.",
                "Use lower case letters, digits and dashes.",
                field="slug",
                slug=slug,
            )
        self._registry.demand_free(slug)
        await self._measure()
        if (full := self._data_home.full) is not None:
            raise ActionRefused(
                503,
                "All sandboxes of this server together use {used} MiB of {allowed} MiB.",
                "Delete a sandbox you no longer need, or come back later.",
                **full.values,
            )

    async def _measure(self) -> None:
        """Measure the disk use of all sandboxes and pass the result to those that are open."""
        async with self._measuring:
            slugs = [slot.slug for slot in self._registry.all()]
            awake = {slot.slug for slot in self._registry.awake()}
            await self._environment.run_blocking(lambda: self._data_home.measure(slugs, awake))
        for slot in self._registry.awake():
            if slot.sandbox is not None:
                slot.sandbox.set_home_full(self._data_home.full)

    async def wake(self, slug: str) -> OpenedRow:
        """Open a sandbox, or return the row of a real cluster."""
        return self.clusters.get(slug).row() if is_attached(slug) else await self._slots.wake(slug)

    async def sleep(self, slug: str, reason: str) -> None:
        await self._slots.sleep(slug, reason)

    async def open_listener(self, slug: str) -> ListeningRow:
        return await self._slots.open_listener(slug)

    async def close_listener(self, slug: str) -> ListeningRow:
        return await self._slots.close_listener(slug)

    def set_keys(self, slug: str, keys: Keys | None) -> None:
        self.awake(slug).set_keys(keys)

    def dismiss_notices(self, slug: str) -> None:
        self.awake(slug).dismiss_notices()

    async def delete(self, slug: str) -> None:
        try:
            await self._delete(self._registry.get(slug))
        finally:
            if self.holding is not None and not self._registry.root_of(slug).exists():
                await self.holding.forget(slug)

    async def _delete(self, slot: Slot) -> None:
        slug = slot.slug
        self.branches.cancel(slug)
        while slot.sandbox is not None or slot.change is not None:  # another caller may have opened it
            await self.sleep(slug, "deleted")
        self._registry.remove(slug)
        slot.ring()
        await self._environment.run_blocking(lambda: shutil.rmtree(self._registry.root_of(slug), ignore_errors=True))

    def awake(self, slug: str) -> Sandbox:
        """Return the open sandbox; the call counts as a view.  Raises ActionRefused: 404 if unknown, 503 if asleep."""
        return self._slots.awake(slug)

    async def ask(self, slug: str, question: Question) -> dict[str, object]:
        """Answer a question.  A worker decompresses message bodies, because the sender determines their size."""
        if is_attached(slug):
            answer = await self.clusters.ask(slug, question)
        elif isinstance(question, RecentLag) and self._registry.get(slug).state == "asleep":
            answer = last_lag(self._registry.directory(slug), question.group, question.topic)
        else:
            answer = self.awake(slug).ask(question)
        await self._finish(answer)
        return answer

    async def read(self, channels: list[str], *, last: bool = False) -> list[Reading | Refusal]:
        """Read all channels in one turn; as with `ask`, bodies are decompressed after it.

        `last`: of a sleeping sandbox, read them as they were when it fell asleep.
        """
        reads = [self._read(channel, last=last) for channel in channels]
        for reading in reads:
            if isinstance(reading, Reading):
                await self._finish(reading.data)
        return reads

    async def read_within(self, channels: list[str], budget_s: float) -> list[Read]:
        """Read one channel after the other until `budget_s` is used; an expensive one delays only those after it."""
        now_s = self._environment.wall.monotonic
        began_s = before_s = now_s()
        reads: list[Read] = []
        for channel in channels:
            [answer] = await self.read([channel])
            after_s = now_s()
            reads.append(Read(answer, after_s - before_s))
            before_s = after_s
            if after_s - began_s >= budget_s:
                break
        return reads

    async def _finish(self, answer: Mapping[str, object]) -> None:
        if rows := unfinished(answer):
            await self._environment.run_blocking(lambda: finish(rows, self._config.limits.unpacked_bytes))

    def _read(self, channel: str, *, last: bool) -> Reading | Refusal:
        try:
            kind, slug, rest = parse_channel(channel)
            if is_attached(slug):
                return self.clusters.read(slug, kind, rest)
            slot = self._registry.get(slug)
            if last and slot.state == "asleep":
                return read_last(self._registry.directory(slug), kind, rest)
            if slot.sandbox is None or slot.state != "live":
                return Refusal(slot.state if slot.state in ("failed", "waking") else "asleep")
            return slot.sandbox.read(kind, rest)
        except NodeStopped:
            return Refusal("stopped")
        except (ChannelUnknown, ActionRefused):
            return Refusal("unknown")
        except NotHeld:
            return Refusal("asleep")
        except Exception:
            log.exception("reading %s failed", channel)
            return Refusal("failed")

    def snapshot(self, slug: str) -> Snapshot:
        if is_attached(slug):
            return self.clusters.get(slug).snapshot()
        slot = self._registry.get(slug)
        if slot.sandbox is not None and slot.state == "live":
            self._slots.touch(slot)
            return slot.sandbox.snapshot()
        row = slot.identity()
        kept = records.load_snapshot(self._registry.directory(slug)) or {"sandbox": row}
        kept["sandbox"] = {
            **kept.get("sandbox", row),
            **row,
            "failed": slot.why_failed,
            "trouble": None,
            "trouble_why": None,
            "notices": [],
            "killed": slot.killed,
        }
        return cast(Snapshot, kept)

    def newest_seq(self, slug: str) -> int:
        if is_attached(slug):
            return self.clusters.get(slug).journal.next_seq - 1
        slot = self._registry.get(slug)
        if slot.sandbox is not None:
            return slot.sandbox.cluster.journal.next_seq - 1
        return int((records.load_snapshot(self._registry.directory(slug)) or {}).get("seq") or 0)

    def subscribe(self, slug: str, bell: Bell) -> None:
        if is_attached(slug):
            return self.clusters.get(slug).subscribe(bell)
        slot = self._registry.get(slug)
        slot.subscribe(bell)
        return self._slots.touch(slot)

    def unsubscribe(self, slug: str, bell: Bell) -> None:
        if is_attached(slug):
            self.clusters.unsubscribe(slug, bell)
        if slug in self._registry:
            slot = self._registry.get(slug)
            slot.unsubscribe(bell)
            self._slots.touch(slot)

    def status(self) -> HostStatus:
        slots, full = self._registry.all(), self._data_home.full
        used, limit = self._environment.descriptors()
        return {
            "awake": len(self._registry.awake()),
            "known": len(slots),
            "cap": self._slots.cap,
            "fds": used,
            "fd_limit": limit,
            "sandboxes": {slot.slug: slot.row() for slot in slots},
            "attached": self.clusters.rows(),
            "full": None if full is None else {"pattern": full.pattern, "values": full.values},
        }

    def _look_around(self) -> None:
        """Close sandboxes without viewers, give back those that sleep long, and measure the disk use."""
        if self._slots.is_closing:
            return
        for slot in self._slots.unwatched():
            self.run(self.sleep(slot.slug, "idle"), Future())
        if self.holding is not None:
            now_s = self._environment.wall.monotonic()
            for slot in [slot for slot in self._registry.all() if slot.is_idle and now_s - slot.looked_s > RESTED_S]:
                self.run(self.holding.give_back(slot), Future())
        if not self._measuring.locked():
            self.run(self._measure(), Future())
        self._environment.wall.call_later(self._config.look_around_s, self._look_around)
