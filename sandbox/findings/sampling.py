"""Numbers that each view adds to the history, and the keys by which rules read them."""

import re
from collections.abc import Hashable
from typing import cast

from sandbox.findings.view import ClusterView, GroupNow, QueueAt
from sandbox.queries.rows.board import CachedMessages

EARLY_MS = 60_000


def stored_key(topic: str, queue: str) -> Hashable:
    """Key of a queue's max offset."""
    return "stored", topic, queue.partition("@")[0]


def write_queues_key(topic: str) -> Hashable:
    """Key of the number of a topic's write queues."""
    return "write queues", topic


def committed_key(group: str, queue: QueueAt) -> Hashable:
    return "committed", group, queue.topic, queue.name


def busy_key(group: str, member: str) -> Hashable:
    """Key of a member's threads at work."""
    return "busy", group, member


def lag_key(group: str) -> Hashable:
    return "lag", group


def dead_key(group: str) -> Hashable:
    return "dead", group


def members_key(group: str) -> Hashable:
    """Key of the client ids that are online, with the starts of their processes."""
    return "members", group


def again_key(group: str, reason: str) -> Hashable:
    """Key of the repeated deliveries with this reason."""
    return "again", group, reason


def oldest_key(group: str, queue: QueueAt) -> Hashable:
    """Key of the oldest unfinished offset that the owner of a queue reports."""
    return "oldest", group, queue.topic, queue.name


def joined_key(group: str) -> Hashable:
    """Key of the newest time when a process joined."""
    return "joined", group


def left_key(group: str) -> Hashable:
    """Key of the newest time when a process left."""
    return "left", group


def left_early_key(group: str) -> Hashable:
    """Key of the newest time when a process left that had joined within `EARLY_MS`."""
    return "left early", group


def present_key(group: str, process: Hashable) -> Hashable:
    """Key of one process of a group, recorded while it is online."""
    return "present", group, process


def owner_key(group: str, queue: QueueAt) -> Hashable:
    """Key of a queue's owner, `""` without one."""
    return "owner", group, queue.topic, queue.name


def pause_key(group: str, queue: QueueAt) -> Hashable:
    """Key of the newest time when flow control paused the pulls of a queue, with the limit."""
    return "pause", group, queue.topic, queue.name


def differ_key(group: str) -> Hashable:
    """Key of the settings in which the members differ."""
    return "differ", group


def agreed_key(group: str) -> Hashable:
    """Key of the messages left out (`left_out`) in the first view in which the members differ."""
    return "agreed", group


def left_out(group: GroupNow) -> tuple[int, int]:
    """Return the messages that members dropped and brokers passed over, since the processes of the members began."""
    rows = group.online().values()
    return sum(row["dropped"] or 0 for row in rows), sum(row["passed_over"] or 0 for row in rows)


def cached_of(queue: QueueAt) -> CachedMessages | None:
    """Return the messages that a member of a real cluster reports to have of a queue; None: none, or not reported."""
    return cast(CachedMessages | None, queue.row.get("cached"))


def held_of(queue: QueueAt) -> tuple[int | None, int | None]:
    """Return the unfinished messages of a queue that its owner has, and the span of their offsets."""
    cached, cells = cached_of(queue), queue.row["cells"]
    if cached is not None:
        return cached["count"], int(cached["max"]) - int(cached["min"])
    if cells is None:
        return None, None
    runs = [(int(count), state) for count, state in re.findall(r"(\d+)([a-z])", cells)]
    behind = runs[-1][0] if runs and runs[-1][1] == "d" else 0  # finished, and no message of theirs is unfinished
    spanned = sum(count for count, _ in runs) - behind
    return sum(count for count, state in runs if state != "d"), max(0, spanned - 1)


def reported_limit(group: GroupNow, queue: QueueAt) -> str | None:
    """Return the limit that a member of a real cluster has reached, by the messages it has and its settings."""
    member, cached = group.members.get(queue.row["owner"] or ""), cached_of(queue)
    if cached is None or member is None or member["limits"] is None:
        return None
    count, span = member["limits"]["count"], member["limits"]["span"]
    if count is not None and cached["count"] > count:
        return "count"
    is_wide = span is not None and int(cached["max"]) - int(cached["min"]) > span and not group.orderly
    return "span" if is_wide else None


def _is_early(view: ClusterView, present: Hashable) -> bool:
    """Return True if a process joined within `EARLY_MS`; of the first view's processes that is not known."""
    joined_ms = view.history.unchanged_since_ms(present)
    return joined_ms is not None and view.history.began_ms < joined_ms and view.at_ms - joined_ms < EARLY_MS


def sample(view: ClusterView) -> None:
    """Add the view's numbers to its history; `History.begin` was called before."""
    history, kept = view.history, set[Hashable]()

    def add(key: Hashable, value: int | None) -> None:
        kept.add(key)
        if value is not None:
            history.add(key, value)

    def note(key: Hashable, value: object) -> None:
        kept.add(key)
        if value is not None:
            history.note(key, value)

    for topic in view.topics.values():
        note(write_queues_key(topic["topic"]), topic["write_queues"])
        for row in topic["queues"]:
            if row["known_at_ms"] is None and row["max"] is not None:
                add(stored_key(topic["topic"], f"{row['broker']}:{row['queue_id']}"), int(row["max"]))
    for group in view.groups.values():
        add(lag_key(group.name), group.lag)
        add(dead_key(group.name), group.dead_letters)
        for reason, count in (group.again or {}).items():
            add(again_key(group.name, reason), count)
        members = tuple(
            sorted((key, row["since_ms"]) for key, row in group.online().items() if row["state"] != "stopping")
        )
        before = history.value(members_key(group.name))
        earlier = set(before) if isinstance(before, tuple) else set(members)
        left = earlier.difference(members)
        for key, changed in (
            (joined_key(group.name), not earlier.issuperset(members)),
            (left_key(group.name), bool(left)),
            (left_early_key(group.name), any(_is_early(view, present_key(group.name, process)) for process in left)),
        ):
            note(key, view.at_ms if changed else history.value(key) or 0)
        note(members_key(group.name), members)
        for process in members:
            note(present_key(group.name, process), True)
        differed = bool(history.value(differ_key(group.name)))
        note(differ_key(group.name), tuple(group.members_differ))
        note(agreed_key(group.name), None if differed and group.members_differ else left_out(group))
        for key, member in group.online().items():
            add(busy_key(group.name, key), member["busy"])
        for queue in group.queues():
            committed = queue.row["committed"]
            add(committed_key(group.name, queue), None if committed is None else int(committed))
            note(committed_key(group.name, queue), committed)
            cached = cached_of(queue)
            note(oldest_key(group.name, queue), None if cached is None else cached["min"])
            note(owner_key(group.name, queue), queue.row["owner"] or "")
            limit = queue.row["flow_control"] or reported_limit(group, queue)
            note(pause_key(group.name, queue), None if limit is None else (view.at_ms, limit))
    history.keep(kept)
