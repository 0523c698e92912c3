"""Incident: a rolling restart causes a rebalance storm; with AVG nearly every queue moves at every stop and start."""

from sandbox.control.actions import (
    Action,
    CreateTopic,
    RestartActor,
    SetStrategy,
    StartConsumer,
    StartProducer,
    StopActor,
    Subscription,
)
from sandbox.journal.events import QueueTaken
from sandbox.labs.evidence import Evidence, Seen
from sandbox.labs.incidents.incident import Find, Incident, Marker, Moment, timed
from sandbox.labs.incidents.moments import act, given_again, opens
from sandbox.labs.translation_marks import _

GROUP, TOPIC = "pricing", "quotes"
MEMBERS = ("A", "B", "C", "D")
QUEUES = 16
FIRST_S, AWAY_S, BETWEEN_S, RING_S, SECOND_S, END_S = 40, 4, 8, 85, 110, 155
STRATEGY = act("SetStrategy")
FIRST, SECOND = act("StopActor", 1), act("StopActor", len(MEMBERS) + 1)


def _restarts(from_s: float) -> tuple[tuple[float, tuple[Action, ...]], ...]:
    """Return the timed stops and restarts of one member after another, from `from_s` on."""
    return tuple(
        step
        for index, label in enumerate(MEMBERS)
        for step in (
            (from_s + index * BETWEEN_S, (StopActor(actor=label),)),
            (from_s + index * BETWEEN_S + AWAY_S, (RestartActor(actor=label),)),
        )
    )


def taken(evidence: Evidence, since: Find, until: Find | None = None) -> list[Seen[QueueTaken]]:
    """Return the acquisitions of queues between two events."""
    first, last = since(evidence), None if until is None else until(evidence)
    return (
        []
        if first is None
        else [
            entry
            for entry in evidence.of(QueueTaken, since=first.seq)
            if (entry.event.group, entry.event.topic) == (GROUP, TOPIC) and (last is None or entry.seq < last.seq)
        ]
    )


def again(evidence: Evidence, since: Find, until: Find | None = None) -> int:
    """Return the number of repeated deliveries between two events."""
    first, last = since(evidence), None if until is None else until(evidence)
    return (
        0
        if first is None
        else sum(
            row.seq > first.seq and (last is None or row.seq < last.seq) for row in given_again(evidence, GROUP, TOPIC)
        )
    )


def _sum(since: Find, until: Find | None) -> Find:
    def find(evidence: Evidence) -> Moment | None:
        moved = taken(evidence, since, until)
        return Moment(moved[-1].seq, {"moves": len(moved), "again": again(evidence, since, until)}) if moved else None

    return find


def _storm(evidence: Evidence) -> Moment | None:
    """Return the moves of queues until the repair; `first`: those of the first stop."""
    whole = _sum(FIRST, STRATEGY)(evidence)
    first = taken(evidence, FIRST, act("RestartActor"))
    return None if whole is None else Moment(whole.seq, {**whole.values, "first": len(first), "queues": QUEUES})


REBALANCE_STORM = Incident(
    slug="rebalance-storm",
    title=_("A rebalance storm by a rolling restart"),
    complaint=_("Messages are late at every rollout"),
    circumstance=_("although members restart one by one"),
    symptom=_(
        "During each rollout of pricing, quotes are late and some are computed twice, although members restart "
        "one by one."
    ),
    cause=_(
        "AVG gives each member a block of neighboring queues. When a member leaves or joins, the blocks shift, "
        "and queues move between members that stayed. Each move pauses a queue and repeats uncommitted messages."
    ),
    mend=_(
        "Use CONSISTENT_HASH, a strategy that moves few queues, and restart with pauses. You cannot avoid "
        "restarts, but you can avoid moves."
    ),
    finding="rebalance_storm",
    lab="rolling-restart",
    group=GROUP,
    topic=TOPIC,
    done=timed(
        (
            0,
            (
                CreateTopic(topic=TOPIC, write_queues=QUEUES, read_queues=QUEUES),
                *(
                    StartConsumer(actor=label, group=GROUP, subscriptions=(Subscription(TOPIC),), work_ms=(600, 900))
                    for label in MEMBERS
                ),
                StartProducer(actor="market", topic=TOPIC, rate_per_s=6.0),
            ),
        ),
        *_restarts(FIRST_S),
        (RING_S, (SetStrategy(group=GROUP, strategy="CONSISTENT_HASH", virtual_nodes=40),)),
        *_restarts(SECOND_S),
    ),
    until_ms=END_S * 1000,
    markers=(
        Marker(
            title=_("Rollout"),
            find=FIRST,
            text=_("The first of four members is stopped."),
            question=_("The stopped member has 4 of 16 queues. How many queues will change their owner?"),
        ),
        Marker(
            title=_("The storm"),
            find=opens("rebalance_storm", _storm),
            text=_(
                "Four restarts moved queues {moves} times, the first stop alone {first} of {queues}. {again} quotes "
                "were redelivered."
            ),
            reveals=True,
        ),
        Marker(title=_("Another strategy"), find=STRATEGY, text=_("The repair: the group uses CONSISTENT_HASH.")),
        Marker(title=_("Rollout again"), find=SECOND, text=_("The same four restarts again.")),
        Marker(
            title=_("Fewer moves"),
            find=_sum(SECOND, None),
            text=_("This time queues moved {moves} times, and {again} quotes were redelivered."),
        ),
    ),
)
