"""Members with unequal numbers of queues, although all of them run.

AVG and AVG_BY_CIRCLE give shares that differ by at most 1; CONSISTENT_HASH, CONFIG and rooms do not
(`AllocateMessageQueueConsistentHash`, spec client-behaviour 5.2).
"""

from collections import Counter
from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.figure_tables import of_shares
from sandbox.findings.finding import INFO, TOPIC, Checked, Finding, Remedy, Subject, say
from sandbox.findings.reasons import ATTACHED, OUTSIDE
from sandbox.findings.rule import Rule
from sandbox.findings.view import ClusterView, GroupNow, QueueAt

HOLD_MS = 25_000  # a rebalance takes up to 20 s
EQUAL = ("AVG", "AVG_BY_CIRCLE")


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        for topic in group.topics:
            shares = shares_of(group, topic)
            if shares and max(shares.values()) - min(shares.values()) > 1:
                yield _finding(view, group, topic, shares)


def shares_of(group: GroupNow, topic: str) -> dict[str, int] | None:
    """Return the number of queues by member; None where a rebalance, a fault or a shared client id explains it."""
    listed, rows = group.listed(), group.topics[topic].values()
    readers = {key: row for key, row in group.readers(topic).items() if key in listed}
    if not group.clustering or group.shared_ids or any(row["state"] != "running" for row in readers.values()):
        return None
    if any(row["down"] or row["owner"] is None or row["owner"] != row["assigned"] for row in rows):
        return None
    queues = Counter(row["owner"] for row in rows)
    return {key: queues[key] for key in readers}


def _finding(view: ClusterView, group: GroupNow, topic: str, shares: dict[str, int]) -> Finding:
    most, least = max(shares, key=lambda key: shares[key]), min(shares, key=lambda key: shares[key])
    strategies = sorted({*(group.strategies or {}).values()}) or [group.strategy or ""]
    differ, strategy = len(strategies) > 1, strategies[0]
    fewest, more = divmod(sum(shares.values()), len(shares))
    does = say("averages", members=len(shares), fewest=fewest, highest=fewest + bool(more))
    actors = all(row["actor"] is not None for row in group.online().values())
    return Finding(
        CODE,
        INFO,
        Subject(TOPIC, topic, group.name, topic),
        (
            say(
                "shares",
                who=most,
                other=view.labels.get(least, least),
                topic=topic,
                queues=sum(shares.values()),
                most=shares[most],
                least=shares[least],
            ),
            *([say("strategies")] if differ else []),
            *([say("strategy", strategy=strategy)] if not differ and strategy and strategy not in EQUAL else []),
        ),
        marks=(marks.member(most), marks.member(least)),
        touches=frozenset({f"group {group.name}", f"member {most}", f"member {least}"}),
        remedy=Remedy("equal", "SetStrategy", {"group": group.name, "strategy": "AVG"}, does) if actors else None,
        reason=ATTACHED if view.attached else "" if actors else OUTSIDE,
        figures=of_shares(
            group, [QueueAt(topic, name, row) for name, row in group.topics[topic].items()], about=(most, least)
        ),
    )


def checks(view: ClusterView) -> Checked:
    """Count the topics of clustering groups with members, and those whose shares are known."""
    topics = [
        (group, topic)
        for group in view.groups.values()
        if group.clustering and group.online()
        for topic in group.topics
    ]
    known = sum(shares_of(group, topic) is not None for group, topic in topics)
    return Checked(known, len(topics))


CODE = "uneven_assignment"
RULE = Rule(
    code=CODE,
    title="unequal shares",
    hold_ms=HOLD_MS,
    sentences={
        "shares": "{who} has {most} of the {queues} queues of {topic}, {other} has {least}.",
        "strategies": "The members use different strategies.",
        "strategy": "{strategy} assigns unequal shares.",
        "averages": "All members use AVG: each of {members} has {fewest} to {highest} queues after the rebalance.",
        "equal": "Use AVG…",
    },
    find=find,
    healthy="Members have equal shares",
    checks=checks,
    because_of=("subscriptions_differ", "same_client_id"),
    lab="strategies",
)
