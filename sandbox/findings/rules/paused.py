"""A group that brokers do not let consume: its subscription group has consumeEnable false.

Brokers refuse its pulls with NO_PERMISSION (`PullMessageProcessor`, spec broker-behaviour 3.1).
"""

from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.figure_tables import ends, of_queues
from sandbox.findings.finding import GROUP, WARNING, Checked, Finding, Remedy, Subject, say
from sandbox.findings.reasons import ATTACHED
from sandbox.findings.rule import Rule
from sandbox.findings.view import ClusterView, GroupNow
from sandbox.kernel.sentences import Plural
from sandbox.queries.rows.lag import row_lag

HOLD_MS = 2_000


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        if group.consume_enabled is False:
            yield _finding(view, group)


def _finding(view: ClusterView, group: GroupNow) -> Finding:
    does = say("reads", group=group.name) if not group.lag else say("reads_lag", group=group.name, waiting=group.lag)
    remedy = Remedy("enable", "ChangeGroup", {"group": group.name, "changes": {"consume_enable": True}}, does)
    return Finding(
        CODE,
        WARNING,
        Subject(GROUP, group.name, group.name),
        (say("refused", group=group.name), *([say("waiting", waiting=group.lag)] if group.lag else [])),
        marks=(marks.LAG,),
        touches=frozenset({f"group {group.name}"}),
        remedy=None if view.attached else remedy,
        reason=ATTACHED if view.attached else "",
        figures=of_queues(
            group.queues(),
            lambda queue: {**ends(queue), "waiting": row_lag(queue.row)},
            beside={} if group.lag is None else {"lag": group.lag},
        ),
    )


def checks(view: ClusterView) -> Checked:
    known = sum(group.consume_enabled is not None for group in view.groups.values())
    return Checked(known, len(view.groups))


CODE = "paused"
RULE = Rule(
    code=CODE,
    title="not allowed to consume",
    hold_ms=HOLD_MS,
    of_moment=True,
    sentences={
        "refused": "Brokers refuse the pulls of {group}: consumeEnable of its subscription group is false.",
        "waiting": Plural("waiting", "{waiting} message waits.", "{waiting} messages wait."),
        "reads": "Brokers answer the pulls of {group} again.",
        "reads_lag": Plural(
            "waiting",
            "Brokers answer the pulls of {group} again: members get the {waiting} message that waits.",
            "Brokers answer the pulls of {group} again: members get the {waiting} messages that wait.",
        ),
        "enable": "Let {group} consume…",
    },
    find=find,
    healthy="Every group may consume",
    checks=checks,
)
