"""Incident: a master fails with asynchronous replication; answered messages that its slave lacks are lost."""

from sandbox.control.actions import (
    CreateTopic,
    CutLink,
    HealLink,
    PowerCut,
    PromoteSlave,
    RestartActor,
    StartConsumer,
    StartProducer,
    StopActor,
    Subscription,
)
from sandbox.journal.events import BrokerStopped, MessagesStored
from sandbox.labs.evidence import Evidence, Seen, queue_of
from sandbox.labs.incidents.incident import Incident, Marker, Moment, timed
from sandbox.labs.incidents.moments import act, given_keys
from sandbox.labs.translation_marks import _

GROUP, TOPIC, BROKER, SLAVE = "settlement", "payments", "broker-a", 1
APART_S, CUT_S, PROMOTE_S, BACK_S, END_S = 35, 45, 60, 66, 100
PROMOTED = act("PromoteSlave")


def given_twice(evidence: Evidence) -> list[Seen[MessagesStored]]:
    """List the messages stored at offsets that earlier messages had before."""
    ends: dict[str, int] = {}
    entries = []
    for entry in evidence.of(MessagesStored):
        queue, first = queue_of(entry.event), entry.event.first_offset
        if entry.event.topic == TOPIC:
            if first < ends.get(queue, 0):
                entries.append(entry)
            ends[queue] = max(ends.get(queue, 0), first + entry.event.count)
    return entries


def lost(evidence: Evidence) -> int:
    return sum(entry.event.count for entry in given_twice(evidence))


def missing(evidence: Evidence) -> list[int]:
    """Return the numbers of payments that were delivered to no member, below the highest delivered number."""
    numbers = given_keys(evidence.deliveries_of(GROUP), "payment-")
    return sorted(set(range(1, max(numbers, default=0))) - numbers)


def _first_twice(evidence: Evidence) -> Moment | None:
    entries = given_twice(evidence)
    return (
        None
        if not entries
        else Moment(
            entries[0].seq,
            {"offset": entries[0].event.first_offset, "queue": entries[0].event.queue_id, "lost": lost(evidence)},
        )
    )


def _dead(evidence: Evidence) -> Moment | None:
    stops = [
        entry for entry in evidence.of(BrokerStopped) if entry.event.broker == BROKER and entry.event.broker_id == 0
    ]
    return Moment(stops[0].seq, {}) if stops else None


LOST_WITH_THE_MASTER = Incident(
    slug="lost-with-the-master",
    title=_("Messages lost with the master"),
    complaint=_("Sent messages are gone"),
    circumstance=_("the producer received SEND_OK"),
    symptom=_("After the failover of broker-a, payments are missing although the producer received SEND_OK for them."),
    cause=_(
        "Replication is asynchronous: a master answers before its slave has the message. The link was cut before "
        "the master lost power, and the promoted slave lacked the last messages."
    ),
    mend=_(
        "Use SYNC_MASTER and SYNC_FLUSH where SEND_OK must mean durable; monitor replication lag. The producer "
        "must resend the missing messages."
    ),
    finding="broker_down",
    lab="flush-and-replicate",
    group=GROUP,
    topic=TOPIC,
    template="replicas",
    done=timed(
        (
            0,
            (
                CreateTopic(topic=TOPIC, write_queues=2, read_queues=2, scope=BROKER),
                StartConsumer(actor="A", group=GROUP, subscriptions=(Subscription(TOPIC),), work_ms=(40, 80)),
                StartProducer(actor="till", topic=TOPIC, rate_per_s=5.0, key="payment-{n}"),
            ),
        ),
        (APART_S, (CutLink(a=BROKER, b=f"{BROKER}.{SLAVE}"), StopActor(actor="A"))),
        (CUT_S, (PowerCut(broker=BROKER),)),
        (PROMOTE_S, (HealLink(a=BROKER, b=f"{BROKER}.{SLAVE}"), PromoteSlave(broker=BROKER, broker_id=SLAVE))),
        (BACK_S, (RestartActor(actor="A"),)),
    ),
    until_ms=END_S * 1000,
    markers=(
        Marker(
            title=_("Link cut"),
            find=act("CutLink"),
            text=_(
                "Master and slave are disconnected, and settlement is down for its release. Sends still return SEND_OK."
            ),
            question=_("What does SEND_OK guarantee now?"),
        ),
        Marker(title=_("Power cut"), find=act("PowerCut"), text=_("The machine of the master loses power.")),
        Marker(
            title=_("Failover"),
            find=PROMOTED,
            text=_("The slave is promoted to master manually. Its log ends where replication stopped."),
            reveals=True,
        ),
        Marker(
            title=_("Offsets assigned twice"),
            find=_first_twice,
            text=_(
                "Offset {offset} of q{queue} is assigned a second time: another payment had it. In total, {lost} "
                "payments with SEND_OK are lost, most of them before settlement read them."
            ),
            question=_(
                "Branch before the power cut and set replication to SYNC_MASTER: what does the producer receive?"
            ),
        ),
    ),
)
