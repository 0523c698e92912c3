"""The Board at a past event: the values of the first paint and the texts of its script.

`static/queueviz/js/replay.js` draws the board.
"""

from typing import TypedDict, cast

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from queueviz.boards.board import STRATEGIES, live_config, names_of
from queueviz.boards.counted import Counted, CountedTexts
from queueviz.boards.js_texts import PageTexts, texts, words
from queueviz.boards.page import Context, PastContext, Place, topics_of
from queueviz.boards.past_facts import PastFindings
from queueviz.boards.past_findings import line_at
from queueviz.boards.player_texts import PLAYER_WORDS
from sandbox.control.limits import HostLimits
from sandbox.queries.rows.snapshot import GroupRow, Snapshot

LIMITS = HostLimits()
FOLLOWS = "board"  # the view that can be drawn of the past

WORDS: CountedTexts = {
    "replay.at": _("Event #{seq}"),
    "replay.of": _("of {newest} · {age} ago"),
    "replay.of_newest": _("of {newest} · the newest"),
    "replay.cause": Counted(
        lambda n: ngettext(
            "Caused by #{seq} “{said}”, {n} event earlier", "Caused by #{seq} “{said}”, {n} events earlier", n
        )
    ),
    "replay.no_cause": _("No event in the journal caused this event."),
    "replay.grey": Counted(
        lambda n: ngettext(
            "grey: value of event #{seq}, {n} event earlier", "grey: value of event #{seq}, {n} events earlier", n
        )
    ),
    "replay.exact": _("all values are of this event"),
    "replay.as_of": Counted(
        lambda n: ngettext(
            "all values are of event #{seq}, {n} event earlier", "all values are of event #{seq}, {n} events earlier", n
        )
    ),
    "replay.end": _("all values are of the end of this millisecond, event #{seq}"),
    "replay.making": _("Loading the exact board… {percent} %"),
    "replay.off": _("The past cannot be changed. Create a branch to act from here."),
    "replay.around": _("Events around #{seq}"),
    "replay.since": _("Since #{seq}, the previous event on the timeline"),
    "replay.first": _("No earlier event is on the timeline."),
    "replay.same": _("No value known at both events differs."),
    "replay.more": _("{n} more values changed."),
    "replay.lag": _("Lag"),
    "replay.committed": _("{queue} committed"),
    "replay.max": _("{queue} newest"),
    "replay.min": _("{queue} oldest"),
    "replay.owner": _("{queue} owner"),
    "replay.failed": _("This event could not be read. Choose another one, or try again."),
    "replay.partly": _("Too many events: the timeline begins at #{seq}. Find older ones in the Journal."),
    "replay.play": _("Play"),
    "replay.pause": _("Pause"),
}


class StateAnswer(TypedDict):
    """The state of a sandbox at an event (`queries.state_at`)."""

    seq: str
    keyframe: str
    exact: bool
    carried: dict[str, list[str]]
    of_keyframe: dict[str, list[str]]
    snapshot: Snapshot


def context_at(now: Snapshot, state: StateAnswer, findings: PastFindings, query: dict[str, str]) -> Context:
    """Return the template values of the Board at a past event.

    `now`: the newest snapshot; `state`: the state at the event, which is drawn.
    """
    then = state["snapshot"]
    place = Place(state["snapshot"]["sandbox"]["slug"], {**now, "groups": _groups(now, then)}, query)
    group = place.group()
    topic = place.topic(group)
    config = live_config(
        place,
        {},
        {},
        tab="board",
        group=group["group"] if group else None,
        topic=topic,
        sel=query.get("sel"),
        subscription=[],
        replay={
            "state": state,
            "newest": now.get("seq", state["seq"]),
            "newest_ms": now.get("at_ms"),
            "most": LIMITS.exact_events,
        },
    )
    config["names"] = names_of(then) | names_of(place.snapshot)
    return {
        "groups": place.groups,
        "group_row": group,
        "group": group["group"] if group else None,
        "topic": topic,
        "topics": topics_of(group),
        "header": {},
        "queues": [],
        "strips": [],
        "members": [],
        "side": [],
        **line_at(place, findings),
        "strategies": STRATEGIES,
        "found": state,
        "newest": now.get("seq"),
        "live": config,
        "texts": texts(PLAYER_WORDS | WORDS),
    }


def recorded_at(past: PastContext, now: Snapshot, slug: str, findings: PastFindings, query: dict[str, str]) -> Context:
    """Return the values of a view that is drawn from the facts of findings, with the stopped clock of their event.

    `now`: the newest snapshot.
    """
    at_ms = now["at_ms"] if findings.at_ms is None else findings.at_ms
    snapshot: Snapshot = {**now, "at_ms": at_ms, "rate": 0, "reached_rate": None}
    drawn = past(Place(slug, snapshot, query), findings)
    return {**follow(drawn, now, findings.at), "snapshot": snapshot}


def follow(drawn: Context, now: Snapshot, at: int) -> Context:
    """Return a view's values with those of its line at the foot, which leads to other events; a panel has none."""
    if "live" in drawn:
        live, shown = cast(Context, drawn["live"]), cast(PageTexts, drawn["texts"])
        live["replay"] = {"at": at, "newest": now.get("seq"), "newest_ms": now.get("at_ms")}
        shown["texts"] |= words(PLAYER_WORDS | WORDS)
    return drawn


def present(now: Snapshot, slug: str) -> Context:
    """Return the template values of the frame for a view that cannot show the past."""
    return {"live": live_config(Place(slug, now), {}, {}, replay=True), "texts": texts(PLAYER_WORDS)}


def _groups(now: Snapshot, then: Snapshot) -> list[GroupRow]:
    """Return the groups that existed at the event, with the event's values, and those created later."""
    known = {group["group"]: group for group in [*now.get("groups", ()), *then.get("groups", ())]}
    return list(known.values())
