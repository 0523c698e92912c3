"""Messages that listeners of a group received more than once within the last minute, with the reason.

RocketMQ guarantees at least one delivery.  A new owner of a queue begins at the committed offset, so what a process
finished without a commit comes again (spec client-behaviour 4).  Retries are `retrying`.
"""

from collections.abc import Iterator

from sandbox.findings.finding import GROUP, WARNING, Checked, Finding, Subject, say
from sandbox.findings.reasons import ENDS
from sandbox.findings.rule import Rule
from sandbox.findings.sampling import again_key
from sandbox.findings.touches import of_group
from sandbox.findings.view import ClusterView, GroupNow
from sandbox.kernel.sentences import Plural

HOLD_MS = 0
WITHIN_MS = 60_000
REASONS = ("crash_before_commit", "reset")  # a rebalance repeats a few messages, too, which is usual


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        counts = {reason: view.history.rise(again_key(group.name, reason), WITHIN_MS) for reason in REASONS}
        total = sum(counts.values())
        if total > 0:
            reasons = [reason for reason in REASONS if counts[reason]]
            cause = say(reasons[0]) if len(reasons) == 1 else say("both", **counts)
            yield Finding(
                CODE,
                WARNING,
                Subject(GROUP, group.name, group.name),
                (say("again", again=total), cause),
                reason=ENDS,
                touches=of_group(group.name),
            )


def checks(view: ClusterView) -> Checked:
    """Count the groups whose deliveries are counted: a real cluster and external members do not report them."""
    groups = view.groups.values()
    return Checked(sum(_is_counted(group) for group in groups), len(groups))


def _is_counted(group: GroupNow) -> bool:
    return group.again is not None and all(row["actor"] is not None for row in group.online().values())


CODE = "delivered_again"
RULE = Rule(
    code=CODE,
    title="messages delivered again",
    hold_ms=HOLD_MS,
    sentences={
        "again": Plural(
            "again",
            "{again} message was delivered again within the last minute.",
            "{again} messages were delivered again within the last minute.",
        ),
        "crash_before_commit": "A member crashed between the end of processing and the commit of the offset.",
        "reset": "A reset moved the group's offsets back.",
        "both": "{crash_before_commit} after a crash before the commit, {reset} after a reset.",
    },
    find=find,
    healthy="No crash or reset repeats messages",
    checks=checks,
    lab="crash-and-stop",
    incident="duplicates-after-a-restart",
)
