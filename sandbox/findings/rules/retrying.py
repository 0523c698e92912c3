"""Messages that failed and wait for their next attempt: they are committed, so they are no lag of their topic."""

from collections.abc import Iterator

from sandbox.findings.figure_tables import of_attempts
from sandbox.findings.finding import GROUP, WARNING, Checked, Finding, Subject, say
from sandbox.findings.reasons import ENDS
from sandbox.findings.rule import Rule
from sandbox.findings.sampling import stored_key
from sandbox.findings.touches import of_group
from sandbox.findings.view import ClusterView, GroupNow
from sandbox.kernel.sentences import Plural

HOLD_MS = 6_000
LEAST = 5  # messages
SHARE, ARRIVED_MS = 0.03, 30_000  # of what arrives within a retry or two: less are failures of single messages


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        waiting = group.retried or ()
        count = len(waiting) + (group.retrying or 0)
        if count < LEAST or count < SHARE * _arrived(view, group):
            continue
        says = [say("waiting", count=count)]
        if waiting:
            due_ms = min(message.next_ms for message in waiting)
            says.append(say("next", next_ms=max(0, due_ms - view.at_ms)))
        says.append(say("no_lag"))
        yield Finding(
            CODE,
            WARNING,
            Subject(GROUP, group.name, group.name),
            tuple(says),
            reason=ENDS,
            touches=of_group(group.name),
            figures=of_attempts(view, waiting, beside={"retries": count}),
        )


def _arrived(view: ClusterView, group: GroupNow) -> float:
    """Return the messages that `ARRIVED_MS` bring to the group's topics."""
    keys = [stored_key(queue.topic, queue.name) for queue in group.queues()]
    return (view.history.per_s(*keys) or 0.0) * ARRIVED_MS / 1000


def checks(view: ClusterView) -> Checked:
    groups = view.groups.values()
    return Checked(sum(_is_known(view, group) for group in groups), len(groups))


def _is_known(view: ClusterView, group: GroupNow) -> bool:
    return group.retrying is not None and group.retried is not None and view.masters_run


CODE = "retrying"
RULE = Rule(
    code=CODE,
    title="failed messages wait for a retry",
    hold_ms=HOLD_MS,
    sentences={
        "waiting": Plural(
            "count",
            "{count} message failed and waits for its next attempt.",
            "{count} messages failed and wait for their next attempt.",
        ),
        "next": "The next attempt is in {next_ms}.",
        "no_lag": "They are committed, so they do not count as lag of their topic.",
    },
    find=find,
    healthy="Few messages wait for a retry",
    checks=checks,
    lab="dead-letter",
    incident="retries-after-a-release",
)
