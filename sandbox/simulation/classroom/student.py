"""A simulated student: actions in one sandbox, drawn from a seed."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, NamedTuple

from sandbox.kernel.chance import Chance
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.rows.snapshot import GroupRow
from sandbox.simulation.world import World

TEMPLATES = ("orders", "payments", "flights", "cluster", "retries", "shrink")
TEMPOS_S = (15.0, 30.0, 60.0)  # mean seconds between two steps, one of them per student
FIRST_S = 5.0
MOST_MEMBERS = 6  # of a group; a student adds none beyond
NO_NEWS = (404, 409, 422)  # not possible now: the student continues
USUAL_MS = (100, 600)
SLOW_MS = ((600, 1_500), (2_000, 4_000), (5_000, 9_000))
TAGS = ("paid", "late", "")


class Todo(NamedTuple):
    """An action planned for a time; `number` orders actions of equal time."""

    at_s: float
    number: int
    action: str
    fields: dict[str, object]


class Student:
    """A simulated student in one sandbox.

    `play` executes actions for some seconds; `done` counts those executed.
    """

    def __init__(self, world: World, chance: Chance) -> None:
        self._world = world
        self._chance = chance
        self._tempo_s = chance.choice(TEMPOS_S)
        self._liked = [step for step, weight in ACTIONS for _ in range(chance.below(weight + 1))] or [_crash]
        self._todo: list[Todo] = []
        self._number = 0
        self._now_s = 0.0
        self.done = 0

    def play(self, seconds: float) -> None:
        next_s = FIRST_S
        while next_s < seconds:
            self._pass_to(next_s)
            self._chance.choice(self._liked)(self)
            next_s += self._chance.between(0.3, 1.7) * self._tempo_s
        self._pass_to(seconds)

    def plan(self, after_s: float, action: str, **fields: Any) -> None:
        self._number += 1
        heappush(self._todo, Todo(self._now_s + after_s, self._number, action, fields))

    def _pass_to(self, until_s: float) -> None:
        while self._todo and self._todo[0].at_s <= until_s:
            todo = heappop(self._todo)
            self._run_to(todo.at_s)
            self._act(todo.action, todo.fields)
        self._run_to(until_s)

    def _run_to(self, at_s: float) -> None:
        if at_s > self._now_s:
            self._world.run(at_s - self._now_s)
            self._now_s = at_s

    def _act(self, action: str, fields: dict[str, object]) -> None:
        try:
            self._world.act(action, **fields)
            self.done += 1
        except ActionRefused as error:
            if error.status not in NO_NEWS:
                raise

    # Choices, read as a page shows them.

    def soon(self, low_s: float, high_s: float) -> float:
        return self._chance.between(low_s, high_s)

    def group(self) -> GroupRow | None:
        groups = [group for group in self._world.snapshot()["groups"] if group["members"]]
        return self._chance.choice(groups) if groups else None

    def member(self) -> str | None:
        group = self.group()
        return str(self._chance.choice(group["members"])["actor"]) if group is not None else None

    def broker(self) -> dict[str, object]:
        broker = self._chance.choice(self._world.snapshot()["brokers"])
        return {"broker": broker["broker"], "broker_id": broker["broker_id"]}

    def pick(self, *values: Any) -> Any:
        return self._chance.choice(values)

    def below(self, bound: int) -> int:
        return self._chance.below(bound)


Step = Callable[[Student], None]


def _there_and_back(action: str, back: str, low_s: float, high_s: float) -> Step:
    def step(student: Student) -> None:
        if (member := student.member()) is not None:
            student.plan(0.0, action, actor=member)
            student.plan(student.soon(low_s, high_s), back, actor=member)

    return step


_crash = _there_and_back("CrashActor", "RestartActor", 3.0, 90.0)
_stop = _there_and_back("StopActor", "RestartActor", 3.0, 60.0)
_hang = _there_and_back("HangActor", "ResumeActor", 5.0, 150.0)


def _slow(student: Student) -> None:
    if (member := student.member()) is not None:
        student.plan(0.0, "ChangeActor", actor=member, work_ms=list(student.pick(*SLOW_MS)))
        student.plan(student.soon(20.0, 180.0), "ChangeActor", actor=member, work_ms=list(USUAL_MS))


def _fail(student: Student) -> None:
    if (member := student.member()) is not None:
        student.plan(0.0, "ChangeActor", actor=member, fail_percent=student.pick(10, 40, 100))
        student.plan(student.soon(10.0, 90.0), "ChangeActor", actor=member, fail_percent=0)


def _add(student: Student) -> None:
    group = student.group()
    if group is not None and len(group["members"]) < MOST_MEMBERS:
        student.plan(0.0, "StartConsumer", group=group["group"], work_ms=list(student.pick(USUAL_MS, *SLOW_MS)))


def _remove(student: Student) -> None:
    group = student.group()
    if group is not None and len(group["members"]) > 1:
        student.plan(0.0, "RemoveActor", actor=group["members"][-1]["actor"])


def _reset(student: Student) -> None:
    group = student.group()
    if group is None or not group["subscription"]:
        return
    wish: dict[str, object] = student.pick(
        {"target": "earliest"},
        {"target": "latest"},
        {"target": "shift", "value": -1 - student.below(60)},
        {"target": "shift", "value": 1 + student.below(20)},
    )
    student.plan(
        0.0,
        "ResetOffsets",
        group=group["group"],
        topic=group["subscription"][0]["topic"],
        confirm=group["group"],
        **wish,
    )


def _burst(student: Student) -> None:
    group = student.group()
    if group is not None and group["subscription"]:
        student.plan(
            0.0,
            "SendMessages",
            topic=group["subscription"][0]["topic"],
            count=20 + student.below(180),
            tag=student.pick(*TAGS),
            key="burst-{n}",
            selector=student.pick("round_robin", "hash"),
        )


def _divide(student: Student) -> None:
    group = student.group()
    if group is not None:
        student.plan(
            0.0, "SetStrategy", group=group["group"], strategy=student.pick("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")
        )


def _kill_broker(student: Student) -> None:
    where = student.broker()
    student.plan(0.0, "KillBroker", **where)
    student.plan(student.soon(3.0, 40.0), "StartBroker", **where)


ACTIONS: tuple[tuple[Step, int], ...] = (
    (_crash, 5),
    (_slow, 4),
    (_reset, 4),
    (_burst, 4),
    (_stop, 3),
    (_add, 3),
    (_hang, 3),
    (_fail, 3),
    (_remove, 2),
    (_divide, 1),
    (_kill_broker, 1),
)
"""Upper bound of each action's weight."""
