"""Kinds of figures that several rules show: of queues, of members, of messages that failed."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from sandbox.findings import marks
from sandbox.findings.figures import MOST_ROWS, FigureRow, Figures, Values, figures
from sandbox.findings.name_lists import listed
from sandbox.findings.view import ClusterView, GroupNow, QueueAt, RetriedMessage
from sandbox.queries.rows.board import QueueEnds
from sandbox.queries.rows.groups import EXPIRE_MS


def of_queues(
    queues: Sequence[QueueAt],
    values: Callable[[QueueAt], Values],
    *,
    about: Collection[QueueAt] | None = None,
    total: Values | None = None,
    beside: Values | None = None,
    window_ms: int | None = None,
) -> Figures | None:
    """Return a row for each queue with its owner; those of which the sentences speak come first if there are many."""
    names = {queue.name for queue in about or ()}
    if len(queues) > MOST_ROWS:
        queues_shown = sorted(queues, key=lambda queue: queue.name not in names)[:MOST_ROWS]
    else:
        queues_shown = list(queues)
    several = len({queue.topic for queue in queues}) > 1
    rows = [
        FigureRow(
            {
                **({"topic": queue.topic} if several else {}),
                "queue": queue.name,
                "who": queue.row["owner"] or "",
                **values(queue),
            },
            marks.queue(queue.topic, queue.name),
            queue.name in names,
        )
        for queue in queues_shown
    ]
    return figures(rows, count=len(queues), total=total, beside=beside, window_ms=window_ms)


def of_one_queue(queue: QueueAt, values: Values) -> Figures | None:
    return of_queues([queue], lambda _: values)


def of_members(
    keys: Iterable[str],
    values: Callable[[str], Values],
    *,
    about: Collection[str] = (),
    total: Values | None = None,
    beside: Values | None = None,
) -> Figures | None:
    """Return a row for each member; those of which the sentences speak come first if there are many."""
    known = list(keys)
    if len(known) > MOST_ROWS:
        known.sort(key=lambda key: key not in about)
    rows = [FigureRow({"who": key, **values(key)}, marks.member(key) if key else "", key in about) for key in known]
    return figures(rows, total=total, beside=beside)


def of_shares(
    group: GroupNow, queues: Sequence[QueueAt], *, about: Collection[str] = (), beside: Values | None = None
) -> Figures | None:
    """Return the queues of each member, and of no member."""
    shares: dict[str, list[str]] = {key: [] for key in group.online()}
    for queue in queues:
        shares.setdefault(queue.row["assigned"] or queue.row["owner"] or "", []).append(queue.name)
    return of_members(
        shares,
        lambda key: {"queues": len(shares[key]), "names": listed(shares[key])},
        about=about,
        total={"queues": len(queues)},
        beside=beside,
    )


def of_heartbeats(
    view: ClusterView, group: GroupNow, about: str, exact: Values, beside: Values | None = None
) -> Figures | None:
    """Return the age of each member's heartbeat, and the time until brokers remove it; `exact`: of the one member."""
    heartbeats = group.heartbeats_ms or {}

    def values(key: str) -> Values:
        at_ms = heartbeats.get(key.partition(" ")[0])
        queues = sum(key in (queue.row["owner"], queue.row["assigned"]) for queue in group.queues())
        own = exact if key == about else {}
        return {
            "silent_ms": None if at_ms is None else max(0, view.at_ms - at_ms),
            "removed_ms": None if at_ms is None else max(0, at_ms + EXPIRE_MS - view.at_ms),
            "queues": queues,
            **own,
        }

    return of_members(dict.fromkeys((about, *group.online())), values, about=(about,), beside=beside)


def of_readers(queues: Sequence[tuple[GroupNow, QueueAt]], *, beside: Values | None = None) -> Figures | None:
    """Return a row for each group and topic with queues of a broker that is down, and from where they are read.

    Groups may share queues: then no sum is right, and each queue is counted once beside the table.
    """
    topics: dict[tuple[str, str, str | None], list[str]] = {}
    distinct = len({(queue.topic, queue.name) for _, queue in queues})
    for group, queue in queues:
        down = queue.row["down"]
        topics.setdefault((group.name, queue.topic, None if down is None else down["reads"]), []).append(queue.name)
    rows = [
        FigureRow({"group": group, "topic": topic, "queues": len(names), "names": listed(names), "reads": reads})
        for (group, topic, reads), names in topics.items()
    ]
    if distinct == len(queues):
        return figures(rows, total={"queues": distinct}, beside=beside)
    return figures(rows, beside={**(beside or {}), "distinct": distinct})


def of_attempts(
    view: ClusterView, messages: Sequence[RetriedMessage], *, about: str = "", beside: Values | None = None
) -> Figures | None:
    """Return the messages that wait for a retry, the next one first."""
    rows = [
        FigureRow(
            {
                "key": message.key,
                "attempts": (message.attempts, message.most_attempts),
                "next_ms": max(0, message.next_ms - view.at_ms),
            },
            about=bool(about) and message.key == about,
        )
        for message in sorted(messages, key=lambda message: message.next_ms)[:MOST_ROWS]
    ]
    return figures(rows, count=len(messages), beside=beside)


def stored(row: QueueEnds) -> int:
    """Return the messages between the ends of a queue."""
    return int(row["max"] or 0) - int(row["min"] or 0)


def ends(queue: QueueAt) -> Mapping[str, object]:
    """Return the offsets of a queue."""
    row = queue.row
    committed = row["committed"] if row["committed"] is not None or not row["from_zero"] else ""
    return {"min": row["min"], "committed": committed, "max": row["max"]}
