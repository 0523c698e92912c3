"""Members of one group that request different things, so that messages are lost for the group.

A broker keeps one subscription for a group, that of the newest heartbeat (`ConsumerGroupInfo.updateSubscription`, spec
client-behaviour 10).  It leaves out what does not match; a member drops what its own expression does not match.
"""

from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.figures import FigureRow, Figures, figures
from sandbox.findings.finding import ERROR, GROUP, Checked, Finding, Subject, say
from sandbox.findings.member_requests import STRATEGY, Request, requests_of, sentence_of
from sandbox.findings.reasons import PROGRAM
from sandbox.findings.rule import Rule
from sandbox.findings.sampling import agreed_key, left_out
from sandbox.findings.view import ClusterView, GroupNow
from sandbox.kernel.sentences import Plural

HOLD_MS = 10_000


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        requests = [request for setting in _differing(group) for request in requests_of(group, setting)]
        if requests:
            yield _finding(view, group, requests)


def _differing(group: GroupNow) -> list[str]:
    running = [name for key, name in (group.strategies or {}).items() if key in group.online()]
    return [*group.members_differ, *([STRATEGY] if group.clustering and len(set(running)) > 1 else [])]


def _finding(view: ClusterView, group: GroupNow, requests: list[Request]) -> Finding:
    members = group.online()
    dropped, passed_over = left_out(group)
    before = view.history.value(agreed_key(group.name))
    if isinstance(before, tuple):
        dropped, passed_over = max(0, dropped - before[0]), max(0, passed_over - before[1])
    return Finding(
        CODE,
        ERROR,
        Subject(GROUP, group.name, group.name),
        (
            *map(sentence_of, requests),
            *([say("dropped", dropped=dropped)] if dropped else []),
            *([say("passed_over", passed_over=passed_over)] if passed_over else []),
        ),
        marks=tuple(marks.member(key) for key in members),
        reason=PROGRAM,
        touches=frozenset({f"group {group.name}", *(f"member {key}" for key in members)}),
        figures=_figures(requests, {"dropped": dropped, "passed_over": passed_over}),
    )


def _figures(requests: list[Request], beside: dict[str, int]) -> Figures | None:
    rows = [
        FigureRow({"who": key, "setting": each.topic or each.setting, "request": each.request}, marks.member(key))
        for each in requests
        for key in each.keys
    ]
    return figures(rows, beside={name: count for name, count in beside.items() if count})


def checks(view: ClusterView) -> Checked:
    members = [row for group in view.groups.values() for row in group.online().values()]
    return Checked(sum(row["subscriptions"] is not None for row in members), len(members))


CODE = "subscriptions_differ"
RULE = Rule(
    code=CODE,
    title="different subscriptions or settings",
    hold_ms=HOLD_MS,
    of_moment=True,
    sentences={
        "expression": "{who} subscribes to {topic} with {request}.",
        "expression_more": Plural(
            "more",
            "{who} and {more} more member subscribe to {topic} with {request}.",
            "{who} and {more} more members subscribe to {topic} with {request}.",
        ),
        "topics": "{who} subscribes to {request}.",
        "topics_more": Plural(
            "more",
            "{who} and {more} more member subscribe to {request}.",
            "{who} and {more} more members subscribe to {request}.",
        ),
        "model": "The model of {who} is {request}.",
        "model_more": Plural(
            "more",
            "The model of {who} and {more} more member is {request}.",
            "The model of {who} and {more} more members is {request}.",
        ),
        "listener": "The listener of {who} is {request}.",
        "listener_more": Plural(
            "more",
            "The listener of {who} and {more} more member is {request}.",
            "The listener of {who} and {more} more members is {request}.",
        ),
        "strategy": "{who} assigns queues by {request}.",
        "strategy_more": Plural(
            "more",
            "{who} and {more} more member assign queues by {request}.",
            "{who} and {more} more members assign queues by {request}.",
        ),
        "dropped": Plural(
            "dropped",
            "Members dropped {dropped} message since the difference began.",
            "Members dropped {dropped} messages since the difference began.",
        ),
        "passed_over": Plural(
            "passed_over",
            "Brokers filtered out {passed_over} message since the difference began.",
            "Brokers filtered out {passed_over} messages since the difference began.",
        ),
    },
    find=find,
    healthy="The members of each group have the same subscriptions and settings",
    checks=checks,
    lab="two-subscriptions",
    incident="lost-subscription",
)
