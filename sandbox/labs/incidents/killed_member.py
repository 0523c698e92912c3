"""Incident: duplicates after a restart, because a member is killed before it commits finished messages."""

from sandbox.control.actions import (
    CrashActor,
    CreateTopic,
    RestartActor,
    SendMessages,
    StartConsumer,
    StartProducer,
    StopActor,
    Subscription,
)
from sandbox.journal.events import CrashRepeated
from sandbox.labs.evidence import Evidence
from sandbox.labs.incidents.incident import Incident, Marker, Moment, timed
from sandbox.labs.incidents.moments import act, fact, given_again, opens
from sandbox.labs.translation_marks import _

GROUP, TOPIC = "mailer", "receipts"
BURST = 120
FIRST_S, SECOND_S, UNTIL_ACT_S, AWAY_S, END_S = 40, 90, 4.5, 12, 125


def _first_again(evidence: Evidence) -> Moment | None:
    """Return the first repeated delivery after the kill."""
    killed = act("CrashActor")(evidence)
    again = [] if killed is None else [row for row in given_again(evidence, GROUP, TOPIC) if row.seq > killed.seq]
    return Moment(again[0].seq, {"key": again[0].key}) if again else None


KILLED_MEMBER = Incident(
    slug="duplicates-after-a-restart",
    title=_("Duplicates after a restart"),
    complaint=_("Messages arrive twice"),
    circumstance=_("after a crash, a restart, a deploy"),
    symptom=_("Customers got the same receipt twice, all within one minute, after one node of mailer was replaced."),
    cause=_(
        "The process was killed. Messages that it finished in the last five seconds at most were not committed. "
        "The member that acquired its queues began at the committed offsets."
    ),
    mend=_(
        "Stop members cleanly: they commit first. Kills cannot be ruled out, so the handler must be idempotent: "
        "store the keys of finished messages."
    ),
    finding="delivered_again",
    lab="crash-and-stop",
    group=GROUP,
    topic=TOPIC,
    done=timed(
        (
            0,
            (
                CreateTopic(topic=TOPIC, write_queues=4, read_queues=4),
                *(
                    StartConsumer(
                        actor=label, group=GROUP, subscriptions=(Subscription(TOPIC),), threads=2, work_ms=(80, 160)
                    )
                    for label in ("A", "B")
                ),
                StartProducer(actor="till", topic=TOPIC, rate_per_s=1.0, key="receipt-{n}"),
            ),
        ),
        (FIRST_S, (SendMessages(topic=TOPIC, count=BURST, key="evening-{n}"),)),
        (FIRST_S + UNTIL_ACT_S, (CrashActor(actor="A"),)),
        (FIRST_S + UNTIL_ACT_S + AWAY_S, (RestartActor(actor="A"),)),
        (SECOND_S, (SendMessages(topic=TOPIC, count=BURST, key="morning-{n}"),)),
        (SECOND_S + UNTIL_ACT_S, (StopActor(actor="B"),)),
        (SECOND_S + UNTIL_ACT_S + AWAY_S, (RestartActor(actor="B"),)),
    ),
    until_ms=END_S * 1000,
    markers=(
        Marker(
            title=_("The kill"),
            find=act("CrashActor"),
            text=_("The node of A is replaced in the middle of a burst: its process is killed."),
            question=_("How many messages will be redelivered?"),
        ),
        Marker(title=_("First duplicate"), find=_first_again, text=_("B finishes {key} for the second time.")),
        Marker(
            title=_("The total"),
            find=opens("delivered_again", fact(CrashRepeated, says=lambda event: {"count": event.count})),
            text=_(
                "{count} messages of the killed process were redelivered, and no more will follow. They were finished, "
                "but not committed."
            ),
            reveals=True,
        ),
        Marker(
            title=_("A clean stop"),
            find=act("StopActor"),
            text=_("Now B is stopped instead of killed: it commits before it leaves."),
            question=_("What is redelivered this time?"),
        ),
        Marker(
            title=_("Return of B"),
            find=act("RestartActor", actor="B"),
            text=_('B is running again. "Delivered again" in the header has not changed.'),
        ),
    ),
)
