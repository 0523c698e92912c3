"""Incident: lag after a deployment; the new version's handler is slower, and throughput falls below the send rate."""

from sandbox.control.actions import (
    ChangeActor,
    CreateTopic,
    RestartActor,
    StartConsumer,
    StartProducer,
    StopActor,
    Subscription,
)
from sandbox.labs.incidents.incident import Incident, Marker, timed
from sandbox.labs.incidents.moments import act, lag_falls, lag_reaches
from sandbox.labs.translation_marks import _

GROUP, TOPIC = "billing", "orders"
OLD_MS, NEW_MS = (50, 90), (700, 900)
RATE_PER_S = 8.0
DEPLOY_S, ROLLBACK_S, END_S = 40, 125, 150
GROWN, CAUGHT_UP = 120, 40

ROLLBACK = act("ChangeActor", 3)

SLOWER_HANDLER = Incident(
    slug="lag-after-a-deploy",
    title=_("Lag after a deploy"),
    complaint=_("Lag grows since a deploy"),
    circumstance=_("no errors, and all members run"),
    symptom=_("Since its release, the lag of billing rises by about three messages a second; there are no errors."),
    cause=_(
        "The new handler needs 0.8 s for a message instead of 0.07 s: two members with two threads finish 5 a "
        "second, but 8 arrive."
    ),
    mend=_(
        "Roll back. More members help only up to the number of queues; beyond that, use more threads or a faster "
        "handler."
    ),
    finding="consumers_too_slow",
    lab="lag-and-throughput",
    group=GROUP,
    topic=TOPIC,
    done=timed(
        (
            0,
            (
                CreateTopic(topic=TOPIC, write_queues=4, read_queues=4),
                *(
                    StartConsumer(
                        actor=label, group=GROUP, subscriptions=(Subscription(TOPIC),), threads=2, work_ms=OLD_MS
                    )
                    for label in ("A", "B")
                ),
                StartProducer(actor="shop", topic=TOPIC, rate_per_s=RATE_PER_S),
            ),
        ),
        (DEPLOY_S, (StopActor(actor="A"),)),
        (DEPLOY_S + 4, (RestartActor(actor="A"), ChangeActor(actor="A", work_ms=NEW_MS, handler="v2"))),
        (DEPLOY_S + 10, (StopActor(actor="B"),)),
        (DEPLOY_S + 14, (RestartActor(actor="B"), ChangeActor(actor="B", work_ms=NEW_MS, handler="v2"))),
        (
            ROLLBACK_S,
            (
                ChangeActor(actor="A", work_ms=OLD_MS, handler="v1"),
                ChangeActor(actor="B", work_ms=OLD_MS, handler="v1"),
            ),
        ),
    ),
    until_ms=END_S * 1000,
    markers=(
        Marker(
            title=_("The deploy"),
            find=act("StopActor", actor="A"),
            text=_("The deploy begins: A is stopped and comes back with version 2."),
            question=_("Which value shows whether the release is good?"),
        ),
        Marker(
            title=_("Version 2 on all members"),
            find=act("RestartActor", actor="B"),
            text=_("Both members run version 2. No error, no member lost."),
        ),
        Marker(
            title=_("Lag grows"),
            find=lag_reaches(GROUP, TOPIC, GROWN),
            text=_(
                'The lag is {lag}. "In / consumed" in the header shows the reason: fewer messages finish than arrive.'
            ),
            question=_("Branch here: what does a third member change, and a fifth?"),
            reveals=True,
        ),
        Marker(title=_("Roll back"), find=ROLLBACK, text=_("The repair: both members return to version 1.")),
        Marker(
            title=_("Caught up"),
            find=lag_falls(GROUP, TOPIC, CAUGHT_UP, after=ROLLBACK),
            text=_("Caught up: the lag is {lag}. No message was lost, only late."),
        ),
    ),
)
