"""A sandbox in virtual time with a seed, for tests, notebooks and `simulate`.

The sandbox is the real one; only its environment is simulated: loop, machine clock, network, disks.  The journal and
`sandbox.json` are real files under `home`, so that sleep, wake and crash can be tested.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from sandbox.cluster import record as records
from sandbox.cluster.cluster import Cluster
from sandbox.cluster.config import HostConfig
from sandbox.cluster.environment import InlineWorkers, Network, WithoutMachine, Workers
from sandbox.cluster.new_sandbox import new_record
from sandbox.cluster.power import WRITE_BACK_S
from sandbox.cluster.record import SandboxRecord
from sandbox.control.actions import Action, parse_action
from sandbox.control.channel_names import split_channel
from sandbox.control.questions import Question, parse_question
from sandbox.control.readings import Reading
from sandbox.hosting.sandbox import Sandbox
from sandbox.journal.events import Entry, Event, Position
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import Clock, ScaledClock
from sandbox.queries.rows.messages import finish, unfinished
from sandbox.queries.rows.snapshot import Snapshot
from sandbox.sim.disk import SimDisk
from sandbox.sim.loop import SimLoop
from sandbox.sim.network import SimNetwork
from sandbox.store.config import physical_memory_bytes
from sandbox.store.disk import Disk, Flusher, InlineFlusher

T = TypeVar("T")

BEGIN_MS = 1_795_000_000_000  # all worlds begin at the same time
SLUG = "world"


class SimulatedEnvironment(WithoutMachine):
    """The environment of a simulated sandbox.  Disks outlive the sandbox, as real ones do."""

    repeatable = False
    share: float | None = None

    def __init__(self, seed: int | str, latency_ms: tuple[float, float]) -> None:
        self.sim = SimLoop()
        self.loop: Any = self.sim
        self.wall: Clock = ScaledClock(self.sim, start_ms=BEGIN_MS)
        self.outside: Clock = self.wall
        self.memory_bytes = physical_memory_bytes()
        self.flusher: Flusher = InlineFlusher()
        self.workers: Workers = InlineWorkers()
        self.disks: dict[str, SimDisk] = {}
        self._chance = Chance(seed).fork("world")
        self._latency_ms = latency_ms
        self._networks = 0

    def position(self) -> Position | None:
        return None

    def disk(self, root: Path, clock: Clock) -> Disk:
        """Return the disk of a node, the same for all its processes."""
        name = f"{root.parent.name}/{root.name}"
        if name not in self.disks:
            self.disks[name] = SimDisk(self._chance.fork(f"disk {name}"), self.wall)
        return self.disks[name]

    def cut_power(self, disk: Disk, flushed: Mapping[str, int]) -> None:
        """Remove what a power cut removes from the disk.

        The seed decides which unflushed bytes survive.  Small files older than the kernel's write-back time survive.
        A younger one is whole, too, but may be an older version, or empty.
        """
        assert isinstance(disk, SimDisk), "worlds have no other disks"
        disk.write_back_files(older_than_ms=int(WRITE_BACK_S * 1000))
        disk.power_cut(small_files_whole=True)

    def network(self, clock: Clock) -> Network:
        self._networks += 1
        return SimNetwork(
            self.sim, self._chance.fork(f"network {self._networks}"), latency_ms=self._latency_ms, clock=clock
        )

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return work()

    async def run_long(self, work: Callable[[Callable[[], bool]], T]) -> T:
        return work(lambda: False)

    def close(self) -> None:
        self.sim.close()


class World:
    """One open sandbox, created from a template.  Use it as a context manager, or call `close`."""

    def __init__(
        self,
        home: Path,
        template: str = "empty",
        *,
        seed: int | str = 0,
        preset: str = "sandbox",
        latency_ms: tuple[float, float] = (0.0, 0.0),
        config: HostConfig | None = None,
        changes: dict[str, object] | None = None,
        record: SandboxRecord | None = None,
    ) -> None:
        """Create and open the sandbox.  `record`, instead of a template: a sandbox with other nodes or other files."""
        self._home = home
        self._config = config or HostConfig()
        self.environment = SimulatedEnvironment(seed, latency_ms)
        self._directory = home / "sandboxes" / SLUG
        self._directory.mkdir(parents=True)
        records.save(
            self._directory,
            record
            or new_record(
                SLUG,
                template,
                preset=preset,
                seed=seed,
                changes=changes,
                limits=None,
                config=self._config,
                ports_taken=set(),
                now_ms=BEGIN_MS,
            ),
        )
        self.sandbox = self._opened()

    def __enter__(self) -> "World":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def cluster(self) -> Cluster:
        return self.sandbox.cluster

    # Time.

    def run(self, seconds: float) -> None:
        """Advance the machine's time by `seconds`, and the sandbox's time by `seconds` times its rate."""
        self.environment.sim.run_for(seconds)

    def run_until(self, condition: Callable[[], bool], *, within_s: float, step_s: float = 0.25) -> float:
        """Advance time until `condition` is True; return the seconds it took.

        Raises AssertionError if the condition stays False for `within_s`.
        """
        passed_s = 0.0
        while not condition():
            assert passed_s < within_s, f"not within {within_s} s"
            self.run(step_s)
            passed_s += step_s
        return passed_s

    # Actions, questions, snapshots.

    def act(self, action: Action | str, /, **fields: Any) -> int:
        """Execute an action, given as a value, or by name and fields as in JSON; return its event number."""
        typed = parse_action({"action": action, **fields}) if isinstance(action, str) else action
        return self._on_loop(lambda: self.sandbox.act(typed, "owner world"))

    def ask(self, question: Question | str, /, **fields: Any) -> dict[str, object]:
        typed = parse_question(question, fields) if isinstance(question, str) else question
        answer = self._on_loop(lambda: self.sandbox.ask(typed))
        finish(unfinished(answer), self._config.limits.unpacked_bytes)
        return answer

    def read(self, channel: str) -> Reading:
        """Return a reading of a channel, named without the slug: `board/<group>/<topic>`, `messages?topic=orders`."""
        path, mark, query = channel.partition("?")
        kind, _, rest = path.partition("/")
        _, _, parts = split_channel((f"{kind}/{SLUG}/{rest}" if rest else f"{kind}/{SLUG}") + mark + query)
        reading = self._on_loop(lambda: self.sandbox.read(kind, parts))
        finish(unfinished(reading.data), self._config.limits.unpacked_bytes)
        return reading

    def snapshot(self) -> Snapshot:
        return self._on_loop(self.sandbox.snapshot)

    def entries(self, kind: type[Event] | None = None, *, since: int = 0) -> list[Entry]:
        """Return the journal's entries in memory, of one event type or all."""
        journal = self.cluster.journal
        return [
            entry
            for entry in journal.since(max(since, journal.first_in_memory))
            if kind is None or isinstance(entry.event, kind)
        ]

    # Sleep, wake, crash.

    def sleep(self, reason: str = "test") -> None:
        self.environment.sim.run(self.sandbox.close(reason))

    def kill(self) -> None:
        """End the sandbox as when the server is killed: page caches survive, memory does not."""
        self._on_loop(self.sandbox.crash)
        for disk in self.environment.disks.values():
            disk.kill()
        self.environment.sim.run_until_idle()

    def wake(self) -> None:
        self.sandbox = self._opened()

    def close(self) -> None:
        if not self.sandbox.ended:
            self._on_loop(self.sandbox.crash)
        self.environment.close()

    def _opened(self) -> Sandbox:
        sandbox = self._on_loop(lambda: Sandbox(self._directory, self._config, self.environment, home=self._home))
        self.environment.sim.run(sandbox.open())
        return sandbox

    def _on_loop(self, fn: Callable[[], T]) -> T:
        """Call a function in one turn of the loop, as the port does, since code it starts needs a running loop."""

        async def turn() -> T:
            return fn()

        return self.environment.sim.run(turn())
