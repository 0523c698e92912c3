"""Messages that their producers delayed: they wait by order, and are not late."""

from collections.abc import Iterator

from sandbox.findings.finding import INFO, TOPIC, Checked, Finding, Subject, say
from sandbox.findings.reasons import ENDS
from sandbox.findings.rule import Rule
from sandbox.findings.touches import of_topic
from sandbox.findings.view import ClusterView
from sandbox.kernel.sentences import Plural

HOLD_MS = 4_000


def find(view: ClusterView) -> Iterator[Finding]:
    if view.waiting is None:
        return
    for topic, count in view.waiting.delayed.items():
        yield Finding(
            CODE,
            INFO,
            Subject(TOPIC, topic, "", topic),
            (
                say("delayed", count=count, topic=topic),
                say("next", next_ms=max(0, view.waiting.delayed_until_ms[topic] - view.at_ms)),
            ),
            reason=ENDS,
            touches=of_topic(topic),
        )


def checks(view: ClusterView) -> Checked:
    return Checked(int(view.waiting is not None and view.masters_run), 1)


CODE = "delay_waiting"
RULE = Rule(
    code=CODE,
    title="delayed messages wait",
    hold_ms=HOLD_MS,
    sentences={
        "delayed": Plural(
            "count",
            "{count} message of {topic} is delayed by its producer. It is not late.",
            "{count} messages of {topic} are delayed by their producer. They are not late.",
        ),
        "next": "The next one is delivered in {next_ms}.",
    },
    find=find,
    healthy="No message is delayed",
    checks=checks,
    lab="delay-and-half",
)
