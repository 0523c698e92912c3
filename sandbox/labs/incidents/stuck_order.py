"""Incident: one queue of an orderly group is stuck, because its handler never accepts a message."""

from sandbox.control.actions import (
    ChangeActor,
    CreateTopic,
    RowToSend,
    SendMessages,
    StartConsumer,
    StartProducer,
    Subscription,
)
from sandbox.journal.events import MessagePinned
from sandbox.labs.evidence import Evidence
from sandbox.labs.incidents.incident import Incident, Marker, Moment, timed
from sandbox.labs.incidents.moments import act, lag_falls, lag_reaches
from sandbox.labs.translation_marks import _

GROUP, TOPIC = "ledger", "bookings"
POISON = "account-13"
SEND_S, MEND_S, END_S = 30, 120, 150
ACCOUNTS = tuple(f"account-{number:02}" for number in range(20, 44))
MENDED = act("ChangeActor", 3)


def _first_failure(evidence: Evidence) -> Moment | None:
    failed = [row for row in evidence.deliveries_of(GROUP) if row.outcome != "SUCCESS"]
    return (
        None
        if not failed
        else Moment(failed[0].seq, {"key": failed[0].key, "queue": failed[0].queue.rpartition("/")[2]})
    )


def _pinned(evidence: Evidence) -> Moment | None:
    pins = [entry for entry in evidence.of(MessagePinned) if entry.event.group == GROUP]
    return Moment(pins[0].seq, {"key": pins[0].event.key, "queue": pins[0].event.queue_id}) if pins else None


STUCK_ORDER = Incident(
    slug="one-queue-stuck",
    title=_("One queue stuck, the others fine"),
    complaint=_("One queue is stopped"),
    circumstance=_("the other queues move on"),
    symptom=_("Some accounts have not moved for a minute; most are on time. The lag of ledger rises slowly."),
    cause=_(
        "One message cannot be processed. An orderly group does not skip it: its queue stops, with all accounts "
        "that share it. The other queues continue."
    ),
    mend=_(
        "Fix the handler, or let it set such a message aside and continue. A reset that skips the message breaks "
        "the order."
    ),
    finding="suspended",
    lab="poison-in-order",
    group=GROUP,
    topic=TOPIC,
    done=timed(
        (
            0,
            (
                CreateTopic(topic=TOPIC, write_queues=4, read_queues=4),
                *(
                    StartConsumer(
                        actor=label,
                        group=GROUP,
                        subscriptions=(Subscription(TOPIC),),
                        listener="orderly",
                        work_ms=(20, 60),
                    )
                    for label in ("A", "B")
                ),
                *(ChangeActor(actor=label, handler=f"reject {POISON}") for label in ("A", "B")),
                StartProducer(actor="bank", topic=TOPIC, rate_per_s=8.0, keys=ACCOUNTS, selector="hash"),
            ),
        ),
        (SEND_S, (SendMessages(topic=TOPIC, selector="hash", rows=(RowToSend(key=POISON, body="amount: 12,50"),)),)),
        (MEND_S, tuple(ChangeActor(actor=label, handler="work") for label in ("A", "B"))),
    ),
    until_ms=END_S * 1000,
    markers=(
        Marker(
            title=_("An ordinary message"),
            find=act("SendMessages"),
            text=_("Another booking is sent. Its amount contains a comma."),
        ),
        Marker(
            title=_("First failure"),
            find=_first_failure,
            text=_("The handler rejects {key} in q{queue}."),
            question=_("What does this do to the other accounts of this queue, and to the other queues?"),
        ),
        Marker(
            title=_("Offset blocked"),
            find=_pinned,
            text=_(
                "{key} is rejected again each second. For 15 s it has been the oldest unfinished message of q{queue}, "
                "and the committed offset does not move."
            ),
            reveals=True,
        ),
        Marker(
            title=_("Lag grows"),
            find=lag_reaches(GROUP, TOPIC, 120),
            text=_(
                "The lag is {lag}, all of it in one queue. An alert on the total detects it late; an alert for "
                "each queue detects it at once."
            ),
        ),
        Marker(title=_("Handler fixed"), find=MENDED, text=_("The repair: the handler reads an amount with a comma.")),
        Marker(
            title=_("Order kept"),
            find=lag_falls(GROUP, TOPIC, 10, after=MENDED),
            text=_("The queue has caught up, in order. The lag is {lag}."),
        ),
    ),
)
