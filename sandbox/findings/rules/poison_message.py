"""A message that fails again and again, and will become a dead letter.

One finding for a group: it names the message that failed most.  While a message is delivered again, it waits nowhere,
so the finding has a holding time.
"""

from collections.abc import Iterator

from sandbox.findings.figure_tables import of_attempts
from sandbox.findings.finding import GROUP, WARNING, Checked, Finding, Subject, say
from sandbox.findings.reasons import PROGRAM
from sandbox.findings.rule import Rule
from sandbox.findings.touches import of_group
from sandbox.findings.view import ClusterView, GroupNow, RetriedMessage
from sandbox.kernel.sentences import Plural

HOLD_MS = 10_000
LEAST_ATTEMPTS = 3
MOST = 5  # messages of a group: more are a bad release, not a bad message, and `retrying` says so


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        messages = _failing(group)
        if 0 < len(messages) <= MOST:
            yield _finding(view, group, messages)


def _stays(view: ClusterView, finding: Finding) -> Finding | None:
    """Return the finding while any message fails again and again: others beside it do not end it."""
    group = view.groups.get(finding.subject.group)
    messages = [] if group is None else _failing(group)
    return _finding(view, group, messages) if group is not None and messages else None


def _failing(group: GroupNow) -> list[RetriedMessage]:
    """Return the messages that failed at least `LEAST_ATTEMPTS` times, those with the most attempts first."""
    messages = [message for message in group.retried or () if message.attempts >= LEAST_ATTEMPTS]
    return sorted(messages, key=lambda message: (-message.attempts, message.key))


def _finding(view: ClusterView, group: GroupNow, messages: list[RetriedMessage]) -> Finding:
    worst, others = messages[0], len(messages) - 1
    return Finding(
        CODE,
        WARNING,
        Subject(GROUP, group.name, group.name),
        (
            say(
                "failed",
                key=worst.key,
                attempts=worst.attempts,
                most=worst.most_attempts,
                next_ms=max(0, worst.next_ms - view.at_ms),
            ),
            *([say("others", others=others, least=LEAST_ATTEMPTS)] if others else []),
        ),
        reason=PROGRAM,
        touches=of_group(group.name),
        figures=of_attempts(view, messages, about=worst.key),
    )


def checks(view: ClusterView) -> Checked:
    groups = view.groups.values()
    return Checked(sum(group.retried is not None and view.masters_run for group in groups), len(groups))


CODE = "poison_message"
RULE = Rule(
    code=CODE,
    title="a message fails again and again",
    hold_ms=HOLD_MS,
    sentences={
        "failed": "{key} failed {attempts} of {most} times; its next attempt is in {next_ms}.",
        "others": Plural(
            "others",
            "{others} more message failed at least {least} times.",
            "{others} more messages failed at least {least} times.",
        ),
    },
    find=find,
    stays=_stays,
    healthy="No message fails again and again",
    checks=checks,
    because_of=("retrying",),
    lab="dead-letter",
)
