"""A master that stores no message, because its disk is full or fails."""

from collections.abc import Iterator

from sandbox.findings.finding import BROKER, ERROR, Checked, Finding, Remedy, Subject, say
from sandbox.findings.reasons import ATTACHED
from sandbox.findings.rule import Rule
from sandbox.findings.touches import of_broker
from sandbox.findings.view import ClusterView

HOLD_MS = 2_000
REFUSING = ("full", "failing")


def find(view: ClusterView) -> Iterator[Finding]:
    for node, row in view.brokers.items():
        if row["role"] == "master" and row["disk"] in REFUSING:
            yield Finding(
                CODE,
                ERROR,
                Subject(BROKER, node),
                (say(str(row["disk"]), broker=row["broker"]), say("others")),
                touches=of_broker(row["broker"]),
                remedy=None if view.attached else _free(row["broker"]),
                reason=ATTACHED if view.attached else "",
            )


def _free(broker: str) -> Remedy:
    return Remedy("free", "FreeDisk", {"broker": broker}, say("stores", broker=broker))


def checks(view: ClusterView) -> Checked:
    rows = [row for row in view.brokers.values() if row["role"] == "master"]
    return Checked(sum(row["disk"] is not None and row["state"] == "running" for row in rows), len(rows))


CODE = "writes_refused"
RULE = Rule(
    code=CODE,
    title="stores no message",
    hold_ms=HOLD_MS,
    of_moment=True,
    sentences={
        "full": "{broker} stores no message: its disk is full.",
        "failing": "{broker} stores no message: its disk fails.",
        "others": "Producers try other brokers; members still read.",
        "free": "Free the disk of {broker}…",
        "stores": "The disk of {broker} has room again, and the broker stores messages.",
    },
    find=find,
    healthy="Masters store messages",
    checks=checks,
    lab="failed-send",
)
