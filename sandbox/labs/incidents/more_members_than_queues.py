"""Incident: a group is scaled out to more members than queues, and the additional members stay idle."""

from sandbox.control.actions import ChangeTopic, CreateTopic, StartConsumer, StartProducer, Subscription
from sandbox.journal.events import QueuesAssigned
from sandbox.labs.evidence import Evidence, Seen
from sandbox.labs.incidents.incident import Incident, Marker, Moment, timed
from sandbox.labs.incidents.moments import act, lag_reaches
from sandbox.labs.translation_marks import _

GROUP, TOPIC = "thumbnails", "uploads"
OUT_S, MEND_S, END_S = 45, 105, 150
QUEUES, MEMBERS, MORE_QUEUES = 4, 8, 8
ADDED = act("StartConsumer", actor="new")
WIDER = act("ChangeTopic")


def divisions(evidence: Evidence) -> list[Seen[QueuesAssigned]]:
    return [entry for entry in evidence.of(QueuesAssigned) if (entry.event.group, entry.event.topic) == (GROUP, TOPIC)]


def _first_idle(evidence: Evidence) -> Moment | None:
    idle = [entry for entry in divisions(evidence) if len(entry.event.members) == MEMBERS and not entry.event.queues]
    return Moment(idle[0].seq, {"members": MEMBERS, "queues": QUEUES}) if idle else None


def _all_work(evidence: Evidence) -> Moment | None:
    """Return the first assignment after which no member is idle any more."""
    queues: dict[str, int] = {}
    for entry in divisions(evidence):
        queues[entry.event.client_id] = len(entry.event.queues)
        if sum(count > 0 for count in queues.values()) == MEMBERS:
            return Moment(entry.seq, {"members": MEMBERS})
    return None


MORE_MEMBERS_THAN_QUEUES = Incident(
    slug="more-members-than-queues",
    title=_("Scale-out without speedup"),
    complaint=_("More members, but not faster"),
    circumstance=_("the lag grows as before"),
    symptom=_("thumbnails was scaled from four to eight members. Its lag rises as fast as before."),
    cause=_(
        "A queue has one owner in a group. uploads has four queues, and each already had its member: new members "
        "receive none."
    ),
    mend=_("Add read and write queues to the topic, or threads to the members. Decide on both before you need them."),
    finding="consumers_too_slow",
    lab="members-and-queues",
    group=GROUP,
    topic=TOPIC,
    done=timed(
        (
            0,
            (
                CreateTopic(topic=TOPIC, write_queues=QUEUES, read_queues=QUEUES),
                StartConsumer(
                    actor="old",
                    group=GROUP,
                    subscriptions=(Subscription(TOPIC),),
                    copies=QUEUES,
                    threads=1,
                    work_ms=(900, 1_100),
                ),
                StartProducer(actor="site", topic=TOPIC, rate_per_s=6.0),
            ),
        ),
        (
            OUT_S,
            (
                StartConsumer(
                    actor="new",
                    group=GROUP,
                    subscriptions=(Subscription(TOPIC),),
                    copies=MEMBERS - QUEUES,
                    threads=1,
                    work_ms=(900, 1_100),
                ),
            ),
        ),
        (MEND_S, (ChangeTopic(topic=TOPIC, write_queues=MORE_QUEUES, read_queues=MORE_QUEUES),)),
    ),
    until_ms=END_S * 1000,
    markers=(
        Marker(
            title=_("Throughput too low"),
            find=lag_reaches(GROUP, TOPIC, 80),
            text=_("The lag is {lag}: 6 pictures arrive a second, four members process 4."),
        ),
        Marker(
            title=_("Scale-out"),
            find=ADDED,
            text=_("Four more members are started."),
            question=_("What share of the queues will each of the eight receive?"),
        ),
        Marker(
            title=_("Idle"),
            find=_first_idle,
            text=_("{members} members, {queues} queues: this member and three others have none."),
            reveals=True,
        ),
        Marker(
            title=_("Lag still grows"),
            find=lag_reaches(GROUP, TOPIC, 200),
            text=_("The lag is {lag}, and rises as before. No error is reported."),
        ),
        Marker(
            title=_("More queues"),
            find=WIDER,
            text=_(
                "The repair: uploads gets eight queues. Members receive the route within 30 s, and rebalance "
                "within another 20 s."
            ),
        ),
        Marker(
            title=_("All members active"),
            find=_all_work,
            text=_(
                "Each of the {members} members has a queue. Messages in the old queues stay in them: the old "
                "queues drain first."
            ),
        ),
    ),
)
