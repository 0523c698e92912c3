"""Half messages of transactions that no producer has ended: members do not get them yet."""

from collections.abc import Iterator

from sandbox.findings.finding import CLUSTER, WARNING, Checked, Finding, Subject, say
from sandbox.findings.reasons import PRODUCER
from sandbox.findings.rule import Rule
from sandbox.findings.view import ClusterView
from sandbox.kernel.sentences import Plural

HOLD_MS = 4_000
LEAST_AGE_MS = 30_000  # of the oldest: producers end most at once


def find(view: ClusterView) -> Iterator[Finding]:
    waiting = view.waiting
    if waiting is None or waiting.oldest_half_ms is None or view.at_ms - waiting.oldest_half_ms < LEAST_AGE_MS:
        return
    yield Finding(
        CODE,
        WARNING,
        Subject(CLUSTER, "transactions"),
        (say("open", count=waiting.half, oldest_ms=view.at_ms - waiting.oldest_half_ms), say("checks")),
        reason=PRODUCER,
        since_ms=waiting.oldest_half_ms,
    )


def checks(view: ClusterView) -> Checked:
    return Checked(int(view.waiting is not None and view.masters_run), 1)


CODE = "half_message_open"
RULE = Rule(
    code=CODE,
    title="open transactions",
    hold_ms=HOLD_MS,
    sentences={
        "open": Plural(
            "count",
            "{count} transaction is open for {oldest_ms}: members do not get its message.",
            "{count} transactions are open, the oldest for {oldest_ms}: members do not get their messages.",
        ),
        "checks": "The broker checks each with its producer at most 15 times, and then discards it.",
    },
    find=find,
    healthy="Transactions end soon",
    checks=checks,
    lab="delay-and-half",
)
