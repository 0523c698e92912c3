"""Members that come and go faster than a group rebalances: each change moves queues and repeats uncommitted messages.

Brokers notify all members of each change (`NOTIFY_CONSUMER_IDS_CHANGED`), and members rebalance then, else every 20 s
(`RebalanceService`, spec client-behaviour 5.1).  A rolling restart whose members stay for some seconds between two
restarts is none: each process leaves once.
"""

from collections.abc import Iterator, Sequence
from math import inf
from statistics import median

from sandbox.findings import marks
from sandbox.findings.figure_tables import of_members
from sandbox.findings.finding import GROUP, WARNING, Checked, Finding, Subject, say
from sandbox.findings.reasons import PROGRAM
from sandbox.findings.rule import Rule
from sandbox.findings.sampling import joined_key, left_early_key, left_key
from sandbox.findings.view import ClusterView, GroupNow

HOLD_MS = 10_000
REBALANCE_MS = 20_000
WITHIN_MS = 60_000
LEAST_ROUNDS = 4  # in 60 s: more often than every 20 s
LEAST_EARLY = 2  # processes that left soon after they had joined
SETTLES_MS = 6_000  # between a process that joined and the next one that leaves


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        left_ms, joined_ms = (view.history.changes(key(group.name), WITHIN_MS) for key in (left_key, joined_key))
        if group.clustering and min(len(left_ms), len(joined_ms)) >= LEAST_ROUNDS:
            early = len(view.history.changes(left_early_key(group.name), WITHIN_MS))
            if early >= LEAST_EARLY or settled_ms(left_ms, joined_ms) < SETTLES_MS:
                yield _finding(view, group, len(left_ms), len(joined_ms))


def settled_ms(left_ms: Sequence[int], joined_ms: Sequence[int]) -> float:
    """Return the median time from a change that added a process to the next one that removed one.

    >>> settled_ms([0, 8_000, 16_000], [4_000, 12_000, 20_000])
    4000.0
    """
    times = [next((at_ms for at_ms in left_ms if at_ms > since_ms), None) for since_ms in joined_ms]
    pauses = [at_ms - since_ms for at_ms, since_ms in zip(times, joined_ms, strict=True) if at_ms is not None]
    return float(median(pauses)) if pauses else inf


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
        reason=PROGRAM,
        touches=frozenset({f"group {group.name}", f"member {newest}"}),
        figures=of_members(
            sorted(ages, key=lambda key: ages[key]),
            lambda key: {"age_ms": ages[key]},
            about=[newest] if newest else [],
            beside={"left": left, "joined": joined, "within_ms": WITHIN_MS},
        ),
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
