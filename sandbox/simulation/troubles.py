"""The faults of a run: each is one step, or a step and the step that ends it."""

from collections.abc import Callable
from typing import Any, NamedTuple

from sandbox.kernel.chance import Chance
from sandbox.simulation.setup import QUICK, TOPIC, UNEVEN, USUAL, GroupShape, Setup

CALM_RESET = "calm reset"  # the kind of a reset without faults around it
ENDING = "ending"  # the kind of a step that ends another one

# Steps executed by the player; all others are actions of the sandbox.
KILL_PROCESS = "KillProcess"
SHRINK_READ = "ShrinkReadQueues"

SHORT_S, LONG_S = (3.0, 45.0), (125.0, 170.0)  # a member is forgotten after 120 s, a lock after 60 s


class Step(NamedTuple):
    """One step of a script.  `action`: an action's name, or one of the names above."""

    at_s: float
    kind: str
    action: str
    fields: dict[str, Any]


FaultMaker = Callable[["Draw", float], list[Step]]


class Draw:
    """A source of random parameters for faults."""

    def __init__(self, setup: Setup, chance: Chance) -> None:
        self.setup = setup
        self.chance = chance
        self._bursts = 0

    # Choices.

    def member(self) -> str:
        return self.chance.choice(self.setup.members)

    def broker(self) -> dict[str, object]:
        """Draw a broker, as the fields of an action."""
        name, _, number = self.chance.choice(self.setup.nodes).partition(".")
        return {"broker": name, "broker_id": int(number)} if number else {"broker": name}

    def master(self) -> str:
        return self.chance.choice(self.setup.brokers)

    def link(self) -> dict[str, object]:
        """Draw two nodes that connect to each other, in either order."""
        setup, chance = self.setup, self.chance
        clients = (*setup.members, *setup.producers)
        pairs = [(client, node) for client in clients for node in (*setup.nodes, *setup.name_servers)]
        pairs += [(node, server) for node in setup.nodes for server in setup.name_servers] * 2
        pairs += [(name, f"{name}.1") for name in setup.slaves] * 4
        a, b = chance.choice(pairs)
        return {"a": a, "b": b} if chance.random() < 0.5 else {"a": b, "b": a}

    def group(self) -> GroupShape:
        return self.chance.choice(self.setup.counting or self.setup.groups)

    def while_s(self, at_s: float, *, long: float = 0.3) -> float:
        """Draw the end of a fault that began at `at_s`: soon, or (with probability `long`) after all timeouts."""
        low, high = LONG_S if self.chance.random() < long else SHORT_S
        return at_s + self.chance.between(low, high)

    def resettable(self) -> GroupShape:
        return self.chance.choice(self.setup.resettable or self.setup.groups)

    def burst_name(self) -> str:
        self._bursts += 1
        return f"burst{self._bursts}-{{n}}"

    def calm_reset(self, at_s: float, group: GroupShape) -> Step:
        return Step(at_s, CALM_RESET, "ResetOffsets", self.reset_fields(group, back=self.chance.random() < 0.7))

    def reset_fields(self, group: GroupShape, *, back: bool) -> dict[str, object]:
        fields: dict[str, object] = {"group": group.name, "topic": TOPIC, "confirm": group.name}
        if back:
            target = self.chance.choice(("shift", "shift", "earliest"))
            return fields | {"target": target} | ({"value": -1 - self.chance.below(40)} if target == "shift" else {})
        target = self.chance.choice(("shift", "latest"))
        return fields | {"target": target} | ({"value": 1 + self.chance.below(20)} if target == "shift" else {})


def _one(action: str, fields: Callable[[Draw], dict[str, object]]) -> FaultMaker:
    return lambda draw, at_s: [Step(at_s, "", action, fields(draw))]


def _there_and_back(
    draw: Draw, at_s: float, action: str, back: str, fields: dict[str, Any], *, long: float = 0.3
) -> list[Step]:
    return [Step(at_s, "", action, fields), Step(draw.while_s(at_s, long=long), ENDING, back, fields)]


def _hang(draw: Draw, at_s: float) -> list[Step]:
    return _there_and_back(draw, at_s, "HangActor", "ResumeActor", {"actor": draw.member()}, long=0.6)


def _crash(draw: Draw, at_s: float) -> list[Step]:
    return _there_and_back(draw, at_s, "CrashActor", "RestartActor", {"actor": draw.member()})


def _stop(draw: Draw, at_s: float) -> list[Step]:
    return _there_and_back(draw, at_s, "StopActor", "RestartActor", {"actor": draw.member()})


def _crash_producer(draw: Draw, at_s: float) -> list[Step]:
    fields = {"actor": draw.chance.choice(draw.setup.producers)}
    return _there_and_back(draw, at_s, "CrashActor", "RestartActor", fields, long=0.0)


def _slow_member(draw: Draw, at_s: float) -> list[Step]:
    member = draw.member()
    slow = draw.chance.choice(((600,), UNEVEN, (2_000, 4_000)))
    return [
        Step(at_s, "", "ChangeActor", {"actor": member, "work_ms": list(slow)}),
        Step(draw.while_s(at_s), ENDING, "ChangeActor", {"actor": member, "work_ms": list(USUAL)}),
    ]


def _slow_key(draw: Draw, at_s: float) -> list[Step]:
    """Return steps that make the messages of one key slow for a while.

    They change the whole group: any member may get the key.
    """
    group, chance = draw.group(), draw.chance
    key = f"customer-{chance.below(12):02}" if draw.setup.selector == "hash" else f"order-{10 + chance.below(200)}"
    slow = {"slow_key": key, "slow_ms": chance.choice((3_000, 20_000, 70_000))}
    quick_s = draw.while_s(at_s)
    return [
        *(Step(at_s, ENDING, "ChangeActor", {"actor": label} | slow) for label in group.labels),
        *(Step(quick_s, ENDING, "ChangeActor", {"actor": label, "slow_key": ""}) for label in group.labels),
    ]


def _failing(draw: Draw, at_s: float) -> list[Step]:
    member, back_s = draw.member(), draw.while_s(at_s, long=0.1)
    percent = draw.chance.choice((20, 60, 100))
    return [
        Step(at_s, "", "ChangeActor", {"actor": member, "fail_percent": percent}),
        Step(back_s, ENDING, "ChangeActor", {"actor": member, "fail_percent": 0}),
    ]


def _kill_broker(draw: Draw, at_s: float) -> list[Step]:
    return _there_and_back(draw, at_s, "KillBroker", "StartBroker", draw.broker(), long=0.15)


def _restart_broker(draw: Draw, at_s: float) -> list[Step]:
    return _there_and_back(draw, at_s, "StopBroker", "StartBroker", draw.broker(), long=0.15)


def _power_cut(draw: Draw, at_s: float) -> list[Step]:
    fields = draw.broker()
    return [Step(at_s, "", "PowerCut", fields), Step(draw.while_s(at_s, long=0.15), ENDING, "StartBroker", fields)]


def _hang_broker(draw: Draw, at_s: float) -> list[Step]:
    return _there_and_back(draw, at_s, "HangBroker", "ResumeBroker", draw.broker())


def _name_server(draw: Draw, at_s: float) -> list[Step]:
    fields = {"name_server": draw.chance.choice(draw.setup.name_servers)}
    return _there_and_back(draw, at_s, "StopNameServer", "StartNameServer", fields)


def _skew(draw: Draw, at_s: float) -> list[Step]:
    fields, skew_ms = draw.broker(), draw.chance.choice((-90_000, -20_000, -2_000, 2_000, 20_000, 50_000, 200_000))
    return [
        Step(at_s, "", "SkewClock", fields | {"skew_ms": skew_ms}),
        Step(draw.while_s(at_s), ENDING, "SkewClock", fields | {"skew_ms": 0}),
    ]


def _cut(draw: Draw, at_s: float) -> list[Step]:
    ends = draw.link()
    return [Step(at_s, "", "CutLink", ends | {"one_way": False}), Step(draw.while_s(at_s), ENDING, "HealLink", ends)]


def _cut_one_way(draw: Draw, at_s: float) -> list[Step]:
    ends = draw.link()
    return [Step(at_s, "", "CutLink", ends | {"one_way": True}), Step(draw.while_s(at_s), ENDING, "HealLink", ends)]


def _delay(draw: Draw, at_s: float) -> list[Step]:
    ends, one_way = draw.link(), draw.chance.random() < 0.4
    delay_ms = draw.chance.choice((50, 400, 1_600, 3_500))  # the last: longer than most timeouts
    return [
        Step(at_s, "", "DelayLink", ends | {"delay_ms": delay_ms, "one_way": one_way}),
        Step(draw.while_s(at_s), ENDING, "HealLink", ends),
    ]


def _full_disk(draw: Draw, at_s: float) -> list[Step]:
    return _there_and_back(draw, at_s, "FillDisk", "FreeDisk", {"broker": draw.master()}, long=0.1)


def _grow(draw: Draw, at_s: float) -> list[Step]:
    more = draw.setup.queues + draw.chance.choice((1, 2, 4))
    return [Step(at_s, "", "ChangeTopic", {"topic": TOPIC, "write_queues": more, "read_queues": more})]


def _shrink(draw: Draw, at_s: float) -> list[Step]:
    """Return steps that shrink the topic.

    The write queues come first, the read queues once producers know and the queues are drained.
    """
    fewer = max(1, draw.setup.queues // 2)
    return [
        Step(at_s, "", "ChangeTopic", {"topic": TOPIC, "write_queues": fewer}),
        Step(at_s + draw.chance.between(45, 90), ENDING, SHRINK_READ, {"topic": TOPIC, "queues": fewer}),
    ]


def _strategy(draw: Draw) -> dict[str, object]:
    return {"group": draw.group().name, "strategy": draw.chance.choice(("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"))}


def _burst(draw: Draw) -> dict[str, object]:
    fields = {"topic": TOPIC, "count": 10 + draw.chance.below(40), "key": draw.burst_name(), "body_bytes": 60}
    if draw.setup.tagged:
        fields["tag"] = draw.chance.choice(("paid", "sent", "odd"))
    return fields | ({"batch": True} if draw.chance.random() < 0.3 else {})


def _delayed(draw: Draw) -> dict[str, object]:
    return {
        "topic": TOPIC,
        "count": 5,
        "key": draw.burst_name(),
        "body_bytes": 60,
        "delay_level": 1 + draw.chance.below(5),
    }


KINDS: dict[str, FaultMaker] = {
    "crash a member": _crash,
    "hang a member": _hang,
    "stop a member": _stop,
    "crash a producer": _crash_producer,
    "slow member": _slow_member,
    "slow key": _slow_key,
    "failing member": _failing,
    "one more member": _one("StartConsumer", lambda draw: {"group": draw.group().name, "work_ms": list(QUICK)}),
    "kill a broker": _kill_broker,
    "restart a broker": _restart_broker,
    "power cut": _power_cut,
    "hang a broker": _hang_broker,
    "name server down": _name_server,
    "clock skew": _skew,
    "cut link": _cut,
    "cut link one way": _cut_one_way,
    "slow link": _delay,
    "kill the process": _one(KILL_PROCESS, lambda draw: {}),
    "full disk": _full_disk,
    "reset back": _one("ResetOffsets", lambda draw: draw.reset_fields(draw.resettable(), back=True)),
    "reset forward": _one("ResetOffsets", lambda draw: draw.reset_fields(draw.resettable(), back=False)),
    "strategy": _one("SetStrategy", _strategy),
    "more queues": _grow,
    "fewer queues": _shrink,
    "burst": _one("SendMessages", _burst),
    "delayed messages": _one("SendMessages", _delayed),
}


def kinds_for(setup: Setup, profile: str) -> list[str]:
    """Return the possible faults of the setup.  A special profile repeats those it is about."""
    often = {
        "orderly": ["hang a member"] * 12 + ["slow member"] * 4 + ["burst"] * 4,
        "concurrent": ["crash a member"] * 12 + ["slow key"] * 4 + ["burst"] * 4,
        "power": ["power cut"] * 12 + ["burst"] * 6,
    }.get(profile, [])
    return [*KINDS, *often]
