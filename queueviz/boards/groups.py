"""The Groups page: every group with all its topics, the worst first (channel `groups/…`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode

from django.utils.translation import pgettext_lazy

from queueviz.boards.board import live_config, now_of
from queueviz.boards.down_queue_texts import known_text
from queueviz.boards.group_texts import GROUP, LOOK_OF, state_text
from queueviz.boards.js_texts import texts
from queueviz.boards.member_words import differ_text, group_words
from queueviz.boards.page import BoardPage, Context, Place, Readings, data_of
from queueviz.boards.rows import AGE_LIMIT_MS
from queueviz.slugs import root_of
from queueviz.templatetags.formats import duration, number, rate
from sandbox.control.group_state import WORST_FIRST
from sandbox.queries.rows.group_states import Groups, GroupState


class GroupLine(NamedTuple):
    """The cells of a group's row as text.  Twin of static/queueviz/js/group_lines.js."""

    name: str
    href: str
    state: str
    word: str
    topics: str
    differ: str  # on what its members do not agree
    words: str  # what each of them asks for then
    lag: str
    partly: str  # of how many queues the lag is known
    retrying: str
    oldest: str
    late: bool
    members: str
    consumed: str
    delivered: str
    more: str  # delivered beyond consumed, where it is more than jitter


def channel(place: Place) -> str:
    return f"groups/{place.slug}"


def lines(rows: Mapping[str, GroupState], root: str, now_ms: int) -> list[GroupLine]:
    return [_line(name, rows[name], root, now_ms) for name in worst_first(rows)]


def worst_first(rows: Mapping[str, GroupState]) -> list[str]:
    """Return the names: errors, warnings, then the others by their state."""

    def order(name: str) -> tuple[int, int, int, str]:
        row = rows[name]
        finding = row.get("finding")
        rank = len(LOOK_OF) if finding is None else list(LOOK_OF).index(finding["severity"])
        return rank, WORST_FIRST.index(row["state"]), -int(row["lag"] or 0), name

    return sorted(rows, key=order)


def look_of(row: GroupState) -> str:
    """Return the state whose colour and sign the row has."""
    finding = row.get("finding")
    return row["state"] if finding is None else LOOK_OF[finding["severity"]]


def _line(name: str, row: GroupState, root: str, now_ms: int) -> GroupLine:
    where = {"group": name, **({"topic": row["topic"]} if row["topic"] else {})}
    known_ms = row["oldest_since_ms"] or row["oldest_after_ms"]
    age_ms = None if known_ms is None else max(0, now_ms - known_ms)
    differ = row.get("members_differ") or ()
    return GroupLine(
        name,
        f"{root}?{urlencode(where)}",
        look_of(row),
        state_text(row),
        ", ".join(row["topics"]),
        differ_text(row),
        group_words(row.get("member_words") or (), differ),
        number(row["lag"]),
        known_text(row),
        number(row["retrying"]),
        _oldest(row, age_ms),
        bool(row["oldest_since_ms"]) and (age_ms or 0) > AGE_LIMIT_MS,
        number(row["members"]),
        rate(row["consumed_per_s"]),
        rate(row["delivered_per_s"]),
        _more(row),
    )


def _more(row: GroupState) -> str:
    delivered_per_s, consumed_per_s = row["delivered_per_s"], row["consumed_per_s"]
    if not row["differs"] or delivered_per_s is None or consumed_per_s is None:
        return ""
    return str(GROUP["group.more"]).format(n=rate(delivered_per_s - consumed_per_s))


def _oldest(row: GroupState, age_ms: int | None) -> str:
    if age_ms is None:
        is_none = row["lag"] == "0" and row["queues_known"] == row["queues_all"]
        return str(GROUP["group.none"]) if is_none else duration(None)
    return duration(age_ms) if row["oldest_since_ms"] else f"≤\u2009{duration(age_ms)}"


def _context(place: Place, readings: Readings) -> Context:
    name = channel(place)
    data = data_of(readings, name, Groups)
    return {
        "lines": lines(data["groups"] if data else {}, root_of(place.slug), now_of(place, readings, name)),
        "live": live_config(place, readings, {"groups": name}, tab="groups"),
        "texts": texts(),
    }


GROUPS = BoardPage(
    name="groups",
    title=pgettext_lazy("page", "Groups"),
    path="groups/",
    template="queueviz/boards/groups.html",
    attached=True,
    channels=lambda place: [channel(place)],
    context=_context,
)
