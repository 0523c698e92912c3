"""Words of the Rebalance page, for the templates and for the moving page alike."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

from queueviz.boards.client_texts import TRIGGERS

MINDS: dict[str, Any] = {
    "place": _("{n} of {of}"),
    "absent": _("not on the list: owns nothing"),
    "nothing": _("nothing"),
    "yes": _("as brokers know it now"),
    "no_members": _("brokers know {members}"),
    "no_queues": _("brokers have {queues}"),
    "missed": _("Nobody answered {age} ago: the old list stays."),
    "cannot": _("It could not divide {age} ago: {why}"),
    "route": _("Its route says {queues} by now; its next round will use it."),
    "secret": _("What it thinks is its own business."),
    "gone": _("No process."),
    "due": _("next round in {left}"),
}
TROUBLES: dict[str, Any] = {
    "twice": _("two think it theirs"),
    "nobody": _("nobody's"),
    "lingers": _("not let go yet"),
    "waits": _("not taken yet"),
    "lock": _("waits for the lock of {who}, {left} left at most"),
    "master": _("waits: nobody can lock it"),
    "offset": _("waits: its start is unknown"),
}
BECAUSE: dict[str, Any] = {
    "joined": _("{who} joined"),
    "left": _("{who} left: {why}"),
    "topics": _("The group's topics changed"),
    "running": _("{who} began"),
    "strategy": _("Another strategy: {why}"),
    "route": _("Queues came or went"),
    "none": _("Found without a message"),
}
GAPS: dict[str, Any] = {
    "first": _("nobody had it"),
    "at_once": _("at once"),
    "paused": _("paused {age}"),
    "both": _("both had it for {age}"),
    "still": _("both have it"),
}
STRATEGIES: dict[str, Any] = {
    "MACHINE_ROOM": _("By room"),
    "MACHINE_ROOM_NEARBY": _("Own room first"),
    "CONFIG": _("By list"),
}
LANES: dict[str, Any] = {
    "sentence": _("{queue}: {held} has it, {claims} think it theirs, {due} by the lists of now"),
    "nobody": _("nobody"),
}
WORDS: dict[str, Any] = {
    f"{family}.{name}": text
    for family, table in (
        ("mind", MINDS),
        ("trouble", TROUBLES),
        ("because", BECAUSE),
        ("gap", GAPS),
        ("lanes", LANES),
        ("strategy", STRATEGIES),
    )
    for name, text in table.items()
}


def rebalance_words() -> dict[str, str]:
    """Return the words of the page's JSON."""
    words = WORDS | {f"trigger.{name}": text for name, text in TRIGGERS.items()}
    return {key: str(text) for key, text in words.items()}
