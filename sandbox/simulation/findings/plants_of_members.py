"""Troubles of a group's members: hung, gone, too many, too slow, different from one another."""

from sandbox.kernel.chance import Chance
from sandbox.simulation.findings.baseline import GROUP, SHOP, TOPIC, Baseline
from sandbox.simulation.findings.plant import Act, Plant, act


def _slow(base: Baseline, chance: Chance) -> list[Act]:
    """Make every member too slow for what arrives: together they finish 30 to 80 % of it."""
    share = chance.between(0.3, 0.8)
    rate = max(base.rate_per_s, 2.0)
    work_ms = round(1_000 * len(base.members) * base.threads / (rate * share))
    return [
        act("ChangeActor", actor=SHOP, rate_per_s=rate),
        *(act("ChangeActor", actor=label, work_ms=[work_ms, work_ms]) for label in base.members),
    ]


def _hung(base: Baseline, chance: Chance) -> list[Act]:
    return [act("HangActor", actor=chance.choice(base.members))]


def _too_many(base: Baseline, chance: Chance) -> list[Act]:
    more = base.queues - len(base.members) + 1 + chance.below(2)
    return [act("StartConsumer", group=GROUP, copies=more)]


def _uneven(base: Baseline, chance: Chance) -> list[Act]:
    """Give the first member all queues but one for each other member, or all of them."""
    others, rows = base.members[1:], [f"broker-a:{number}" for number in range(base.queues)]
    first = len(rows) - len(others)
    lists = {base.members[0]: rows[:first]} | {label: [row] for label, row in zip(others, rows[first:], strict=True)}
    if first < 3:
        lists = {base.members[0]: rows}
    return [act("SetStrategy", group=GROUP, strategy="CONFIG", queues_by_member=lists)]


def _gone(base: Baseline, chance: Chance) -> list[Act]:
    """Crash a member after its link to the broker was cut, so that the end of its connection does not arrive."""
    label = chance.choice(base.members)
    return [act("CutLink", a=label, b="broker-a"), act("CrashActor", actor=label)]


def _repeated(base: Baseline, chance: Chance) -> list[Act]:
    """Crash a member in the middle of a burst: it has finished messages that it has not committed."""
    crash_s = chance.between(0.6, 1.2)
    return [
        act("SendMessages", topic=TOPIC, count=40 * len(base.members), key="again-{n}"),
        act("CrashActor", crash_s, actor=chance.choice(base.members)),
    ]


def _locked(base: Baseline, chance: Chance) -> list[Act]:
    return [act("CrashActor", chance.between(0.0, 15.0), actor=chance.choice(base.fifo))]


def _differing(base: Baseline, chance: Chance) -> list[Act]:
    """Start a member with another expression, topic, listener or strategy."""
    fields: dict[str, object] = chance.choice(
        (
            {"subscriptions": [{"topic": TOPIC, "expression": "a || b"}]},
            {"subscriptions": [{"topic": TOPIC}, {"topic": "refunds"}]},
            {"listener": "orderly"},
            {"strategy": "AVG_BY_CIRCLE"},
        )
    )
    first = [act("CreateTopic", topic="refunds", write_queues=4, read_queues=4)]
    return [*first, Act(0.0, "StartConsumer", {"actor": "X", "group": GROUP, **fields})]


def _same_id(base: Baseline, chance: Chance) -> list[Act]:
    return [act("StartConsumer", actor="X", group=GROUP, client_id_of=chance.choice(base.members))]


def _storm(base: Baseline, chance: Chance) -> list[Act]:
    """Crash one member again and again, or restart all members twice without pauses."""
    if chance.below(2):
        turns = [chance.choice(base.members)] * 7
        away_s, pause_s = 2.0, chance.between(4.0, 9.0)
    else:
        turns = [*base.members, *base.members, *base.members][: max(5, 2 * len(base.members))]
        away_s, pause_s = 4.0, chance.between(2.0, 4.0)
    acts: list[Act] = []
    for number, label in enumerate(turns):
        begin_s = number * (away_s + pause_s)
        acts += [act("StopActor", begin_s, actor=label), act("RestartActor", begin_s + away_s, actor=label)]
    return acts


PLANTS = (
    Plant(
        "consumers_too_slow",
        _slow,
        30.0,
        ("flow_control", "offset_pinned"),
        hides=("poison_message", "dead_letters_grow"),  # they come late
    ),
    Plant(
        "member_hung",
        _hung,
        0.0,
        ("consumers_too_slow", "queue_without_reader", "member_gone_not_expelled"),
        looks_s=200.0,
        hides=("offset_pinned", "poison_message", "flow_control", "dead_letters_grow"),
        stays_s=200.0,  # its process hangs on after brokers removed it, 120 to 130 s after its last heartbeat
    ),
    Plant(
        "member_gone_not_expelled",
        _gone,
        0.0,
        ("queue_without_reader", "consumers_too_slow", "delivered_again"),
        hides=(
            "offset_pinned",
            "poison_message",
            "flow_control",
            "dead_letters_grow",
            "member_hung",
            "more_members_than_queues",
        ),
    ),
    Plant(
        "more_members_than_queues",
        _too_many,
        20.0,
        hides=(  # new members finish and accept all
            "consumers_too_slow",
            "offset_pinned",
            "poison_message",
            "dead_letters_grow",
            "flow_control",
        ),
    ),
    Plant("uneven_assignment", _uneven, 20.0, ("queue_without_reader", "consumers_too_slow"), alone=True),
    Plant("lock_held_by_gone_member", _locked, 0.0, ("delivered_again",), ordered=True),
    Plant("delivered_again", _repeated, 1.2, alone=True),
    Plant("subscriptions_differ", _differing, 0.0, ("more_members_than_queues", "queue_without_reader"), alone=True),
    Plant("same_client_id", _same_id, 0.0, ("queue_without_reader",), alone=True),
    Plant("rebalance_storm", _storm, 28.0, ("consumers_too_slow", "delivered_again"), alone=True),
)
