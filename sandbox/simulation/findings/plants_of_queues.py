"""Troubles of queues, topics and offsets: hot, unread, refused, unknown or deleted."""

from collections.abc import Callable

from sandbox.kernel.chance import Chance
from sandbox.simulation.findings.baseline import GROUP, SHOP, TOPIC, Baseline
from sandbox.simulation.findings.plant import Act, Plant, act
from sandbox.simulation.world import World


def _hot(base: Baseline, chance: Chance) -> list[Act]:
    keys = ["whale"] * 4 + [f"small-{number}" for number in range(2)]
    return [
        act("StopActor", actor=SHOP),
        act(
            "StartProducer",
            2.0,
            actor="keyed",
            topic=TOPIC,
            rate_per_s=max(4.0, base.rate_per_s),
            keys=keys,
            selector="hash",
        ),
    ]


def _unread(base: Baseline, chance: Chance) -> list[Act]:
    """Assign one queue to no member, or add queues that members may not read."""
    if chance.below(2):
        return [act("ChangeTopic", topic=TOPIC, write_queues=base.queues + 1 + chance.below(3))]
    rows = [f"broker-a:{number}" for number in range(base.queues - 1)]
    lists = {label: rows[number :: len(base.members)] for number, label in enumerate(base.members)}
    return [act("SetStrategy", group=GROUP, strategy="CONFIG", queues_by_member=lists)]


def _paused(base: Baseline, chance: Chance) -> list[Act]:
    return [act("ChangeGroup", group=GROUP, changes={"consume_enable": False})]


def _permission(base: Baseline, chance: Chance) -> list[Act]:
    return [act("ChangeTopic", topic=TOPIC, permission=chance.choice((2, 4)))]


def _offset_unknown(base: Baseline, chance: Chance) -> list[Act]:
    queues = base.queues + 2
    return [
        *(act("StopActor", actor=label) for label in base.members),
        act("ChangeTopic", 4.0, topic=TOPIC, write_queues=queues, read_queues=queues),
        act("SendMessages", 6.0, topic=TOPIC, count=queues * 4, key="new-{n}"),
    ]


def _commit(beyond: int) -> Callable[[World], None]:
    """Return a function that commits an offset beyond the end of a queue, as an operator's tool can."""

    def call(world: World) -> None:
        broker = world.cluster.nodes.masters()[0].running
        end = broker.store.max_offset(TOPIC, 0)
        broker.consumer_offsets.commit(GROUP, TOPIC, 0, end + beyond, "admin")

    return call


def _beyond(base: Baseline, chance: Chance) -> list[Act]:
    return [
        act("StopActor", actor=SHOP),
        *(act("StopActor", 2.0, actor=label) for label in base.members),
        Act(8.0, "", {}, _commit(10 + chance.below(500))),
    ]


def _deleted(base: Baseline, chance: Chance) -> list[Act]:
    """Delete the log of a group that does not run."""
    return [
        *(act("StopActor", actor=label) for label in base.members),
        act("SendMessages", 3.0, topic=TOPIC, count=400, key="old-{n}", body_bytes=4_000),
        act("AgeFiles", 10.0, broker="broker-a", hours=100),
        act("CleanFiles", 11.0, broker="broker-a"),
    ]


PLANTS = (
    Plant("hot_queue", _hot, 22.0, ("consumers_too_slow", "more_members_than_queues"), alone=True),
    Plant("queue_without_reader", _unread, 20.0, alone=True),
    Plant("paused", _paused, 0.0, alone=True),
    Plant("permission", _permission, 0.0, ("queue_without_reader",), alone=True),
    Plant("offset_unknown", _offset_unknown, 36.0, alone=True),
    Plant("beyond_max", _beyond, 10.0, alone=True),
    Plant("behind_min", _deleted, 12.0, ("writes_refused",), alone=True),
)
