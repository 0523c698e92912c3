"""Incident: a reset by time to a timestamp earlier than intended; everything is consumed again."""

from sandbox.control.actions import CreateTopic, ResetOffsets, StartConsumer, StartProducer, Subscription
from sandbox.journal.events import OffsetsReset
from sandbox.labs.evidence import Evidence
from sandbox.labs.incidents.incident import BEGIN_MS, Incident, Marker, Moment, timed
from sandbox.labs.incidents.moments import act, fact, given_again, lag_falls, opens
from sandbox.labs.translation_marks import _

GROUP, TOPIC = "loyalty", "purchases"
RESET_S, MEND_S, END_S = 90, 105, 135
MEANT_MS, HOUR_MS = BEGIN_MS + 80_000, 3_600_000
MENDED = act("ResetOffsets", 2)


def _first_again(evidence: Evidence) -> Moment | None:
    reset = act("ResetOffsets")(evidence)
    again = [] if reset is None else [row for row in given_again(evidence, GROUP, TOPIC) if row.seq > reset.seq]
    return Moment(again[0].seq, {"key": again[0].key}) if again else None


WRONG_RESET = Incident(
    slug="reset-gone-wrong",
    title=_("A wrong reset by time"),
    complaint=_("A whole day is consumed again"),
    circumstance=_("after a reset of the offsets"),
    symptom=_(
        "Points were credited twice for purchases of the whole day, not only for the ten seconds that were "
        "to be done again."
    ),
    cause=_(
        "loyalty was reset to a time one hour too early: local time was entered as UTC. No message is that old, "
        "so each queue went back to its oldest message."
    ),
    mend=_(
        "Before you apply a reset, read which messages it repeats and skips; the preview uses the same code. "
        "Then reset again, forward to the right time, or undo it."
    ),
    finding="delivered_again",
    lab="reset-by-time",
    group=GROUP,
    topic=TOPIC,
    done=timed(
        (
            0,
            (
                CreateTopic(topic=TOPIC, write_queues=4, read_queues=4),
                *(
                    StartConsumer(
                        actor=label, group=GROUP, subscriptions=(Subscription(TOPIC),), threads=2, work_ms=(100, 240)
                    )
                    for label in ("A", "B")
                ),
                StartProducer(actor="shop", topic=TOPIC, rate_per_s=6.0, key="purchase-{n}"),
            ),
        ),
        (
            RESET_S,
            (
                ResetOffsets(
                    group=GROUP,
                    topic=TOPIC,
                    target="time",
                    value=MEANT_MS - HOUR_MS,
                    reason="credit the last ten seconds again",
                ),
            ),
        ),
        (
            MEND_S,
            (
                ResetOffsets(
                    group=GROUP,
                    topic=TOPIC,
                    target="time",
                    value=MEANT_MS,
                    confirm=GROUP,
                    reason="forward to the time that was meant",
                ),
            ),
        ),
    ),
    until_ms=END_S * 1000,
    markers=(
        Marker(
            title=_("The reset"),
            find=act("ResetOffsets"),
            text=_("The last ten seconds are to be credited again."),
            question=_("Read the time in the action. How many messages will be redelivered?"),
        ),
        Marker(
            title=_("First repetition"),
            find=_first_again,
            text=_(
                "{key} is redelivered, a minute and a half after it was finished. Lag now looks like load, but is not."
            ),
        ),
        Marker(
            title=_("Back to the beginning"),
            find=opens("delivered_again", fact(OffsetsReset, says=lambda event: {"count": event.replayed})),
            text=_(
                "The reset went back to the oldest message of each queue: {count} messages are redelivered, nine times "
                "as many as intended."
            ),
            reveals=True,
        ),
        Marker(
            title=_("The second reset"),
            find=fact(OffsetsReset, number=2, says=lambda event: {"count": event.skipped}),
            text=_(
                "The repair: a reset forward to the right time. {count} messages waiting for redelivery are skipped."
            ),
            question=_("Branch before this reset: what would an undo of the first reset have done instead?"),
        ),
        Marker(
            title=_("Caught up"),
            find=lag_falls(GROUP, TOPIC, 15, after=MENDED),
            text=_(
                "The lag is {lag}. Messages redelivered before the second reset stay credited twice, unless the "
                "handler stores keys."
            ),
        ),
    ),
)
