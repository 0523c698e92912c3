"""One short sentence per event type of the journal, in the reader's language; `words.js` fills it in.

A template names fields of the event.  Derived names: {queue} is the short queue name, {who} the member's label,
{holder} and {previous} likewise.  Numbers get thin spaces, fields ending in `_ms` become durations, a list becomes
its length, and fields of `VALUES_OF` hold words of `VALUES`.
"""

from __future__ import annotations

from typing import NamedTuple

from django.utils.translation import gettext_lazy as _

from queueviz.boards.counted import Counted, translated
from queueviz.texts import Text, Texts
from sandbox.findings.all_rules import RULES
from sandbox.journal.events import SAID


class FactText(NamedTuple):
    tone: str  # how the word is coloured
    word: Text | Counted
    text: Text | Counted
    mark: str


FACTS: dict[str, FactText] = {
    name: FactText(source.tone, translated(source.word), translated(source.text), source.mark)
    for name, source in SAID.items()
}

# Words that fields hold; what is not here is a name.
VALUES_OF = ("state", "reason", "how", "why", "kind", "step", "phase", "limit", "code")
VALUES: Texts = {
    "starting": _("starting"),
    "running": _("running"),
    "hung": _("hung"),
    "stopping": _("stopping"),
    "stopped": _("stopped"),
    "crashed": _("crashed"),
    "refused": _("refused"),
    "removed": _("removed"),
    "clean": _("cleanly"),
    "killed": _("killed"),
    "power_cut": _("power cut"),
    "damaged": _("damaged files"),
    "automatic": _("automatically"),
    "missing": _("is missing"),
    "empty": _("is empty"),
    "nul_bytes": _("holds only NUL bytes"),
    "not_json": _("is not JSON"),
    "not_a_table": _("is JSON, but not the expected table"),
    "not_readable": _("cannot be opened or read"),
    "unreachable": _("no answer"),
    "registered": _("registered"),
    "unregistered": _("unregistered"),
    "closed": _("connection closed"),
    "expired": _("no heartbeat for too long"),
    "permission": _("permission changed"),
    "cut": _("cut"),
    "healed": _("healed"),
    "delayed": _("delayed"),
    "protocol": _("protocol error"),
    "member": _("a member changed"),
    "topics": _("a topic changed"),
    "rebalance": _("rebalance"),
    "idle": _("idle for too long"),
    "illegal_offset": _("offset out of range"),
    "reset": _("reset"),
    "shutdown": _("shutdown"),
    "unsubscribed": _("unsubscribed"),
    "forced": _("forced"),
    "free": _("the queue was free"),
    "renewed": _("renewed"),
    "taken_over": _("taken over"),
    "age": _("too old"),
    "disk": _("disk too full"),
    "manual": _("manually"),
    "ok": _("ok"),
    "full": _("full"),
    "failing": _("failing"),
    "connected": _("connected"),
    "behind": _("behind"),
    "lost": _("lost"),
    "start": _("starts"),
    "stop": _("stops"),
    "count": _("count"),
    "size": _("size"),
    "span": _("span"),
    "action": _("manually"),
    "wake": _("woken"),
    "commitlog": _("the commit log"),
    "consumequeue": _("consume queues"),
    "index": _("the index"),
    "normal": _("normal"),
    "abnormal": _("abnormal"),
    "connections": _("too many connections"),
    "unread": _("the client does not read its responses"),
    "unfinished": _("too many unfinished frames"),
    "pending_requests": _("unanswered requests"),
    "ended": _("ended"),
    "asleep": _("asleep"),
    **{rule.code: _(rule.title) for rule in RULES},
}
