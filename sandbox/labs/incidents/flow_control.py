"""Incident: a slow dependency fills a member's cache, and the member stops pulling."""

from sandbox.control.actions import ChangeActor, CreateTopic, SendMessages, StartConsumer, StartProducer, Subscription
from sandbox.journal.events import FlowControlChanged
from sandbox.labs.incidents.incident import Incident, Marker, timed
from sandbox.labs.incidents.moments import act, fact, lag_falls, lag_reaches, opens
from sandbox.labs.translation_marks import _

GROUP, TOPIC = "indexer", "documents"
SLOW_S, BURST_S, MEND_S, END_S = 25, 35, 80, 110
BURST = 1_300
FAST_MS, SLOW_MS = (5, 15), (1_900, 2_100)
MENDED = act("ChangeActor", 2)

FLOW_CONTROL = Incident(
    slug="member-holds-back",
    title=_("A throttled member"),
    complaint=_("Lag grows, but the member is idle"),
    circumstance=_("the broker is healthy"),
    symptom=_(
        "The consumer of indexer is running and connected, with little network traffic. The broker is healthy. "
        "The lag rises."
    ),
    cause=_(
        "The search engine behind indexer responds slowly. A member with 1000 messages of a queue in memory "
        "pulls only as much as it finishes: flow control protects it."
    ),
    mend=_(
        "Fix the slow system behind the handler. A higher threshold only moves waiting messages from the broker "
        "into member memory, and a crash repeats them all."
    ),
    finding="flow_control",
    lab="flow-control",
    group=GROUP,
    topic=TOPIC,
    done=timed(
        (
            0,
            (
                CreateTopic(topic=TOPIC, write_queues=1, read_queues=1),
                StartConsumer(actor="A", group=GROUP, subscriptions=(Subscription(TOPIC),), work_ms=FAST_MS),
                StartProducer(actor="crawler", topic=TOPIC, rate_per_s=4.0),
            ),
        ),
        (SLOW_S, (ChangeActor(actor="A", work_ms=SLOW_MS),)),
        (BURST_S, (SendMessages(topic=TOPIC, count=BURST),)),
        (MEND_S, (ChangeActor(actor="A", work_ms=FAST_MS),)),
    ),
    until_ms=END_S * 1000,
    markers=(
        Marker(
            title=_("Slow system behind the handler"),
            find=act("ChangeActor", actor="A"),
            text=_("The search engine now needs two seconds for a document. With twenty threads that is still enough."),
        ),
        Marker(
            title=_("A burst"),
            find=act("SendMessages"),
            text=_("A crawl produces 1300 documents at once."),
            question=_("Where will the documents wait: on the broker, or in the members?"),
        ),
        Marker(
            title=_("Lag"),
            find=lag_reaches(GROUP, TOPIC, 1_200),
            text=_("The lag is {lag}."),
        ),
        Marker(
            title=_("Throttled"),
            find=opens(
                "flow_control",
                fact(
                    FlowControlChanged,
                    lambda event: event.limit is not None,
                    says=lambda event: {"value": event.value, "allowed": event.allowed},
                ),
            ),
            text=_(
                "The member had {value} messages of one queue in memory, {allowed} are allowed: it delays its "
                "pulls. Its card shows this, without any error. The lag includes messages in its memory."
            ),
            reveals=True,
        ),
        Marker(title=_("Fast again"), find=MENDED, text=_("The repair: the search engine is fast again.")),
        Marker(
            title=_("Pulls resumed"),
            find=fact(FlowControlChanged, lambda event: event.limit is None),
            text=_("Below the threshold the member pulls as before, without a restart."),
        ),
        Marker(title=_("Caught up"), find=lag_falls(GROUP, TOPIC, 40, after=MENDED), text=_("The lag is {lag}.")),
    ),
)
