"""Texts of the Rebalance page, for the templates and for the browser's live updates."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from queueviz.boards.client_texts import TRIGGERS
from queueviz.texts import Texts

MINDS: Texts = {
    "place": _("{n} of {of}"),
    "absent": _("not on the list: no queues"),
    "nothing": _("nothing"),
    "yes": _("same as at the brokers now"),
    "no_members": _("brokers list {members}"),
    "no_queues": _("brokers have {queues}"),
    "missed": _("No broker answered {age} ago: the member keeps its old list."),
    "cannot": _("Assignment failed {age} ago: {why}"),
    "route": _("The member's route now has {queues}; its next round uses this route."),
    "secret": _("The assignment of this member is not reported."),
    "gone": _("This member has no process."),
    "due": _("next round in {left}"),
}
TROUBLES: Texts = {
    "twice": _("assigned to two members"),
    "nobody": _("not assigned"),
    "lingers": _("not released yet"),
    "waits": _("not acquired yet"),
    "lock": _("waits for the lock of {who}, {left} left at most"),
    "master": _("waits: no member can lock it"),
    "offset": _("waits: start offset unknown"),
}
BECAUSE: Texts = {
    "joined": _("{who} joined"),
    "left": _("{who} left: {why}"),
    "topics": _("The group's topics changed"),
    "running": _("{who} started"),
    "strategy": _("Strategy changed: {why}"),
    "route": _("Queues added or removed"),
    "none": _("Detected without a notification"),
}
GAPS: Texts = {
    "first": _("no owner before"),
    "at_once": _("at once"),
    "paused": _("paused {age}"),
    "both": _("both members held the queue for {age}"),
    "still": _("both members hold the queue"),
}
STRATEGIES: Texts = {
    "MACHINE_ROOM": _("By room"),
    "MACHINE_ROOM_NEARBY": _("Same room first"),
    "CONFIG": _("By list"),
}
LANES: Texts = {
    "sentence": _("{queue}: {held} holds it, assigned to {claims}, due to {due} by the current lists"),
    "nobody": _("no member"),
}
WORDS: Texts = {
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
    """Return the texts for the Rebalance page's JavaScript, ready for JSON."""
    words = WORDS | {f"trigger.{name}": text for name, text in TRIGGERS.items()}
    return {key: str(text) for key, text in words.items()}
