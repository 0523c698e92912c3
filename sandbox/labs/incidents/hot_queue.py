"""Incident: a hot queue by key skew; one customer sends most, and all messages of a key go to one queue."""

from collections import Counter

from sandbox.control.actions import CreateTopic, StartConsumer, StartProducer, StopActor, Subscription
from sandbox.journal.events import MessagesStored
from sandbox.labs.evidence import Evidence, queue_of
from sandbox.labs.incidents.incident import Find, Incident, Marker, Moment, timed
from sandbox.labs.incidents.moments import act, lag_reaches, opens
from sandbox.labs.translation_marks import _

GROUP, TOPIC = "routing", "parcels"
BIG = "megastore"
GROWS_S, MORE_S, MEND_S, END_S = 30, 70, 105, 135
USUAL = tuple(f"shop-{number:02}" for number in range(24))
SKEWED = (*(BIG for _number in range(7)), *USUAL[:3])
WORK_MS = (230, 270)
MENDED = act("StartProducer", actor="intake-3")


def hottest_percent(evidence: Evidence, from_seq: int, to_seq: int) -> float:
    """Return the share in percent of the fullest queue in the messages stored between two events."""
    counted: Counter[str] = Counter()
    for entry in evidence.of(MessagesStored, since=from_seq):
        if entry.event.topic == TOPIC and entry.seq < to_seq:
            counted[queue_of(entry.event)] += entry.event.count
    return 100 * max(counted.values()) / counted.total() if counted else 0.0


def _share_of(actor: str, messages: int) -> Find:
    """Return a `Find` for the event after `messages` were stored since a producer's start.

    Its value is the hottest queue's share of them in percent.
    """

    def find(evidence: Evidence) -> Moment | None:
        started = act("StartProducer", actor=actor)(evidence)
        if started is None:
            return None
        count = 0
        for entry in evidence.of(MessagesStored, since=started.seq):
            count += entry.event.count if entry.event.topic == TOPIC else 0
            if count >= messages:
                return Moment(entry.seq, {"percent": round(hottest_percent(evidence, started.seq, entry.seq + 1))})
        return None

    return find


HOT_QUEUE = Incident(
    slug="hot-queue",
    title=_("A hot queue"),
    complaint=_("One member works, others are idle"),
    circumstance=_("some messages are minutes late"),
    symptom=_(
        "Parcels of one big customer, and some of its neighbors, are minutes late. Three of four members are idle."
    ),
    cause=_(
        "The sharding key is the customer, and one customer sends seven of ten parcels. All its messages are in "
        "one queue. An orderly group processes one message of a queue at a time."
    ),
    mend=_(
        "Choose a key only as coarse as the order requires: the parcel, not the customer. More members or queues "
        "do not split a key."
    ),
    finding="hot_queue",
    lab="hot-queue",
    group=GROUP,
    topic=TOPIC,
    done=timed(
        (
            0,
            (
                CreateTopic(topic=TOPIC, write_queues=4, read_queues=4),
                StartConsumer(
                    actor="sorter",
                    group=GROUP,
                    subscriptions=(Subscription(TOPIC),),
                    copies=2,
                    listener="orderly",
                    work_ms=WORK_MS,
                ),
                StartProducer(actor="intake", topic=TOPIC, rate_per_s=5.0, keys=USUAL, selector="hash"),
            ),
        ),
        (
            GROWS_S,
            (
                StopActor(actor="intake"),
                StartProducer(actor="intake-2", topic=TOPIC, rate_per_s=8.0, keys=SKEWED, selector="hash"),
            ),
        ),
        (
            MORE_S,
            (
                StartConsumer(
                    actor="more",
                    group=GROUP,
                    subscriptions=(Subscription(TOPIC),),
                    copies=2,
                    listener="orderly",
                    work_ms=WORK_MS,
                ),
            ),
        ),
        (
            MEND_S,
            (
                StopActor(actor="intake-2"),
                StartProducer(actor="intake-3", topic=TOPIC, rate_per_s=8.0, key="parcel-{n}", selector="hash"),
            ),
        ),
    ),
    until_ms=END_S * 1000,
    markers=(
        Marker(
            title=_("A big customer"),
            find=act("StartProducer", actor="intake-2"),
            text=_("A big customer begins to send."),
        ),
        Marker(
            title=_("A hot queue appears"),
            find=opens("hot_queue", _share_of("intake-2", 60)),
            text=_("{percent} % of the parcels since the big customer began went to one queue: it sends seven of ten."),
            question=_("Will twice as many members help?"),
            reveals=True,
        ),
        Marker(
            title=_("Scale-out"),
            find=act("StartConsumer", actor="more"),
            text=_("The group now has four members for four queues. The hot queue still has one member."),
        ),
        Marker(
            title=_("Lag still grows"),
            find=lag_reaches(GROUP, TOPIC, 150),
            text=_("The lag is {lag}, nearly all of it in one queue. The other members are idle."),
        ),
        Marker(title=_("Another key"), find=MENDED, text=_("The repair: the parcel becomes the key.")),
        Marker(
            title=_("Even load"),
            find=_share_of("intake-3", 120),
            text=_(
                "The fullest queue has received {percent} % of the parcels since the repair. One member drains "
                "the old backlog."
            ),
        ),
    ),
)
