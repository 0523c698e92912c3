"""Incident: retention overtakes a slow group, because the broker deletes by age and ignores the groups' progress."""

from sandbox.control.actions import (
    AgeFiles,
    ChangeActor,
    CleanFiles,
    CreateTopic,
    StartConsumer,
    StartProducer,
    Subscription,
)
from sandbox.journal.events import MinOffsetMoved, OffsetCommitted, OffsetMoved
from sandbox.labs.evidence import Evidence
from sandbox.labs.incidents.incident import Incident, Marker, Moment, timed
from sandbox.labs.incidents.moments import act, fact, lag_falls, lag_reaches
from sandbox.labs.translation_marks import _

GROUP, TOPIC, BROKER = "archiver", "readings", "broker-a"
SLOW_MS, FAST_MS = (360, 440), (20, 40)
CLEAN_S, MEND_S, END_S = 60, 90, 130
FASTER = act("ChangeActor", actor="A")


def leap(evidence: Evidence) -> Moment | None:
    """Return the commit with which the group continues at the corrected offset; `lost`: skipped messages."""
    moved = fact(OffsetMoved, lambda event: event.group == GROUP)(evidence)
    if moved is None:
        return None
    commits = [entry for entry in evidence.of(OffsetCommitted, since=moved.seq) if entry.event.group == GROUP]
    far = [entry for entry in commits if entry.event.offset - (entry.event.previous or 0) > 40]
    return None if not far else Moment(far[0].seq, {"lost": far[0].event.offset - (far[0].event.previous or 0)})


OVERTAKEN_BY_RETENTION = Incident(
    slug="retention-overtakes-a-slow-group",
    title=_("Retention overtakes a slow group"),
    complaint=_("Lag falls suddenly, data is missing"),
    circumstance=_("the group is as slow as before"),
    symptom=_(
        "The lag of archiver fell suddenly, although it is as slow as before. Readings are missing in the archive."
    ),
    cause=_(
        "The broker deleted an old commit log file with messages that archiver had not read. The next pull of "
        "archiver was below the start of the queue, and the broker returned that start as the next offset."
    ),
    mend=_(
        "Make the group faster than the input, or keep files longer. Compare the age of the oldest unread "
        "message with the retention; a reset cannot restore deleted messages."
    ),
    finding="consumers_too_slow",
    lab="retention",
    group=GROUP,
    topic=TOPIC,
    preset="teaching",
    done=timed(
        (
            0,
            (
                CreateTopic(topic=TOPIC, write_queues=1, read_queues=1),
                StartConsumer(actor="A", group=GROUP, subscriptions=(Subscription(TOPIC),), threads=1, work_ms=SLOW_MS),
                StartProducer(actor="sensors", topic=TOPIC, rate_per_s=10.0, body_bytes=700),
            ),
        ),
        (CLEAN_S, (AgeFiles(broker=BROKER, hours=2), CleanFiles(broker=BROKER))),
        (MEND_S, (ChangeActor(actor="A", work_ms=FAST_MS),)),
    ),
    until_ms=END_S * 1000,
    markers=(
        Marker(
            title=_("Lag grows"),
            find=lag_reaches(GROUP, TOPIC, 260),
            text=_("The lag is {lag}: 10 readings arrive a second, and archiver writes 2.5."),
            reveals=True,
        ),
        Marker(
            title=_("Expired files"),
            find=act("AgeFiles"),
            text=_(
                "Here the file times are set back by two hours, instead of waiting: this broker keeps files for "
                "one hour."
            ),
            question=_("What will the broker keep for archiver?"),
        ),
        Marker(
            title=_("Deleted"),
            find=fact(MinOffsetMoved, lambda event: event.topic == TOPIC, says=lambda event: {"offset": event.offset}),
            text=_("The queue now begins at {offset}. The committed offset is smaller than this offset."),
        ),
        Marker(
            title=_("Offset corrected"),
            find=fact(
                OffsetMoved,
                lambda event: event.group == GROUP,
                says=lambda event: {"asked": event.asked, "given": event.given},
            ),
            text=_("archiver pulls at {asked}, and the broker returns {given}."),
        ),
        Marker(
            title=_("Offset jump"), find=leap, text=_("The committed offset jumps: no member archived {lost} readings.")
        ),
        Marker(
            title=_("Faster writes"), find=FASTER, text=_("The repair: archiver writes in bulk, ten times as fast.")
        ),
        Marker(
            title=_("Caught up"),
            find=lag_falls(GROUP, TOPIC, 110, after=FASTER),
            text=_("The lag is {lag}, and the rest is read long before it expires."),
        ),
    ),
)
