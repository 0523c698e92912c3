"""One sentence of what an audit says about a group and topic, from the counts of its line."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from queueviz.boards.audit_matrix import OUT_OF_ORDER, Line
from queueviz.templatetags.formats import number


def sentence_of(line: Line) -> str:
    """Return the sentence.  While outcomes are unknown, it does not claim that no message is lost.

    >>> sentence_of(Line("svc", "orders", (), 0))
    '0 messages: all delivered; none lost.'
    """
    counts = {count.verdict: count.messages for count in line.counts}
    lost, unknown, waiting = (counts.get(verdict, 0) for verdict in ("lost", "unknown", "waiting"))
    parts = [_delivered(line.total, counts)] if line.total != unknown or not line.total else []
    if lost:
        parts.append(_("{n} lost").format(n=number(lost)))
    elif not unknown:
        parts.append(ngettext("not lost", "none lost", line.total))
    if unknown:
        parts.append(_("{n} unknown").format(n=number(unknown)))
    if waiting:
        parts.append(ngettext("{n} waits", "{n} wait", waiting).format(n=number(waiting)))
    if counts.get(OUT_OF_ORDER):
        parts.append(_("{n} out of order").format(n=number(counts[OUT_OF_ORDER])))
    head = ngettext("{n} message: {parts}.", "{n} messages: {parts}.", line.total)
    return head.format(n=number(line.total), parts=pgettext("between parts of a sentence", "; ").join(parts))


def _delivered(total: int, counts: dict[str, int]) -> str:
    again = counts.get("duplicate", 0)
    delivered = counts.get("once", 0) + again + counts.get("handed_over", 0)
    if total == 1 == again:
        return _("delivered more than once")
    if delivered == total:
        text = _("delivered") if total == 1 else _("all delivered")
    else:
        text = _("{n} delivered").format(n=number(delivered))
    return _("{delivered}, {n} of them more than once").format(delivered=text, n=number(again)) if again else text


def worst_of(line: Line) -> str:
    """Return the verdict whose mark stands beside the sentence."""
    present = {count.verdict for count in line.counts if count.messages}
    return next(
        (verdict for verdict in ("lost", "unknown", OUT_OF_ORDER, "duplicate", "waiting") if verdict in present), "once"
    )


def groups_with_losses(lines: Iterable[Line], shown: Line) -> list[str]:
    """Return the names of the groups whose other lines have lost messages."""
    return sorted(
        {
            line.group
            for line in lines
            if line != shown and any(count.verdict == "lost" and count.messages for count in line.counts)
        }
    )
