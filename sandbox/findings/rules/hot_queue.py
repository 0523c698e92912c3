"""A queue that gets most of a topic's messages: keys are hashed, and a few keys have most of the messages."""

from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.figures import FigureRow, Figures, figures
from sandbox.findings.finding import QUEUE, WARNING, Checked, Finding, Subject, say
from sandbox.findings.reasons import PROGRAM
from sandbox.findings.rule import Rule
from sandbox.findings.sampling import stored_key, write_queues_key
from sandbox.findings.touches import of_topic_queue
from sandbox.findings.view import ClusterView
from sandbox.queries.rows.snapshot import TopicRow

HOLD_MS = 20_000
WINDOW_MS = 60_000
ROUTE_MS = 30_000  # until producers send to new queues
LEAST_QUEUES, LEAST_PER_S = 3, 2.0
SHARE, TIMES_MEAN = 0.4, 2.0  # of the topic's messages, and of a queue's mean


def find(view: ClusterView) -> Iterator[Finding]:
    for topic in view.topics.values():
        grew = view.history.changes(write_queues_key(topic["topic"]), ROUTE_MS + WINDOW_MS - HOLD_MS)
        if topic["kind"] != "normal" or grew:
            continue
        rates = rates_of(view, topic)
        total = sum(rates.values())
        if len(rates) < LEAST_QUEUES or total < LEAST_PER_S:
            continue
        queue, per_s = max(rates.items(), key=lambda item: item[1])
        if per_s / total >= max(SHARE, TIMES_MEAN / len(rates)):
            yield Finding(
                CODE,
                WARNING,
                Subject(QUEUE, queue, "", topic["topic"]),
                (
                    say(
                        "share",
                        queue=queue,
                        percent=round(100 * per_s / total),
                        topic=topic["topic"],
                        per_s=round(per_s, 1),
                        all_per_s=round(total, 1),
                    ),
                    say("help", queues=len(rates)),
                ),
                marks=(marks.queue(topic["topic"], queue),),
                reason=PROGRAM,
                touches=of_topic_queue(view, topic["topic"], queue),
                figures=_figures(topic["topic"], rates, queue, total),
            )


def _figures(topic: str, rates: dict[str, float], hot: str, total: float) -> Figures | None:
    rows = [
        FigureRow(
            {"queue": queue, "per_s": round(per_s, 1), "share_percent": round(100 * per_s / total)},
            marks.queue(topic, queue),
            queue == hot,
        )
        for queue, per_s in sorted(rates.items(), key=lambda item: -item[1])
    ]
    return figures(rows, total={"per_s": round(total, 1), "share_percent": 100}, window_ms=WINDOW_MS)


def rates_of(view: ClusterView, topic: TopicRow) -> dict[str, float]:
    """Return the messages stored per second by queue, of the queues whose rate is known."""
    queues = [f"{row['broker']}:{row['queue_id']}" for row in topic["queues"][:1024]]
    rates = {queue: view.history.per_s(stored_key(topic["topic"], queue), window_ms=WINDOW_MS) for queue in queues}
    return {queue: rate for queue, rate in rates.items() if rate is not None}


def checks(view: ClusterView) -> Checked:
    topics = [topic for topic in view.topics.values() if topic["kind"] == "normal"]
    known = sum(len(rates_of(view, topic)) == len(topic["queues"]) for topic in topics)
    return Checked(known, len(topics))


CODE = "hot_queue"
RULE = Rule(
    code=CODE,
    title="most messages of the topic",
    hold_ms=HOLD_MS,
    sentences={
        "share": "{queue} gets {percent} % of the messages of {topic}: {per_s} of {all_per_s} per second.",
        "help": "One member processes them; more members do not help. Choose keys that spread over {queues} queues.",
    },
    find=find,
    healthy="Messages spread over the queues of a topic",
    checks=checks,
    lab="hot-queue",
    incident="hot-queue",
)
