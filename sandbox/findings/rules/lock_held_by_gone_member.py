"""A lock whose holder no longer renews it: the next owner of the queue waits until it expires.

A broker keeps a queue's lock for 60 s after its last renewal (`RebalanceLockManager`, spec broker-behaviour 6).  A
member that stops releases its locks; one that crashes does not.
"""

from collections.abc import Iterator

from sandbox.findings import marks
from sandbox.findings.finding import ERROR, QUEUE, Checked, Finding, Subject, say
from sandbox.findings.rule import Rule
from sandbox.findings.view import ClusterView, GroupNow, QueueAt

HOLD_MS = 4_000
RENEWED_MS = 25_000  # a holder renews its locks every 20 s


def find(view: ClusterView) -> Iterator[Finding]:
    for group, queue in view.group_queues():
        lock, running = queue.row["lock"], _running(group)
        if lock is None or not running or lock["expires_at_ms"] <= view.at_ms:
            continue
        holder = lock["holder"]
        silent_ms = view.at_ms - (lock["expires_at_ms"] - view.lock_life_ms)
        lost = holder not in (queue.row["owner"], queue.row["assigned"]) and silent_ms >= RENEWED_MS
        if holder not in group.online() or (holder in running and lost):
            yield _finding(view, group, queue, holder, lock["expires_at_ms"])


def _running(group: GroupNow) -> set[str]:
    return {key for key, row in group.online().items() if row["state"] == "running"}


def _finding(view: ClusterView, group: GroupNow, queue: QueueAt, holder: str, expires_ms: int) -> Finding:
    next_owner, left_ms = queue.row["assigned"], expires_ms - view.at_ms
    state = group.members[holder]["state"] if holder in group.members else "gone"
    sentence = {"gone": "earlier", "crashed": "crashed", "running": "lost"}.get(state, "stopped")
    says = [say(sentence, queue=queue.name, who=holder, left_ms=left_ms)]
    if next_owner is not None and next_owner != holder:
        says.append(say("waits", who=next_owner))
    return Finding(
        CODE,
        ERROR,
        Subject(QUEUE, queue.name, group.name, queue.topic),
        tuple(says),
        marks=(marks.queue(queue.topic, queue.name), marks.member(holder)),
        touches=frozenset({f"queue {queue.topic}/{queue.name}", f"member {holder}", f"group {group.name}"}),
        event=queue.row["cause"],
    )


def checks(view: ClusterView) -> Checked:
    """Count the queues of orderly groups with members; a real cluster's brokers do not show their locks."""
    queues = sum(1 for group, _ in view.group_queues() if group.orderly and group.clustering and group.online())
    return Checked(0 if view.attached else queues, queues)


CODE = "lock_held_by_gone_member"
RULE = Rule(
    code=CODE,
    title="{queue} is locked by a member that does not read it",
    hold_ms=HOLD_MS,
    sentences={
        "crashed": "{queue} is locked by {who}, which crashed: free in {left_ms}.",
        "stopped": "{queue} is locked by {who}, which stopped without a release: free in {left_ms}.",
        "earlier": "{queue} is locked by an earlier process of {who}: free in {left_ms}.",
        "lost": "{queue} is locked by {who}, which does not own it any more: free in {left_ms}.",
        "waits": "{who} waits for it.",
    },
    find=find,
    healthy="Every lock is held by the owner of its queue",
    checks=checks,
    because_of=("member_gone_not_expelled", "member_hung", "broker_down"),
    lab="orderly-lock",
)
