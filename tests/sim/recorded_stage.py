"""A host in virtual time whose machine is busy and late in every way, with one sandbox that records its run."""

import random
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from sandbox.cluster.config import HostConfig
from sandbox.cluster.environment import InlineWorkers
from sandbox.cluster.notices import Notice
from sandbox.control.actions import parse_action
from sandbox.control.branch_orders import AnyOrder
from sandbox.control.questions import (
    FindMessages,
    Frames,
    OffsetFile,
    PlanCrash,
    PlanRebalance,
    PlanReset,
    Question,
    RecentLag,
    Route,
    StartOffset,
    Transactions,
)
from sandbox.hosting.host import Host
from sandbox.journal.segments import lines, rows_since
from sandbox.kernel.clock import ScaledClock
from sandbox.kernel.errors import ActionRefused
from sandbox.sim.loop import SimLoop
from sandbox.simulation.world import BEGIN_MS, SimulatedEnvironment

T = TypeVar("T")

SLUG = "recorded"
LATE_S = 0.03
SLOW_S = 2.0
RATES = (0, 0.1, 1, 1, 5)


class BusyClock(ScaledClock):
    """Each look at it takes up to `look_s`, so that slices end anywhere.

    In one instant of the loop they take `SLOW_S` at most: a sandbox that is always behind would fill it for ever.
    """

    def __init__(self, loop: SimLoop, chance: random.Random, look_s: float) -> None:
        self._chance = chance
        self.look_s = look_s
        self._taken_s = 0.0
        self._instant = 0.0, 0.0  # and what was taken before it
        super().__init__(loop, start_ms=BEGIN_MS)

    def monotonic(self) -> float:
        now_s = super().monotonic()
        if now_s > self._instant[0]:
            self._instant = now_s, self._taken_s
        if self._taken_s < self._instant[1] + SLOW_S:
            self._taken_s += self._chance.random() * self.look_s
        return now_s + self._taken_s


class SilentBell:
    def ring(self) -> None:
        return None


class LateWorkers:
    """Threads that end when they like."""

    def __init__(self, loop: SimLoop, chance: random.Random) -> None:
        self._loop = loop
        self._chance = chance

    def submit(self, work: Callable[[], T]) -> "Future[T]":
        future: Future[T] = Future()
        done = InlineWorkers().submit(work)
        self._loop.call_later(self._chance.random() * LATE_S, lambda: future.set_result(done.result()))
        return future

    def submit_long(self, work: Callable[[Callable[[], bool]], T]) -> "Future[T]":
        return self.submit(lambda: work(lambda: False))


class Recorded:
    """`luck`: of the machine, not of the sandbox."""

    def __init__(
        self,
        home: Path,
        template: str,
        *,
        seed: int | str | None,
        luck: int,
        config: HostConfig | None = None,
        look_s: float = 0.001,
        history: bool = False,
    ) -> None:
        self.directory = home / "sandboxes" / SLUG
        self._home = home
        self._config = config or HostConfig()
        self._chance = random.Random(luck)
        self._look_s = look_s
        self._start()
        self.create(SLUG, template, seed=seed, history=history)

    def _start(self) -> None:
        self.machine = SimulatedEnvironment(1, (0, 0))
        self._clock = BusyClock(self.machine.sim, self._chance, self._look_s)
        self.machine.wall = self.machine.outside = self._clock
        self.machine.workers = LateWorkers(self.machine.sim, self._chance)
        self.host = Host(self._home, self._config, self.machine)
        self._on_loop(self.host.start)

    def create(
        self, slug: str, template: str, *, seed: int | str | None = None, history: bool = True, **given: Any
    ) -> None:
        self.machine.sim.run(
            self.host.create(
                slug,
                template,
                preset="sandbox",
                seed=seed,
                history=history,
                **{"changes": None, "limits": None, **given},
            )
        )

    def run(self, seconds: float) -> None:
        self.machine.sim.run_for(seconds)

    def starve(self, seconds: float) -> None:
        """The machine gives it slices for so many seconds of its loop, a fifth of what it asks for."""
        sandbox: Any = self.host.awake(SLUG)
        pace, paced = sandbox._pace, sandbox._paced
        pace._began_s -= seconds / 0.2
        until_s = paced.sim.time() + seconds
        paced.run_some(pace._next_ms(), lambda: paced.sim.time() < until_s)

    def act(self, action: str, **fields: Any) -> bool:
        """Execute an action; return whether it was accepted."""
        typed = parse_action({"action": action, **fields})
        with suppress(ActionRefused):
            self._on_loop(lambda: self.host.awake(SLUG).act(typed, "owner test"))
            return True
        return False

    def watch(self, slug: str = SLUG) -> None:
        """Keep it from falling asleep."""
        self._on_loop(lambda: self.host.subscribe(slug, SilentBell()))

    def make(self, slug: str, order: AnyOrder) -> None:
        """A branch, to its end."""
        self.machine.sim.run(self.host.branches.begin(slug, order))
        while (change := self.host._registry.get(slug).change) is not None:
            self.machine.sim.run(_over(change))

    def journal(self, slug: str = SLUG) -> list[bytes]:
        """All that was written so far, also what is not on the disk yet."""
        slot = self.host._registry.get(slug)
        if slot.sandbox is not None:
            slot.sandbox.cluster.journal_files.show()
        return list(lines(self.directory.with_name(slug) / "journal"))

    def rows(self, slug: str = SLUG) -> list[dict[str, Any]]:
        """The same, read."""
        self.journal(slug)
        return list(rows_since(self.directory.with_name(slug) / "journal", 0))

    def look(self) -> None:
        """As pages do: some channels, some questions, the journal."""
        snapshot = self.host.snapshot(SLUG)
        group, topic, actor, broker = _places(self._chance, snapshot)
        names = [
            "board/{}/" + f"{group}/{topic}",
            "locks/{}/" + group,
            "rebalance/{}/" + group,
            "store/{}/" + broker,
            f"store/{{}}/{broker}/disk",
            "index/{}/" + broker,
            "client/{}/" + actor,
            "groups/{}",
            "topics/{}",
            "topology/{}",
            "wire/{}",
            f"wire/{{}}/{quote(f'{actor}~{broker}', safe='')}",
            "connect/{}",
            "facts/{}",
            "messages/{}?topic=" + topic,
        ]
        channels = [name.format(SLUG) for name in self._chance.sample(names, 4)]
        self.machine.sim.run(self.host.read(channels))
        questions: list[Question] = [
            PlanReset(group=group, topic=topic, target="latest"),
            PlanRebalance(group=group, topic=topic, add=1),
            PlanCrash(actor=actor),
            FindMessages(topic=topic, from_ms=0),
            Route(topic=topic, everywhere=True),
            OffsetFile(owner=broker),
            Transactions(),
            RecentLag(group=group, topic=topic),
            StartOffset(group=group, topic=topic, broker=broker, queue_id=0),
            Frames(link=f"{actor}~{broker}"),
        ]
        for question in self._chance.sample(questions, 3):
            with suppress(ActionRefused):
                self.machine.sim.run(self.host.ask(SLUG, question))
        self.machine.sim.run(self.host.past.entries(SLUG, 0, 100, facts_only=True))

    def sleep(self) -> None:
        self.machine.sim.run(self.host.sleep(SLUG, "test"))

    def wake(self) -> None:
        self.machine.sim.run(self.host.wake(SLUG))

    def kill(self) -> None:
        """The server's process ends: another one finds the files."""
        self._on_loop(self.host.awake(SLUG).crash)
        self.machine.sim.run_until_idle()
        self.machine.close()
        self._start()

    def calm(self) -> None:
        """From now on the machine has nothing else to do."""
        self._clock.look_s = 0.0

    def fill_home(self) -> None:
        sandbox = self.host.awake(SLUG)
        self._on_loop(lambda: sandbox.set_home_full(Notice("full", {}, dismissible=False)))

    def close(self) -> None:
        self.machine.sim.run(self.host.close())
        self.machine.sim.run_for(1)
        self.machine.close()

    def _on_loop(self, fn: Callable[[], T]) -> T:
        async def turn() -> T:
            return fn()

        return self.machine.sim.run(turn())


async def _over(change: Any) -> None:
    await change


Drawn = tuple[str, dict[str, Any]]


def drawn_action(chance: random.Random, snapshot: Any) -> Drawn:
    """Anything a visitor may do, on what there is."""
    group, topic, actor, _ = _places(chance, snapshot)
    broker = chance.choice([(node["broker"], node["broker_id"]) for node in snapshot["brokers"]])
    node: dict[str, Any] = {"broker": broker[0], "broker_id": broker[1]}
    link = {"a": actor, "b": broker[0]}
    choices: list[Drawn] = [
        *((name, {"actor": actor}) for name in ("CrashActor", "RestartActor", "StopActor", "HangActor", "ResumeActor")),
        *(
            (name, node)
            for name in (
                "KillBroker",
                "StopBroker",
                "StartBroker",
                "StartBroker",
                "HangBroker",
                "ResumeBroker",
                "PowerCut",
            )
        ),
        ("StopNameServer", {"name_server": "ns-1"}),
        ("StartNameServer", {"name_server": "ns-1"}),
        ("StartConsumer", {"group": group}),
        ("CutLink", link),
        ("HealLink", link),
        ("DelayLink", {**link, "delay_ms": 200}),
        ("SkewClock", {**node, "skew_ms": chance.choice((-90_000, 60_000))}),
        ("FillDisk", {"broker": broker[0]}),
        ("FreeDisk", {"broker": broker[0]}),
        ("SetRate", {"rate": chance.choice(RATES)}),
        ("SetRate", {"rate": 1}),
        ("Step", {"until": "ms", "ms": chance.randrange(1, 3_000)}),
        ("Step", {"until": "fact", "ms": 5_000}),
        ("SendMessages", {"topic": topic, "count": chance.randrange(1, 40)}),
        ("SendMessages", {"topic": topic, "rows": [{"body": f"row {n}", "key": f"k{n}"} for n in range(15)]}),
        ("CreateTopic", {"topic": f"made-{chance.randrange(3)}", "write_queues": 2, "read_queues": 2}),
        ("CreateTopic", {"topic": "large", "write_queues": 64, "read_queues": 64}),
        (
            "ResetOffsets",
            {
                "group": group,
                "topic": topic,
                "confirm": group,
                "target": chance.choice(("earliest", "latest")),
                "method": chance.choice(("online", "offline")),
            },
        ),
        ("SetStrategy", {"group": group, "strategy": chance.choice(("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"))}),
        ("ChangeActor", {"actor": actor, "work_ms": [chance.randrange(1, 500)]}),
    ]
    return chance.choice(choices)


def _places(chance: random.Random, snapshot: Any) -> tuple[str, str, str, str]:
    """A group, a topic, a member and a broker that there are."""
    members = [(group["group"], member["actor"] or "A") for group in snapshot["groups"] for member in group["members"]]
    group, actor = chance.choice(members or [("g", "A")])
    topic = chance.choice([topic["topic"] for topic in snapshot["topics"]] or ["orders"])
    return group, topic, actor, chance.choice([node["broker"] for node in snapshot["brokers"]])


def played(
    home: Path, template: str, seed: int, *, luck: int = 0, looks: bool = True, actions: int = 12, seconds: float = 4.0
) -> Path:
    """Directory of a sandbox with which anything was done."""
    script = random.Random(seed)
    stage = Recorded(home, template, seed=seed, luck=luck or seed)
    stage.run(script.random() * seconds)
    for _ in range(actions):
        if script.random() < 0.12:
            stage.sleep()
            stage.run(script.random() * seconds)
            stage.wake()
        else:
            name, fields = drawn_action(script, stage.host.snapshot(SLUG))
            stage.act(name, **fields)
        if looks:
            stage.look()
        stage.run(script.random() * seconds)
    stage.close()
    return stage.directory
