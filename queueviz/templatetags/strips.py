"""`{% strip view %}`: the queue strip as static SVG, for first paint, print and wherever no script runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from queueviz.boards.down import down_said, down_text, known_text
from queueviz.boards.flow import delivered_text, retry_text
from queueviz.boards.rows import QueueView
from queueviz.boards.side import SideQueue
from queueviz.boards.strip_plan import LABELS, LAYERS, StripOptions, arc, plan_strip
from queueviz.templatetags.formats import number
from sandbox.queries.rows.board import BoardHeader, KnownQueues, MasterState

register = template.Library()


@register.simple_tag
def strip(view: QueueView) -> SafeString:
    """One queue as a number line, with its sentence for those who cannot see it."""
    return _svg(view.row, view.strip, sentence(view))


def _svg(row: Mapping[str, Any], options: StripOptions, label: str) -> SafeString:
    plan = plan_strip(row, options)
    paths = [f'<path class="{name}" d="{plan.paths[name]}"/>' for name in LAYERS if plan.paths.get(name)]
    texts = [
        f'<text class="{name}" x="{_n(at[0])}" y="{_n(at[1])}" text-anchor="{at[2]}">{escape(at[3])}</text>'
        for name in LABELS
        if (at := plan.texts.get(name))
    ]
    return format_html(
        '<svg class="s" viewBox="0 0 {} {}" preserveAspectRatio="xMaxYMid meet" role="img" aria-label="{}">{}</svg>',
        _n(options.width),
        _n(options.height),
        label,
        mark_safe("".join(paths + texts)),  # built above from numbers and escaped text
    )


def sentence(view: QueueView) -> str:
    row = view.row
    owner = {
        "reads": gettext("read by {who}"),
        "waits": gettext("assigned to {who}, not consuming"),
        "nobody": gettext("read by nobody"),
    }[view.own].format(who=view.letter or view.who)
    text = gettext(
        "{queue}, {owner}: min {min}, committed {committed}, in memory {memory}, next pull {next}, max {max}, lag {lag}"
    )
    said = text.format(
        queue=view.short,
        owner=owner,
        min=number(row.get("min")),
        committed=number(row.get("committed")),
        memory=number(row.get("in_memory")),
        next=number(row.get("next_pull")),
        max=number(row.get("max")),
        lag=number(view.lag),
    )
    return f"{said}; {down}" if (down := down_said(row)) else said


@register.filter
def down_words(row: MasterState | None) -> str:
    """`{{ q.row|down_words }}`: who reads a queue whose master is down, and of when its lag is."""
    return down_text(row) if row else ""


@register.filter
def retry_words(header: BoardHeader | None) -> str:
    return retry_text(header) if header else ""


@register.filter
def delivered_words(header: BoardHeader | None) -> str:
    return delivered_text(header) if header else ""


@register.filter
def known_words(known: KnownQueues | None) -> str:
    """`{{ header|known_words }}`: of how many queues the lag is known now, where not of all."""
    return known_text(known) if known else ""


@register.simple_tag
def side_strip(queue: SideQueue) -> SafeString:
    """A thin strip: no labels, they stand beside it."""
    options = StripOptions(width=542, height=22, window=queue.window, track=8, compact=True)
    return _svg(queue.row, options, gettext("{n} messages wait").format(n=number(queue.waiting)))


@register.simple_tag
def plan_row(row: Mapping[str, Any], window: int) -> SafeString:
    """One queue of a planned reset: the pin now, the diamond after, what comes again and what is skipped."""
    target = row.get("target") if row.get("selected", True) else None
    options = StripOptions(width=386, height=26, window=window, track=9, compact=True, target=target, planned=True)
    label = gettext("{queue}: from {committed} to {target}").format(
        queue=row["queue"], committed=number(row.get("committed")), target=number(row.get("target"))
    )
    return _svg({**row, "in_memory": None}, options, label)


@register.simple_tag
def arc_path(share: float, radius: float, centre: float) -> str:
    """The part of a ring that is left, clockwise from twelve."""
    return arc(centre, centre, radius, share) if share > 0 else ""


def _n(value: float) -> str:
    return f"{value:g}"
