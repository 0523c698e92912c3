"""Incident: a group with two subscriptions loses messages; its members disagree, and the broker keeps the newest."""

from sandbox.control.actions import ChangeActor, CreateTopic, StartConsumer, StartProducer, Subscription
from sandbox.journal.events import SubscriptionChanged
from sandbox.labs.evidence import Delivery, Evidence
from sandbox.labs.incidents.incident import Incident, Marker, Moment, timed
from sandbox.labs.incidents.moments import act, given_keys, opens
from sandbox.labs.translation_marks import _

GROUP, TOPIC = "fulfilment", "orders"
BOTH, ONE = "paid || gift", "paid"
JOIN_S, MEND_S, END_S = 40, 100, 140
MENDED = act("ChangeActor", actor="B", expression=BOTH)


def _replaced(evidence: Evidence) -> Moment | None:
    changes = [
        entry
        for entry in evidence.of(SubscriptionChanged)
        if (entry.event.group, entry.event.topic) == (GROUP, TOPIC) and entry.event.replaced
    ]
    return (
        None
        if not changes
        else Moment(changes[0].seq, {"old": changes[0].event.replaced, "new": changes[0].event.expression})
    )


def _gifts(evidence: Evidence) -> list[Delivery]:
    return [row for row in evidence.deliveries_of(GROUP) if row.key.startswith("gift-")]


def missing_gifts(evidence: Evidence) -> list[int]:
    """Return the numbers of gifts that were delivered to no member, below the highest delivered number."""
    numbers = given_keys(_gifts(evidence), "gift-")
    return sorted(set(range(1, max(numbers, default=0))) - numbers)


def _first_missing(evidence: Evidence) -> Moment | None:
    """Return the delivery of the last gift before the first missing one."""
    missing = missing_gifts(evidence)
    before = [row for row in _gifts(evidence) if missing and row.key == f"gift-{missing[0] - 1}"]
    return Moment(before[-1].seq, {"number": missing[0]}) if before else None


def _first_after(evidence: Evidence) -> Moment | None:
    mended = MENDED(evidence)
    after = [] if mended is None else [row for row in _gifts(evidence) if row.seq > mended.seq]
    return Moment(after[0].seq, {"key": after[0].key, "count": len(missing_gifts(evidence))}) if after else None


LOST_SUBSCRIPTION = Incident(
    slug="lost-subscription",
    title=_("A group with two subscriptions"),
    complaint=_("Some messages never arrive"),
    circumstance=_("no error, and the lag is 0"),
    symptom=_("Since the scale-out this morning, no gift order is delivered. No error, no lag."),
    cause=_(
        "The new group member subscribes only to the tag paid. The broker stores the newest subscription per "
        "group and skips messages that do not match; members drop those outside their own."
    ),
    mend=_(
        "One group, one subscription: use the same for all members. Skipped messages are committed, and only a "
        "reset redelivers them."
    ),
    finding="subscriptions_differ",
    lab="two-subscriptions",
    group=GROUP,
    topic=TOPIC,
    done=timed(
        (
            0,
            (
                CreateTopic(topic=TOPIC, write_queues=4, read_queues=4),
                StartConsumer(actor="A", group=GROUP, subscriptions=(Subscription(TOPIC, BOTH),)),
                *(
                    StartProducer(actor=f"shop-{tag}", topic=TOPIC, rate_per_s=4.0, tag=tag, key=f"{tag}-{{n}}")
                    for tag in ("paid", "gift")
                ),
            ),
        ),
        (JOIN_S, (StartConsumer(actor="B", group=GROUP, subscriptions=(Subscription(TOPIC, ONE),)),)),
        (MEND_S, (ChangeActor(actor="B", expression=BOTH),)),
    ),
    until_ms=END_S * 1000,
    markers=(
        Marker(
            title=_("Scale-out"),
            find=act("StartConsumer", actor="B"),
            text=_("B joins the group. Its configuration is older."),
            question=_("Which member will receive the gift orders in the queues that B acquires?"),
        ),
        Marker(
            title=_("First loss"),
            find=_first_missing,
            text=_(
                "After this event, gift-{number} reaches no member. Its offset is committed with the others, so "
                "lag does not show the loss."
            ),
        ),
        Marker(
            title=_("Subscription replaced"),
            find=opens("subscriptions_differ", _replaced),
            text=_(
                'B subscribes only to the tag paid. The broker had "{old}" for this group and now stores "{new}", also '
                "for A."
            ),
            reveals=True,
        ),
        Marker(title=_("One subscription"), find=MENDED, text=_("The repair: B subscribes to both tags.")),
        Marker(
            title=_("Gift orders again"),
            find=_first_after,
            text=_("{key} is delivered. {count} gift orders before it are never delivered."),
            question=_("Branch here: which reset redelivers them, and what else does it redeliver?"),
        ),
    ),
)
