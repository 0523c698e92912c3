"""Incident: retries pile up after a bad release.

Every message is refused, sent to the retry topic, and counts as consumed.
"""

from sandbox.control.actions import ChangeActor, CreateTopic, StartConsumer, StartProducer, Subscription
from sandbox.journal.events import MessageRetried
from sandbox.labs.evidence import Evidence
from sandbox.labs.incidents.incident import Find, Incident, Marker, Moment, timed
from sandbox.labs.incidents.moments import act
from sandbox.labs.translation_marks import _

GROUP, TOPIC = "invoicing", "orders"
RELEASE_S, MEND_S, END_S = 30, 100, 175
RELEASED = act("ChangeActor", fail_percent=100.0)
MENDED = act("ChangeActor", fail_percent=0.0)


def waiting(evidence: Evidence, seq: int) -> set[str]:
    """Return the keys of messages that were refused and had not succeeded at this seq."""
    keys: set[str] = set()
    for row in evidence.deliveries_of(GROUP):
        if row.seq > seq:
            break
        if row.outcome == "SUCCESS":
            keys.discard(row.key)
        else:
            keys.add(row.key)
    return keys


def _first_refused(evidence: Evidence) -> Moment | None:
    refused = [row for row in evidence.deliveries_of(GROUP) if row.outcome != "SUCCESS"]
    return Moment(refused[0].seq, {"key": refused[0].key}) if refused else None


def _retried(times: int) -> Find:
    """Return a `Find` for the first message at its `times`-th retry, with the number of waiting messages."""

    def find(evidence: Evidence) -> Moment | None:
        retries = [
            entry
            for entry in evidence.of(MessageRetried)
            if entry.event.group == GROUP and entry.event.reconsume_times == times
        ]
        return Moment(retries[0].seq, {"count": len(waiting(evidence, retries[0].seq))}) if retries else None

    return find


def _mended(evidence: Evidence) -> Moment | None:
    mended = MENDED(evidence)
    return None if mended is None else Moment(mended.seq, {"count": len(waiting(evidence, mended.seq))})


def _last_done(evidence: Evidence) -> Moment | None:
    """Return the event at which the last refused message succeeded; None if one is left."""
    mended = MENDED(evidence)
    if mended is None or not (left := waiting(evidence, mended.seq)):
        return None
    for row in evidence.deliveries_of(GROUP, since=mended.seq):
        if row.outcome == "SUCCESS":
            left.discard(row.key)
        if not left:
            return Moment(row.seq, {"key": row.key, "late_s": (row.at_ms - _at_ms(evidence, mended.seq)) // 1000})
    return None


def _at_ms(evidence: Evidence, seq: int) -> int:
    return next(entry.at_ms for entry in evidence.actions("ChangeActor") if entry.seq == seq)


RETRIES_PILE_UP = Incident(
    slug="retries-after-a-release",
    title=_("No lag, but no work done"),
    complaint=_("The lag is 0, but nothing gets done"),
    circumstance=_("since the release; all members run"),
    symptom=_("Since the release no invoice is written. The lag of orders is 0, all members run."),
    cause=_(
        "The new release rejects every order. A rejected message goes to the retry topic of the group and counts "
        "as consumed. It is redelivered after 10 s, 30 s, 1 min, and so on."
    ),
    mend=_(
        "Roll back soon: each rejection extends the next delay. After sixteen retries (four and three quarter "
        "hours), a message goes to the dead-letter queue and is not redelivered automatically. Alert on "
        "rejections and retries, not on lag."
    ),
    finding="retrying",
    lab="dead-letter",
    group=GROUP,
    topic=TOPIC,
    done=timed(
        (
            0,
            (
                CreateTopic(topic=TOPIC, write_queues=4, read_queues=4),
                StartConsumer(actor="A", group=GROUP, subscriptions=(Subscription(TOPIC),), work_ms=(20, 60)),
                StartProducer(actor="shop", topic=TOPIC, rate_per_s=2.0),
            ),
        ),
        (RELEASE_S, (ChangeActor(actor="A", handler="v2", fail_percent=100.0),)),
        (MEND_S, (ChangeActor(actor="A", handler="v1", fail_percent=0.0),)),
    ),
    until_ms=END_S * 1000,
    markers=(
        Marker(title=_("The release"), find=RELEASED, text=_("Version 2 starts.")),
        Marker(
            title=_("First rejection"),
            find=_first_refused,
            text=_("{key} is rejected."),
            question=_("What will the lag of orders be in half a minute?"),
        ),
        Marker(
            title=_("Second rejection"),
            find=_retried(2),
            text=_(
                "The order waited for 10 s in the retry topic, was redelivered and rejected again, and now waits for "
                "30 s. {count} orders are waiting by now; the lag is 0."
            ),
            reveals=True,
        ),
        Marker(
            title=_("Third rejection"),
            find=_retried(3),
            text=_(
                "Now the order waits for a minute. {count} orders are waiting, and the oldest have the longest delays."
            ),
        ),
        Marker(
            title=_("Roll back"),
            find=_mended,
            text=_("The repair: version 1 again. {count} orders are waiting for their next try."),
            question=_("How long will the last waiting order take, although the fault is fixed?"),
        ),
        Marker(
            title=_("The last order"),
            find=_last_done,
            text=_("{key} is done, {late_s} s after the repair: a retry keeps its delay."),
        ),
    ),
)
