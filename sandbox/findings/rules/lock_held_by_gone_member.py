"""Locks whose holder no longer renews them: the next owners of the queues wait until they expire.

A broker keeps a queue's lock for 60 s after its last renewal (`RebalanceLockManager`, spec broker-behaviour 6).  A
member that stops releases its locks; one that crashes does not.  A member that loses a queue while it works on its
message releases the lock 20 s later (`RebalancePushImpl.unlockDelay`).
"""

from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.figure_tables import of_queues
from sandbox.findings.finding import ERROR, MEMBER, Checked, Finding, Subject, say
from sandbox.findings.name_lists import listed
from sandbox.findings.reasons import ENDS
from sandbox.findings.rule import Rule
from sandbox.findings.view import ClusterView, GroupNow, QueueAt
from sandbox.kernel.sentences import Plural
from sandbox.queries.rows.board import QueueRow

HOLD_MS = 4_000
RENEWED_MS = 42_000  # a holder renews its locks every 20 s, and keeps one of a lost queue at work for 20 s more


def find(view: ClusterView) -> Iterator[Finding]:
    for group in view.groups.values():
        running = {key for key, row in group.online().items() if row["state"] == "running"}
        by_holder: dict[str, list[QueueAt]] = {}
        for queue in group.queues():
            holder = _lost_holder(view, group, queue, running)
            if holder is not None:
                by_holder.setdefault(holder, []).append(queue)
        for holder, queues in by_holder.items():
            yield _finding(view, group, holder, queues)


def _lost_holder(view: ClusterView, group: GroupNow, queue: QueueAt, running: set[str]) -> str | None:
    """Return the holder of a lock that is not expired, if it will not renew it and a running member waits for it."""
    lock = queue.row["lock"]
    if lock is None or not running or lock["expires_at_ms"] <= view.at_ms:
        return None
    holder, renewed_ms = lock["holder"], lock["expires_at_ms"] - view.lock_life_ms
    if holder in running:
        owns = holder in (queue.row["owner"], queue.row["assigned"])
        return None if owns or view.at_ms - renewed_ms < RENEWED_MS else holder
    return None if holder in group.online() else holder


def _finding(view: ClusterView, group: GroupNow, holder: str, queues: list[QueueAt]) -> Finding:
    locks = [lock for queue in queues if (lock := queue.row["lock"]) is not None]
    waiting = sorted({member for queue in queues if (member := queue.row["assigned"]) not in (None, holder)})
    state = group.members[holder]["state"] if holder in group.members else "gone"
    return Finding(
        CODE,
        ERROR,
        Subject(MEMBER, holder, group.name),
        (
            say(
                {"gone": "earlier", "crashed": "crashed", "running": "lost"}.get(state, "stopped"),
                count=len(queues),
                names=listed([queue.name for queue in queues]),
                who=holder,
                left_ms=max(lock["expires_at_ms"] for lock in locks) - view.at_ms,
            ),
            *([say("waits", who=waiting[0], queues=len(queues))] if len(waiting) == 1 else []),
            *([say("wait", members=len(waiting))] if len(waiting) > 1 else []),
        ),
        marks=(marks.member(holder), *(marks.queue(queue.topic, queue.name) for queue in queues)),
        reason=ENDS,
        touches=frozenset(
            {f"member {holder}", f"group {group.name}", *(f"queue {queue.topic}/{queue.name}" for queue in queues)}
        ),
        event=queues[0].row["cause"],
        figures=of_queues(
            queues,
            lambda queue: {
                "holder": holder,
                "left_ms": queue.row["lock"]["expires_at_ms"] - view.at_ms if queue.row["lock"] is not None else None,
                "waits": "" if queue.row["assigned"] in (None, holder) else queue.row["assigned"],
            },
        ),
    )


def checks(view: ClusterView) -> Checked:
    """Count the queues of orderly groups with members; a real cluster's brokers do not show their locks."""
    rows = [queue.row for group, queue in view.group_queues() if group.orderly and group.clustering and group.online()]
    return Checked(0 if view.attached else sum(_is_free_for_owner(view, row) for row in rows), len(rows))


def _is_free_for_owner(view: ClusterView, row: QueueRow) -> bool:
    """Return True if the broker runs, and no other member has a lock that is not expired."""
    lock = row["lock"]
    return row["down"] is None and (
        lock is None or lock["expires_at_ms"] <= view.at_ms or lock["holder"] in (row["owner"], row["assigned"])
    )


CODE = "lock_held_by_gone_member"
RULE = Rule(
    code=CODE,
    title="locks of a gone member",
    hold_ms=HOLD_MS,
    of_moment=True,
    sentences={
        "crashed": Plural(
            "count",
            "{names} is locked by {who}, which crashed: free in {left_ms}.",
            "{names} are locked by {who}, which crashed: free in {left_ms}.",
        ),
        "stopped": Plural(
            "count",
            "{names} is locked by {who}, which stopped without a release: free in {left_ms}.",
            "{names} are locked by {who}, which stopped without a release: free in {left_ms}.",
        ),
        "earlier": Plural(
            "count",
            "{names} is locked by an earlier process of {who}: free in {left_ms}.",
            "{names} are locked by an earlier process of {who}: free in {left_ms}.",
        ),
        "lost": Plural(
            "count",
            "{names} is locked by {who}, which does not own it any more: free in {left_ms}.",
            "{names} are locked by {who}, which does not own them any more: free in {left_ms}.",
        ),
        "waits": Plural("queues", "{who} waits for it.", "{who} waits for them."),
        "wait": "{members} members wait for them.",
    },
    find=find,
    healthy="Every lock is held by the owner of its queue",
    checks=checks,
    because_of=("member_gone_not_expelled", "member_hung", "broker_down"),
    lab="orderly-lock",
)
