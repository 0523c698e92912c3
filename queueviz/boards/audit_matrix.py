"""Delivery verdicts of messages by group: counts by verdict, and each queue's messages as a strip.

This module turns rows of the job `delivery_audit` into the drawing of the Audit page; it reads nothing else.  A
verdict has a fill, a glyph and a word.  Where several messages share a position, the fill of the worst verdict is
drawn.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from queueviz.boards import rows

if TYPE_CHECKING:
    import pyarrow as pa

OUT_OF_ORDER = "out_of_order"  # no verdict of a message, but found beside it
VERDICTS = {
    "once": pgettext_lazy("verdict", "once"),
    "duplicate": _("more than once"),
    "lost": pgettext_lazy("verdict", "lost"),
    "waiting": pgettext_lazy("verdict", "waiting"),
    OUT_OF_ORDER: _("out of order"),
    "handed_over": _("delivered"),
    "unknown": pgettext_lazy("verdict", "unknown"),
}
SENTENCES = {
    "once": _("The message was consumed once."),
    "duplicate": _("The message was delivered to a listener, or to a real client, more than once."),
    "lost": _("The group committed past the message, and no listener received it."),
    "waiting": _("The message is not committed yet, or is to be redelivered after a failure."),
    OUT_OF_ORDER: _(
        "A later message of the same queue or sharding key was accepted first. Only orderly listeners prevent this."
    ),
    "handed_over": _(
        "A real client pulled the message. It reports pulls and commits, but not the work of its listener."
    ),
    "unknown": _("The journal skipped or deleted the events of this message."),
}
CAUSES = {
    "crash_before_commit": _("crash before commit"),
    "rebalance_hand_over": _("handover in a rebalance"),
    "shared_client_id": _("two members with one client ID"),
    "retry": pgettext_lazy("cause", "retry"),
    "reset": pgettext_lazy("cause", "reset"),
    "unknown": _("cause unknown"),
}
BREAKS = {"key": _("per key"), "queue": _("per queue")}  # what a later message had in common
WORST_FIRST = ("lost", "duplicate", "unknown", "handed_over", "waiting", "once")
BINS = 240  # of one queue's strip


class SummaryRow(TypedDict):
    """A row of the table `summary` of the job `delivery_audit`."""

    group: str
    topic: str
    verdict: str
    cause: str | None
    messages: int
    example_seq: int | None


class Count(NamedTuple):
    verdict: str
    word: object
    messages: int
    seq: str  # of an example event; "" if there is none
    causes: tuple[tuple[str, object, int], ...] = ()


class Break(NamedTuple):
    """A violation of message order: the number of messages accepted too late, and the event of the first one."""

    messages: int
    seq: int


class Line(NamedTuple):
    """The verdict counts of one group on one topic."""

    group: str
    topic: str
    counts: tuple[Count, ...]
    total: int


class Piece(NamedTuple):
    """A run of neighbouring messages with one fill, in percent of the strip's width."""

    verdict: str
    x: float
    width: float


class Strip(NamedTuple):
    """The messages of one queue as a strip, the oldest on the left."""

    queue: str
    first: int
    last: int
    per_bin: int  # messages that share a place; 1: each has its own
    pieces: tuple[Piece, ...]
    counts: tuple[tuple[str, object, int], ...]


def matrix(summary: Iterable[SummaryRow], breaks: Mapping[tuple[str, str], Mapping[str, Break]]) -> list[Line]:
    """Return a line of verdict counts per group and topic.

    `breaks`: order violations per group and topic, by the property that two messages share (`queue` or `key`).
    """
    by_verdict: dict[tuple[str, str], dict[str, list[SummaryRow]]] = defaultdict(lambda: defaultdict(list))
    for row in summary:
        by_verdict[row["group"], row["topic"]][row["verdict"]].append(row)
    return [_line(pair, by_verdict[pair], breaks.get(pair, {})) for pair in sorted(by_verdict)]


def _line(pair: tuple[str, str], by_verdict: Mapping[str, list[SummaryRow]], breaks: Mapping[str, Break]) -> Line:
    counts = []
    for verdict, word in VERDICTS.items():
        mine = by_verdict.get(verdict, [])
        if verdict == OUT_OF_ORDER:
            kinds = tuple((kind, BREAKS[kind], breaks[kind].messages) for kind in BREAKS if kind in breaks)
            first = min((span.seq for span in breaks.values()), default="")
            counts.append(Count(verdict, word, sum(n for _, _, n in kinds), str(first), kinds))
            continue
        causes = tuple(
            (row["cause"], CAUSES.get(row["cause"], row["cause"]), row["messages"])
            for row in sorted(mine, key=lambda row: -row["messages"])
            if row["cause"]
        )
        seqs = [row["example_seq"] for row in mine if row["example_seq"] is not None]
        counts.append(Count(verdict, word, sum(row["messages"] for row in mine), str(seqs[0]) if seqs else "", causes))
    return Line(*pair, tuple(counts), sum(row["messages"] for some in by_verdict.values() for row in some))


def strips(batches: Sequence[pa.RecordBatch]) -> list[Strip]:
    """Return one strip per queue from the columns queue, queue_offset and verdict of one group and topic.

    The rows may be in any order.
    """
    import numpy as np
    import pyarrow as pa

    if not batches:
        return []
    table = pa.Table.from_batches(batches)
    queues, verdicts = (table[name].combine_chunks().dictionary_encode() for name in ("queue", "verdict"))
    codes, offsets = queues.indices.to_numpy(), table["queue_offset"].to_numpy()
    ranks = np.array([_rank(verdict) for verdict in verdicts.dictionary.to_pylist()] or [0], dtype=np.int8)
    ranks, names = ranks[verdicts.indices.to_numpy()], queues.dictionary.to_pylist()
    named = sorted(range(len(names)), key=lambda code: rows.order(names[code]))
    return [_strip(names[code], offsets[codes == code], ranks[codes == code]) for code in named]


def _strip(queue: str, offsets: Any, ranks: Any) -> Strip:
    import numpy as np

    first, last = int(offsets.min()), int(offsets.max())
    per_bin = -(-(last - first + 1) // BINS)
    bins = (last - first) // per_bin + 1
    worst = np.full(bins, len(WORST_FIRST), dtype=np.int8)  # nothing there: deleted since
    np.minimum.at(worst, (offsets - first) // per_bin, ranks)
    edges = [0, *(np.flatnonzero(np.diff(worst)) + 1).tolist(), bins]
    pieces = tuple(
        Piece((*WORST_FIRST, "none")[worst[begin]], 100 * begin / bins, 100 * (end - begin) / bins)
        for begin, end in pairwise(edges)
    )
    count = Counter(WORST_FIRST[rank] for rank in ranks.tolist())
    counts = tuple((verdict, VERDICTS[verdict], count[verdict]) for verdict in VERDICTS if count[verdict])
    return Strip(queue, first, last, per_bin, pieces, counts)


def _rank(verdict: str) -> int:
    return WORST_FIRST.index(verdict) if verdict in WORST_FIRST else WORST_FIRST.index("unknown")
