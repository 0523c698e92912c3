"""Troubles that a run plants: for each code the actions that cause it, and the time after which it can be known."""

from collections.abc import Callable
from typing import Any, NamedTuple

from sandbox.kernel.chance import Chance
from sandbox.simulation.findings.stage import GROUP, SHOP, TOPIC, Stage
from sandbox.simulation.world import World


class Act(NamedTuple):
    """An action `after_s` of the planting; `name` empty: `call` changes the world itself."""

    after_s: float
    name: str
    fields: dict[str, Any]
    call: Callable[[World], None] | None = None


class Plant(NamedTuple):
    """One trouble.  `least_s`: the earliest time after the planting at which anyone could know it.

    `also`: codes that are true beside it, so they are no false alarms.
    """

    code: str
    acts: Callable[[Stage, Chance], list[Act]]
    least_s: float
    also: tuple[str, ...] = ()
    ordered: bool = False
    slave: bool = False
    looks_s: float = 150.0  # for so long after the planting the finding is expected
    alone: bool = False  # it stops members, producers or brokers, so that another trouble could not be seen


def _act(name: str, after_s: float = 0.0, **fields: Any) -> Act:
    return Act(after_s, name, fields)


def _slow(stage: Stage, chance: Chance) -> list[Act]:
    """Make every member too slow for what arrives: together they finish 30 to 80 % of it."""
    share = chance.between(0.3, 0.8)
    rate = max(stage.rate_per_s, 2.0)
    work_ms = round(1_000 * len(stage.members) * stage.threads / (rate * share))
    return [
        _act("ChangeActor", actor=SHOP, rate_per_s=rate),
        *(_act("ChangeActor", actor=label, work_ms=[work_ms, work_ms]) for label in stage.members),
    ]


def _pinned(stage: Stage, chance: Chance) -> list[Act]:
    key = f"stuck-{chance.below(1000)}"
    return [
        *(_act("ChangeActor", actor=label, slow_key=key, slow_ms=600_000) for label in stage.members),
        _act("SendMessages", topic=TOPIC, count=1, key=key),
    ]


def _hung(stage: Stage, chance: Chance) -> list[Act]:
    return [_act("HangActor", actor=chance.choice(stage.members))]


def _too_many(stage: Stage, chance: Chance) -> list[Act]:
    more = stage.queues - len(stage.members) + 1 + chance.below(2)
    return [_act("StartConsumer", group=GROUP, copies=more)]


def _hot(stage: Stage, chance: Chance) -> list[Act]:
    keys = ["whale"] * 4 + [f"small-{number}" for number in range(2)]
    return [
        _act("StopActor", actor=SHOP),
        _act(
            "StartProducer",
            2.0,
            actor="keyed",
            topic=TOPIC,
            rate_per_s=max(4.0, stage.rate_per_s),
            keys=keys,
            selector="hash",
        ),
    ]


def _failing(stage: Stage, chance: Chance) -> list[Act]:
    return [
        *(_act("ChangeActor", actor=label, fail_percent=100.0) for label in stage.members),
        _act("SendMessages", topic=TOPIC, count=20, key="bad-{n}"),
    ]


def _poison(stage: Stage, chance: Chance) -> list[Act]:
    key = f"poison-{chance.below(1000)}"
    return [
        *(_act("ChangeActor", actor=label, handler=f"reject {key}") for label in stage.members),
        _act("SendMessages", topic=TOPIC, count=1, key=key),
    ]


def _delayed(stage: Stage, chance: Chance) -> list[Act]:
    return [
        _act(
            "SendMessages",
            topic=TOPIC,
            count=5 + chance.below(20),
            key="later-{n}",
            delay_level=chance.choice((5, 6, 9)),
        )
    ]


def _half(stage: Stage, chance: Chance) -> list[Act]:
    return [
        _act("StartProducer", actor="bank", topic=TOPIC, rate_per_s=0.3, transactional=True),
        _act("ChangeActor", actor="bank", handler="silent"),
    ]


def _full_disk(stage: Stage, chance: Chance) -> list[Act]:
    return [_act("FillDisk", broker="broker-a")]


def _down(stage: Stage, chance: Chance) -> list[Act]:
    return [_act(chance.choice(("KillBroker", "StopBroker", "HangBroker")), broker="broker-a")]


def _slave(stage: Stage, chance: Chance) -> list[Act]:
    return [_act("KillBroker", broker="broker-a")]


def _lost_locks(stage: Stage, chance: Chance) -> list[Act]:
    """Restart the broker at least 8 s before the members lock again (every 20 s of their own start)."""
    at_s = chance.between(2.0, 8.0)
    return [_act("KillBroker", at_s, broker="broker-a"), _act("StartBroker", at_s + 0.5, broker="broker-a")]


def _offset_unknown(stage: Stage, chance: Chance) -> list[Act]:
    queues = stage.queues + 2
    return [
        *(_act("StopActor", actor=label) for label in stage.members),
        _act("ChangeTopic", 4.0, topic=TOPIC, write_queues=queues, read_queues=queues),
        _act("SendMessages", 6.0, topic=TOPIC, count=queues * 4, key="new-{n}"),
    ]


def _commit(beyond: int) -> Callable[[World], None]:
    """Return a function that commits an offset beyond the end of a queue, as an operator's tool can."""

    def call(world: World) -> None:
        broker = world.cluster.nodes.masters()[0].running
        end = broker.store.max_offset(TOPIC, 0)
        broker.consumer_offsets.commit(GROUP, TOPIC, 0, end + beyond, "admin")

    return call


def _beyond(stage: Stage, chance: Chance) -> list[Act]:
    return [
        _act("StopActor", actor=SHOP),
        *(_act("StopActor", 2.0, actor=label) for label in stage.members),
        Act(8.0, "", {}, _commit(10 + chance.below(500))),
    ]


def _deleted(stage: Stage, chance: Chance) -> list[Act]:
    """Delete the log of a group that does not run."""
    return [
        *(_act("StopActor", actor=label) for label in stage.members),
        _act("SendMessages", 3.0, topic=TOPIC, count=400, key="old-{n}", body_bytes=4_000),
        _act("AgeFiles", 10.0, broker="broker-a", hours=100),
        _act("CleanFiles", 11.0, broker="broker-a"),
    ]


def _flow(stage: Stage, chance: Chance) -> list[Act]:
    return [
        *(_act("ChangeActor", actor=label, slow_key="wall", slow_ms=600_000) for label in stage.members),
        _act("SendMessages", topic=TOPIC, count=1, key="wall"),
        _act("SendMessages", 1.0, topic=TOPIC, count=5_000, key="flood-{n}", body_bytes=20),
    ]


PLANTS: dict[str, Plant] = {
    plant.code: plant
    for plant in (
        Plant("consumers_too_slow", _slow, 30.0, ("flow_control", "offset_pinned")),
        Plant("offset_pinned", _pinned, 20.0, ("flow_control",)),
        Plant("member_hung", _hung, 0.0, ("consumers_too_slow", "queue_without_reader", "member_gone_not_expelled")),
        Plant("more_members_than_queues", _too_many, 20.0),
        Plant("hot_queue", _hot, 22.0, ("consumers_too_slow", "more_members_than_queues"), alone=True),
        Plant("retrying", _failing, 6.0, ("poison_message", "consumers_too_slow"), alone=True),
        Plant("poison_message", _poison, 40.0, looks_s=180.0),
        Plant("delay_waiting", _delayed, 2.0),
        Plant("half_message_open", _half, 33.0),
        Plant("writes_refused", _full_disk, 2.0, alone=True),
        Plant("broker_down", _down, 2.0, ("queue_without_reader", "member_hung"), alone=True),
        Plant("slave_serves", _slave, 4.0, ("broker_down",), slave=True, alone=True),
        Plant("lock_table_lost", _lost_locks, 4.0, ("broker_down",), ordered=True, alone=True),
        Plant("offset_unknown", _offset_unknown, 36.0, alone=True),
        Plant("beyond_max", _beyond, 10.0, alone=True),
        Plant("behind_min", _deleted, 12.0, ("writes_refused",), alone=True),
        Plant("flow_control", _flow, 6.0, ("offset_pinned", "consumers_too_slow")),
    )
}


def kinds(*, alone: bool) -> list[str]:
    """Return the codes that can be planted, with or without those that are planted alone only."""
    return sorted(code for code, plant in PLANTS.items() if alone or not plant.alone)
