"""Sentences the moving page needs, translated here and handed over as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from queueviz.boards.action_texts import ACTIONS, ROLES
from queueviz.boards.counted import Counted, forms
from queueviz.boards.down_queue_texts import DOWN
from queueviz.boards.fact_texts import FACTS, VALUES, VALUES_OF, FactText
from queueviz.boards.group_texts import GROUP
from queueviz.boards.lag_texts import FLOW
from queueviz.boards.member_words import DIFFER
from sandbox.journal.event_filter import STEPS

TEXTS: dict[str, Any] = {
    "conn.connected": _("Connected"),
    "conn.rate": _("{fps} fps · {ms} ms"),
    "conn.catching": _("Catching up"),
    "conn.stale": _("Stale {age}"),
    "conn.offline": _("Offline"),
    "conn.frozen": _("Frozen"),
    "conn.lost": _("Connection lost. You see event #{seq}, {age} old. Trying again in {wait}."),
    "conn.lost_now": _("Connection lost. You see event #{seq}, {age} old. Trying again now."),
    "conn.try": _("Try now"),
    "conn.connecting": _("Connecting"),
    "conn.opening": _("Opening"),
    "conn.slow": _("This connection is too slow for live pictures. The page looks again every 5 s."),
    "conn.asleep": _("Asleep"),
    "conn.ended": _("Ended"),
    "end.asleep": _("This sandbox is asleep. What you see is its last moment."),
    "end.failed": _("This sandbox cannot be opened. Load the page again to see why."),
    "end.unknown": _("What is shown here is not there any more."),
    "end.forbidden": _("You may not watch this any more."),
    "end.too_large": _("This picture is too large to be sent live."),
    "end.too_many_channels": _("This page shows too many live pictures at once."),
    "end.too_many_messages": _("This page asked for too much at once. Load it again."),
    "watchers": _("{n} watching"),
    "offsets.same": _("written"),
    "offsets.waits": _("changed: waits for the next write"),
    "offsets.unknown": _("unknown: the file is damaged or too long to show"),
    "strip.min": _("min"),
    "strip.next": _("next pull"),
    "strip.pinned": _("{key} held {age}"),
    "strip.beyond": _("committed beyond max"),
    "strip.below": _("committed, deleted since"),
    "strip.none": _("no stored offset"),
    "strip.sentence": _(
        "{queue}, {owner}: min {min}, committed {committed}, in memory {memory}, next pull {next}, max {max}, lag {lag}"
    ),
    "strip.head": _("Strips show the last {n} messages; head is pinned right"),
    "strip.head_beyond": _("Strips show the last {n} messages; who is further behind stands left of the break"),
    "owner.reads": _("read by {who}"),
    "owner.waits": _("assigned to {who}, not consuming"),
    "owner.nobody": _("read by nobody"),
    "kpi.none": _("none"),
    "row.as_of": _("as of {at}"),
    "strategy.AVG": _("Averagely"),
    "strategy.AVG_BY_CIRCLE": _("By circle"),
    "strategy.CONSISTENT_HASH": _("Consistent hash"),
    "state.starting": _("Starting"),
    "state.running": _("Running"),
    "state.hung": _("No heartbeat"),
    "state.stopping": _("Stopping"),
    "state.stopped": _("Stopped"),
    "state.crashed": _("Crashed"),
    "state.refused": _("Refused"),
    "state.removed": _("Removed"),
    "state.unknown": _("Unknown"),
    "card.hung": _("Silent **{age}**. The broker drops it in **{left}**; only then do {queues} move."),
    "card.hung_free": _("Silent **{age}**. The broker drops it in **{left}**."),
    "card.crashed_locks": _(
        "Crashed **{age}** ago. Its locks on {queues} expire in **{left}**; until then nobody consumes them."
    ),
    "card.crashed": _("Crashed **{age}** ago. The broker saw its connection close."),
    "card.stopped": _("Stopped cleanly **{age}** ago: finished, committed, unlocked."),
    "card.starting": _("Starting: route, heartbeat, first rebalance."),
    "card.refused": _("The broker refuses it: {reason}"),
    "card.idle": Counted(
        lambda n: ngettext("{queues}, {members}: {who} gets nothing", "{queues}, {members}: {who} get nothing", n)
    ),
    "count.queues": Counted(lambda n: ngettext("{n} queue", "{n} queues", n)),
    "count.members": Counted(lambda n: ngettext("{n} member", "{n} members", n)),
    "card.wire_told": _("{language} {version}, a real client."),
    "card.wire": _("{language} {version}, a real client. Its buffers are its own business."),
    "card.slow_key": _("{key} takes {age} each"),
    "card.slow_next": _("the next message of {queue} takes {age}: waiting for it"),
    "card.slow_waits": _("{key} takes {age} each: waiting for its first message"),
    "card.pinned": _(
        "{queue}: committed stays at **{committed}** because **{key}** is unfinished; {done} done behind it"
    ),
    "card.flow": _("Holds back: {limit} limit reached"),
    "meter.count": _("Fullest q."),
    "meter.bytes": _("Bytes in q."),
    "meter.in_all": _("Buffered in its fullest queue, and how much one queue may hold; {n} in all its queues"),
    "meter.span": _("Span"),
    "meter.threads": _("Threads"),
    "limit.count": _("count"),
    "limit.size": _("size"),
    "limit.span": _("span"),
    "forecast": _("moves {n} of {m}"),
    "forecast.lane": _("{n} of {m} move"),
    "heat.name": _("All queues by lag"),
    "heat.cell": _("{queue}, lag {lag}"),
    "heat.head": _("Strips of the {n} furthest behind of {all} queues"),
    "lock.sentence": _("lock held by {who}, {left} left"),
    "lock.none": _("not locked"),
    "lock.lost": _("lock table lost with the master's memory"),
    "lock.granted": _("granted"),
    "lock.denied": _("denied, {who} holds it for {left}"),
    "lock.consuming": _("{key} in thread {thread}"),
    "lock.waits": _("waits"),
    "lock.suspended": _("paused {left}"),
    "chart.now": _("now"),
    "chart.crashed": _("{who} crashed"),
    "chart.silent": _("{who} went silent"),
    "chart.reset": _("reset"),
    "chart.summary": _("Lag by queue over the last five minutes. Highest now: {queue} with {lag}."),
    "tape.offset": _("commit log offset"),
    "tape.size": _("size"),
    "tape.tag": _("tag hash"),
    "tape.summary": _("The newest {n} messages of the commit log, in byte order"),
    "journal.gap": Counted(lambda n: ngettext("missed {n} event, loaded", "missed {n} events, loaded", n)),
    "journal.why": _("why"),
    "journal.none": _("Nothing has happened yet."),
    "journal.only_steps": _("Nothing but details lately."),
    "time.live": _("LIVE"),
    "time.frozen": _("Frozen, go live"),
    "time.frozen_more": Counted(lambda n: ngettext("Frozen, {n} event missed", "Frozen, {n} events missed", n)),
    "time.stopped": _("World stopped"),
    "time.stale": _("Not live"),
    "time.offline": _("Not live"),
    "time.catching": _("Catching up"),
    "time.wall": _("wall {at}"),
    "time.reached": _("{reached}× of {rate}×: this machine is busy"),
    "time.asleep": _("Asleep"),
    "time.ended": _("Not live"),
    "time.event": _("event #{seq}"),
    "time.freeze": _("Freeze view"),
    "time.now_due": _("now"),
    "time.resume": _("Resume view"),
    "act.sent": _("sent #{seq}"),
    "act.failed": _("The server did not answer. Try again."),
    "act.nobody": _("Nobody is running just now. Wait a moment."),
    "say.lock": _("{queue} lock granted to {who}"),
    "say.crashed": _("{who} crashed"),
    "say.hung": _("{who} stopped answering"),
    "say.repeated": Counted(
        lambda n: ngettext("{n} message came twice, for {who} crashed", "{n} messages came twice, for {who} crashed", n)
    ),
    "say.pinned": _("{queue} is held by {key}"),
    "say.reset": _("Offsets of {group} were moved"),
    "reset.undo": _("Undo"),
    "reset.price": _("**{again}** delivered again, **{skipped}** skipped for good, lag **{lag}** afterwards"),
    "reset.computing": _("Computing the preview …"),
    "reset.unreadable": _("No preview: a field cannot be read."),
    "walk.step": _("Station {n} of {m}"),
    **DOWN,
    **FLOW,
    **GROUP,
    **DIFFER,
}


def texts(more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return all texts in the reader's language, ready for JSON; `more`: texts of one page."""
    return {
        "texts": words({**TEXTS, **(more or {})}),
        "facts": {name: _fact(name.partition(":")[0], fact) for name, fact in FACTS.items()},
        "actions": {name: _counted(text) for name, text in ACTIONS.items()},
        "values": {key: str(word) for key, word in VALUES.items() if str(word) != key},
        "valued": VALUES_OF,
        "roles": {key: str(word) for key, word in ROLES.items()},
    }


def words(some: Mapping[str, Any]) -> dict[str, Any]:
    """Return the words of one page, to be added to its `texts`."""
    return {key: forms(text) for key, text in some.items()}


def _fact(name: str, fact: FactText) -> dict[str, Any]:
    shown = {"tone": fact.tone, "word": str(fact.word), **_counted(fact.text)}
    return shown | ({"mark": fact.mark} if fact.mark else {}) | ({"quiet": True} if name in STEPS else {})


def _counted(text: Any) -> dict[str, Any]:
    return {"text": forms(text)} | ({"by": text.by} if isinstance(text, Counted) else {})
