"""A message that fails again and again, and will become a dead letter."""

from collections.abc import Iterator

from sandbox.findings.figure_tables import of_attempts
from sandbox.findings.finding import MESSAGE, WARNING, Checked, Finding, Subject, say
from sandbox.findings.reasons import PROGRAM
from sandbox.findings.rule import Rule
from sandbox.findings.touches import of_group
from sandbox.findings.view import ClusterView

HOLD_MS = 0
LEAST_ATTEMPTS = 3
MOST = 5  # messages of a group


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        failing = [message for message in group.retried or () if message.attempts >= LEAST_ATTEMPTS]
        if len(failing) > MOST:  # a bad release, not a bad message: `retrying` says so
            continue
        for message in sorted(failing, key=lambda message: -message.attempts):
            yield Finding(
                CODE,
                WARNING,
                Subject(MESSAGE, message.key, group.name),
                (
                    say(
                        "failed",
                        key=message.key,
                        attempts=message.attempts,
                        most=message.most_attempts,
                        next_ms=max(0, message.next_ms - view.at_ms),
                    ),
                ),
                reason=PROGRAM,
                touches=of_group(group.name),
                figures=of_attempts(view, failing, about=message.key),
            )


def checks(view: ClusterView) -> Checked:
    groups = view.groups.values()
    return Checked(sum(group.retried is not None and view.masters_run for group in groups), len(groups))


CODE = "poison_message"
RULE = Rule(
    code=CODE,
    title="fails again and again",
    hold_ms=HOLD_MS,
    sentences={"failed": "{key} failed {attempts} of {most} times; its next attempt is in {next_ms}."},
    find=find,
    healthy="No message fails again and again",
    checks=checks,
    because_of=("retrying",),
    lab="dead-letter",
)
