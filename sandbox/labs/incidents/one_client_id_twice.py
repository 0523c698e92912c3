"""Incident: a group is scaled out by a copied container with the same client id, and both members own the same half."""

from sandbox.control.actions import CreateTopic, StartConsumer, StartProducer, StopActor, Subscription
from sandbox.journal.events import OffsetCommitted, QueuesAssigned
from sandbox.labs.evidence import Evidence
from sandbox.labs.incidents.incident import Incident, Marker, Moment, timed
from sandbox.labs.incidents.moments import act, fact, given_again, lag_falls, lag_reaches, opens
from sandbox.labs.translation_marks import _

GROUP, TOPIC, QUEUES = "invoicing", "invoices", 4
FIRST, COPY, MENDED = "A", "B", "C"
OUT_S, MEND_S, OWN_S, END_S = 45, 105, 108, 150
WAITING = 60
COPIED = act("StartConsumer", actor=COPY)
OWN = act("StartConsumer", actor=MENDED)


def is_doubled(event: QueuesAssigned) -> bool:
    """Return whether a member computed its queues from a list that names a client id twice."""
    return (event.group, event.topic) == (GROUP, TOPIC) and len(set(event.members)) < len(event.members)


def _consumed_twice(evidence: Evidence) -> Moment | None:
    """Return the first repeated delivery after the copy was started."""
    copied = COPIED(evidence)
    again = [] if copied is None else [row for row in given_again(evidence, GROUP, TOPIC) if row.seq > copied.seq]
    return Moment(again[0].seq, {"key": again[0].key}) if again else None


def _read_again(evidence: Evidence) -> Moment | None:
    """Return the first commit, after the copy's stop, in a queue that no member owned before."""
    stopped = act("StopActor")(evidence)
    idle = unread(evidence)
    commits = (
        []
        if stopped is None
        else [
            entry
            for entry in evidence.of(OffsetCommitted)
            if (entry.event.group, entry.event.topic) == (GROUP, TOPIC)
            and entry.seq > stopped.seq
            and entry.event.queue_id in idle
        ]
    )
    return Moment(commits[0].seq, {"queue": f"q{commits[0].event.queue_id}"}) if commits else None


def unread(evidence: Evidence) -> set[int]:
    """Return the ids of the queues that no member owned while the member list named a client id twice."""
    doubled = [entry.event for entry in evidence.of(QueuesAssigned) if is_doubled(entry.event)]
    taken = {int(key.rpartition("/")[2]) for event in doubled for key in event.queues}
    return set(range(QUEUES)) - taken if doubled else set()


def _member(label: str, client_id_of: str | None = None) -> StartConsumer:
    return StartConsumer(
        actor=label,
        group=GROUP,
        subscriptions=(Subscription(TOPIC),),
        threads=2,
        work_ms=(80, 160),
        client_id_of=client_id_of,
    )


ONE_CLIENT_ID_TWICE = Incident(
    slug="one-client-id-twice",
    title=_("Half the queues lag, the rest is delivered twice"),
    complaint=_("Half of the queues lag"),
    circumstance=_("the other half is delivered twice"),
    symptom=_(
        "invoicing was scaled from one container to two. Since then two of the four queues of invoices lag. "
        "Customers receive each invoice of the other two twice. Both members are connected."
    ),
    cause=_(
        "Both containers have one client ID: same host address, same instance name. The broker lists it twice. "
        "Each member computes its queues from its position in that list, and both find the first position. They "
        "acquire the same half, and no member reads the other half."
    ),
    mend=_(
        "Give each process its own client ID: another instance name, or its own address. Compare the expected "
        "number of members with the number of distinct client IDs."
    ),
    finding="same_client_id",
    lab="members-and-queues",
    group=GROUP,
    topic=TOPIC,
    done=timed(
        (
            0,
            (
                CreateTopic(topic=TOPIC, write_queues=QUEUES, read_queues=QUEUES),
                _member(FIRST),
                StartProducer(actor="office", topic=TOPIC, rate_per_s=4.0, key="invoice-{n}"),
            ),
        ),
        (OUT_S, (_member(COPY, client_id_of=FIRST),)),
        (MEND_S, (StopActor(actor=COPY),)),
        (OWN_S, (_member(MENDED),)),
    ),
    until_ms=END_S * 1000,
    markers=(
        Marker(
            title=_("Scale-out"),
            find=COPIED,
            text=_("A second container starts with the settings of the first one."),
            question=_("Which queues will each of the two members read?"),
        ),
        Marker(
            title=_("Consumed twice"),
            find=_consumed_twice,
            text=_("{key} is consumed for the second time."),
        ),
        Marker(
            title=_("One client ID, listed twice"),
            find=opens(
                "same_client_id",
                fact(
                    QueuesAssigned,
                    is_doubled,
                    says=lambda event: {"members": len(event.members), "queues": len(event.queues), "all": QUEUES},
                ),
            ),
            text=_(
                "The broker lists {members} members, both with one ID. A member finds the first position of the "
                "ID in the list, and acquires {queues} of {all} queues. The other member acquires the same "
                "queues."
            ),
            reveals=True,
        ),
        Marker(
            title=_("Half of the queues wait"),
            find=lag_reaches(GROUP, TOPIC, WAITING),
            text=_("The lag is {lag}, nearly all of it in the two queues that no member reads. No error is reported."),
        ),
        Marker(
            title=_("Copy stopped"),
            find=act("StopActor"),
            text=_("The repair begins: the copy is stopped. The broker lists the ID once."),
        ),
        Marker(
            title=_("Queue read again"),
            find=_read_again,
            text=_("{queue} has a reader again: the first container reads all four queues."),
        ),
        Marker(
            title=_("Its own client ID"),
            find=OWN,
            text=_("A second container starts, now with its own client ID. Each of the two receives two queues."),
        ),
        Marker(title=_("Caught up"), find=lag_falls(GROUP, TOPIC, 10, after=OWN), text=_("The lag is {lag}.")),
    ),
)
