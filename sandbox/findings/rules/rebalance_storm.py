"""Members that come and go faster than a group rebalances: each change moves queues and repeats uncommitted messages.

Brokers notify all members of each change (`NOTIFY_CONSUMER_IDS_CHANGED`), and members rebalance then, else every 20 s
(`RebalanceService`, spec client-behaviour 5.1).
"""

from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.finding import GROUP, WARNING, Checked, Finding, Subject, say
from sandbox.findings.rule import Rule
from sandbox.findings.sampling import joined_key, left_key
from sandbox.findings.view import ClusterView, GroupNow

HOLD_MS = 10_000
REBALANCE_MS = 20_000
WITHIN_MS = 60_000
LEAST_ROUNDS = 4  # in 60 s: more often than every 20 s


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        left, joined = rounds(view, group)
        if group.clustering and min(left, joined) >= LEAST_ROUNDS:
            yield _finding(view, group, left, joined)


def rounds(view: ClusterView, group: GroupNow) -> tuple[int, int]:
    """Return how often processes left the group within the last minute, and how often some joined."""
    return (
        view.history.changes(left_key(group.name), WITHIN_MS),
        view.history.changes(joined_key(group.name), WITHIN_MS),
    )


def _finding(view: ClusterView, group: GroupNow, left: int, joined: int) -> Finding:
    ages = {key: view.at_ms - row["since_ms"] for key, row in group.online().items() if row["since_ms"] is not None}
    newest = min(ages, key=lambda key: ages[key], default=None)
    return Finding(
        CODE,
        WARNING,
        Subject(GROUP, group.name, group.name),
        (
            say("rounds", left=left, joined=joined, within_ms=WITHIN_MS),
            *([] if newest is None else [say("newest", who=newest, age_ms=ages[newest])]),
            say("costs"),
        ),
        marks=() if newest is None else (marks.member(newest),),
        touches=frozenset({f"group {group.name}", f"member {newest}"}),
    )


def checks(view: ClusterView) -> Checked:
    """Count the groups that were looked at for long enough."""
    groups = sum(1 for group in view.groups.values() if group.clustering)
    return Checked(groups if view.at_ms - view.history.began_ms >= REBALANCE_MS else 0, groups)


CODE = "rebalance_storm"
RULE = Rule(
    code=CODE,
    title="members come and go",
    hold_ms=HOLD_MS,
    sentences={
        "rounds": "Members left {left} times and joined {joined} times in {within_ms}.",
        "newest": "The newest member is {who}; it joined {age_ms} ago.",
        "costs": "Each change moves queues; messages without a committed offset are delivered again.",
    },
    find=find,
    healthy="Members stay longer than a rebalance",
    checks=checks,
    lab="rolling-restart",
    incident="rebalance-storm",
)
