"""A group whose lag grows because its members finish less than arrives, although they are always at work."""

from collections.abc import Iterator
from dataclasses import replace

from sandbox.findings import marks
from sandbox.findings.figure_tables import of_queues
from sandbox.findings.figures import Figures, Values
from sandbox.findings.finding import GROUP, WARNING, Checked, Finding, Remedy, Said, Subject, say
from sandbox.findings.reasons import ATTACHED, OUTSIDE, PROGRAM, THREADS
from sandbox.findings.rule import Rule
from sandbox.findings.rules.offset_pinned import lasting_pin
from sandbox.findings.sampling import busy_key, committed_key, lag_key, stored_key
from sandbox.findings.view import ClusterView, GroupNow, QueueAt
from sandbox.findings.workload import WINDOW_MS, Work, busy_members, flow_of, flow_of_members, work_of
from sandbox.kernel.sentences import Plural
from sandbox.queries.rows.board import MemberRow

HOLD_MS = 20_000
LAG_WINDOW_MS = 60_000
LATELY_MS = 16_000  # less than the hold time: the lag falls again after a burst
LEAST_LAG = 20  # messages: less is the work of a moment
COMMIT_S = 5.0  # between two commits the lag rises by what arrives
GROWS_PER_S, GROWS_SHARE = 0.2, 0.03  # messages, and their share of what arrives: less is the noise of commits
DRAINED_MS = 60_000  # in which the lag is gone: less is the end of it
NOW_MS = 10_000  # two commits
SAME_PACE = 1.1  # between the pace of now and that of the window: beyond it the pace has just changed


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        if group.clustering and group.online() and (group.lag or 0) >= LEAST_LAG:
            flow = flow_of(view, group)
            if flow is None or not _grows(view, group, *flow):
                continue
            busy = busy_members(view, group)
            if busy or (busy is None and not _is_held(view, group)):
                yield _finding(view, group, flow, busy)


def _drains(view: ClusterView, finding: Finding) -> Finding | None:
    """Return the finding of a group whose busy members finish more than arrives by now, but have much lag left."""
    group = view.groups.get(finding.subject.group)
    flow = None if group is None else flow_of(view, group)
    busy = busy_members(view, group) if group is not None else None
    if group is None or flow is None or not busy or (group.lag or 0) < LEAST_LAG:
        return None
    before_per_s, falls_per_s = (
        -(view.history.trend_per_s(lag_key(group.name), window_ms=window_ms) or 0) for window_ms in (WINDOW_MS, NOW_MS)
    )
    left_ms = round(1000 * (group.lag or 0) / falls_per_s) if falls_per_s > 0 else None
    if left_ms is not None and left_ms < DRAINED_MS:
        return None
    lasting = _finding(view, group, flow, busy)
    if flow[1] > flow[0]:
        rates, *others = lasting.says
        lasting = replace(lasting, says=(rates._replace(sentence="falls"), *others))
    if left_ms is None or not falls_per_s / SAME_PACE <= before_per_s <= falls_per_s * SAME_PACE:
        return lasting
    figures = lasting.figures
    if figures is not None:
        more = {"lag": group.lag, "falls_per_s": round(falls_per_s, 1), "gone_ms": left_ms}
        figures = figures._replace(beside={**figures.beside, **more})
    return replace(lasting, says=(*lasting.says, say("drains", left_ms=left_ms)), figures=figures)


def _is_held(view: ClusterView, group: GroupNow) -> bool:
    """Return True if one message holds a committed offset: then the commits are not what members finish."""
    return any(lasting_pin(view, group, queue) for queue in group.queues())


def _grows(view: ClusterView, group: GroupNow, stored: float, done: float) -> bool:
    """Return True if more arrives than is finished, and the lag is larger and grows faster than commits alone make."""
    least_per_s = _least_per_s(stored)
    lag_per_s, lately_per_s = (
        view.history.trend_per_s(lag_key(group.name), window_ms=window_ms) for window_ms in (LAG_WINDOW_MS, LATELY_MS)
    )
    return (
        stored - done >= least_per_s
        and (group.lag or 0) >= COMMIT_S * stored
        and lag_per_s is not None
        and lag_per_s >= least_per_s
        and lately_per_s is not None
        and lately_per_s > 0
    )


def _least_per_s(stored: float) -> float:
    return max(GROWS_PER_S, GROWS_SHARE * stored)


def _finding(
    view: ClusterView, group: GroupNow, flow: tuple[float, float], busy: dict[str, MemberRow] | None
) -> Finding:
    stored, done = flow
    work = work_of(view, group, busy) if busy else None
    alone = _too_much_alone(view, group, busy) if busy else None
    helps = bool(busy) and alone is None and _is_room(group)
    return Finding(
        CODE,
        WARNING,
        Subject(GROUP, group.name, group.name),
        (
            say("rates", window_ms=WINDOW_MS, in_per_s=round(stored, 1), out_per_s=round(done, 1)),
            *(
                [say("threads_unknown")]
                if busy is None
                else []
                if work is None
                else [*_busy(work), *_help(group, work, alone)]
            ),
        ),
        marks=(marks.IN_OUT, marks.LAG, *(marks.threads(key) for key in busy or ())),
        touches=frozenset({f"group {group.name}", *(f"member {key}" for key in busy or ())}),
        remedy=Remedy("add", "StartConsumer", {"group": group.name}, _joins(group, work)) if helps else None,
        reason=_reason(view, group, busy, helps=helps),
        figures=_figures(view, group, flow, work),
    )


def _figures(view: ClusterView, group: GroupNow, flow: tuple[float, float], work: Work | None) -> Figures | None:
    """Return what arrives at each queue, what its member finishes, and what it would with the needed threads."""
    history, members, busy = view.history, group.online(), {} if work is None else work.members
    more = work.needed / work.threads if work is not None and work.needed and not group.orderly else None

    def values(queue: QueueAt) -> Values:
        owner = queue.row["owner"] or ""
        stored = history.trend_per_s(stored_key(queue.topic, queue.name), window_ms=WINDOW_MS)
        done = history.trend_per_s(committed_key(group.name, queue), window_ms=WINDOW_MS)
        at_work = history.mean(busy_key(group.name, owner), WINDOW_MS)
        threads = members[owner]["threads"] if owner in members else None
        then = done * (more if owner in busy else 1) if done is not None and more is not None else None
        return {
            "in_per_s": _rounded(stored),
            "out_per_s": _rounded(done),
            "busy_percent": round(100 * at_work / threads) if at_work is not None and threads else None,
            **({} if more is None else {"then_per_s": _rounded(then)}),
        }

    beside: dict[str, object] = {}
    if work is not None:
        beside = {"at_work": (len(busy), work.every), "threads": work.threads}
        beside |= {name: value for name, value in (("each_ms", work.each_ms), ("needed", work.needed)) if value}
    return of_queues(
        group.queues(),
        values,
        about=[queue for queue in group.queues() if queue.row["owner"] in busy],
        total={"in_per_s": round(flow[0], 1), "out_per_s": round(flow[1], 1)},
        beside=beside,
        window_ms=WINDOW_MS,
    )


def _rounded(per_s: float | None) -> float | None:
    return None if per_s is None else round(per_s, 1)


def _joins(group: GroupNow, work: Work | None) -> Said:
    """Return what a new member does; if all members are always at work, also whether its threads are enough."""
    members = group.online()
    values = {"group": group.name, "members": len(members) + 1, "queues": len(group.queues())}
    if work is None or not work.needed or len(work.members) < work.every:
        return say("joins", **values)
    newest = max(members.values(), key=lambda row: row["since_ms"] or 0)
    threads = work.threads + (newest["threads"] or 0)
    return (
        say("joins", **values)
        if threads >= work.needed
        else say("joins_few", **values, threads=threads, needed=work.needed)
    )


def _is_room(group: GroupNow) -> bool:
    """Return True if a queue is free for another member, and the members are of this process."""
    members = group.online()
    return len(members) < len(group.queues()) and all(row["actor"] is not None for row in members.values())


def _reason(view: ClusterView, group: GroupNow, busy: dict[str, MemberRow] | None, *, helps: bool) -> str:
    if view.attached:
        return ATTACHED
    if any(row["actor"] is None for row in group.online().values()):
        return OUTSIDE
    return "" if helps else PROGRAM if group.orderly else THREADS


def _busy(work: Work) -> Iterator[Said]:
    busy, threads = work.members, work.threads
    if len(busy) == 1:
        yield say("one_busy", who=next(iter(busy)), threads=threads)
    elif len(busy) == work.every:
        yield say("all_busy", members=len(busy), threads=threads)
    else:
        yield say("some_busy", members=len(busy), every=work.every, threads=threads)
    if work.each_ms is not None:
        yield say("each", each_ms=work.each_ms)


def _help(group: GroupNow, work: Work, alone: QueueAt | None) -> Iterator[Said]:
    """Yield the sentence about the number of threads or members that would be enough."""
    queues, needed = len(group.queues()), work.needed
    if alone is not None:
        yield say("alone", queue=alone.name, who=alone.row["owner"])
    elif group.orderly and work.threads >= queues:
        yield say("orderly_limit", queues=queues)
    elif work.every >= queues:
        yield say("more_threads", needed=needed, queues=queues) if needed else say("more_threads_only", queues=queues)
    else:
        yield say("more_members", queues=queues, members=work.every)


def _too_much_alone(view: ClusterView, group: GroupNow, busy: dict[str, MemberRow]) -> QueueAt | None:
    """Return a queue that alone gets more than its member finishes, if only one member is busy."""
    _, done = flow_of_members(view, group, busy) if len(busy) == 1 else (None, None)
    if done is None:
        return None
    for queue in group.queues():
        if queue.row["owner"] in busy:
            stored = view.history.trend_per_s(stored_key(queue.topic, queue.name), window_ms=WINDOW_MS)
            if stored is not None and stored > done:
                return queue
    return None


def checks(view: ClusterView) -> Checked:
    """Count the groups with members, and those of which it is known: not while a master is down, or the lag rises."""
    groups = [group for group in view.groups.values() if group.clustering and group.online()]
    return Checked(sum(_keeps_up(view, group) for group in groups), len(groups))


def _keeps_up(view: ClusterView, group: GroupNow) -> bool:
    flow = flow_of(view, group)
    if group.lag is None or flow is None or any(queue.row["down"] is not None for queue in group.queues()):
        return False
    stored, _ = flow
    lately_per_s = view.history.trend_per_s(lag_key(group.name), window_ms=LATELY_MS) or 0
    return group.lag < max(LEAST_LAG, COMMIT_S * stored) or lately_per_s < _least_per_s(stored)


CODE = "consumers_too_slow"
RULE = Rule(
    code=CODE,
    title="members too slow",
    hold_ms=HOLD_MS,
    sentences={
        "rates": "Over {window_ms}, {in_per_s} messages arrived per second, and members finished {out_per_s}.",
        "falls": (
            "The lag falls: over {window_ms}, {in_per_s} messages arrived per second, and members finished {out_per_s}."
        ),
        "one_busy": Plural(
            "threads",
            "The {threads} thread of {who} is always at work.",
            "All {threads} threads of {who} are always at work.",
        ),
        "all_busy": "All {threads} threads of {members} members are always at work.",
        "some_busy": "{members} of {every} members are always at work, with all their {threads} threads.",
        "each": "A message takes about {each_ms}.",
        "alone": "{queue} alone gets more than {who} finishes: more threads help, another member does not.",
        "threads_unknown": "The members do not report their threads.",
        "more_threads": Plural(
            "queues",
            "More threads help (about {needed}); another member does not: there is {queues} queue.",
            "More threads help (about {needed}); another member does not: there are {queues} queues.",
        ),
        "more_threads_only": Plural(
            "queues",
            "More threads help; another member does not: there is {queues} queue.",
            "More threads help; another member does not: there are {queues} queues.",
        ),
        "more_members": "More threads help, and more members up to {queues}, the number of queues.",
        "drains": "At this pace the lag is gone in {left_ms}.",
        "add": "Add a member…",
        "joins": "A member like the newest one joins. The rebalance divides {queues} queues among {members} members.",
        "joins_few": (
            "A member like the newest one joins. The rebalance divides {queues} queues among {members} members. "
            "Then there are {threads} threads; about {needed} are needed."
        ),
        "orderly_limit": Plural(
            "queues",
            "One thread processes an ordered queue: only a faster listener or more than {queues} queue helps.",
            "One thread processes an ordered queue: only a faster listener or more than {queues} queues help.",
        ),
    },
    find=find,
    stays=_drains,
    healthy="Every group finishes as many messages as arrive",
    checks=checks,
    because_of=(
        "offset_pinned",
        "member_hung",
        "broker_down",
        "same_client_id",
        "subscriptions_differ",
        "queue_without_reader",
        "hot_queue",
    ),
    lab="lag-and-throughput",
    incident="lag-after-a-deploy",
)
