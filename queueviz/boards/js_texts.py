"""Sentences for the page's JavaScript, translated by the server and passed as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NotRequired, TypedDict, cast

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from queueviz.boards.action_texts import ACTIONS, ROLES
from queueviz.boards.counted import Counted, CountedTexts, forms
from queueviz.boards.down_queue_texts import DOWN
from queueviz.boards.fact_texts import FACTS, VALUES, VALUES_OF, FactText
from queueviz.boards.finding_texts import TITLE_OF
from queueviz.boards.group_texts import GROUP
from queueviz.boards.lag_texts import FLOW
from queueviz.boards.member_words import DIFFER
from queueviz.texts import Text
from sandbox.findings.all_rules import BY_CODE
from sandbox.journal.event_filter import STEPS

PINNED_AFTER_MS = BY_CODE["offset_pinned"].hold_ms

TEXTS: CountedTexts = {
    "conn.connected": _("Connected"),
    "conn.rate": _("{fps} fps · {ms} ms"),
    "conn.catching": _("Catching up"),
    "conn.stale": _("No update for {age}"),
    "conn.offline": _("Offline"),
    "conn.frozen": _("Frozen"),
    "conn.lost": _("Connection lost. The page shows event #{seq}, {age} old. Next try in {wait}."),
    "conn.lost_now": _("Connection lost. The page shows event #{seq}, {age} old. Trying again now."),
    "conn.try": _("Try now"),
    "conn.connecting": _("Connecting"),
    "conn.opening": _("Opening"),
    "conn.slow": _("This connection is too slow for live updates. The page reloads its data every 5 s."),
    "conn.asleep": _("Asleep"),
    "conn.ended": _("Ended"),
    "end.asleep": _("This sandbox is asleep. You see its last state."),
    "end.failed": _("This sandbox cannot be opened. Reload the page to see the reason."),
    "end.stopped": _("This broker is stopped. You see its last state."),
    "end.unknown": _("This item no longer exists."),
    "end.forbidden": _("You no longer have access to this view."),
    "end.too_large": _("This view is too large for live updates."),
    "end.too_many_channels": _("This page has too many live views at once."),
    "end.too_many_messages": _("This page sent too many requests at once. Reload it."),
    "watchers": _("{n} watching"),
    "offsets.same": _("written"),
    "offsets.waits": _("changed, not written yet"),
    "offsets.unknown": _("unknown: the file is damaged or too long to show"),
    "strip.min": _("min"),
    "strip.next": _("next pull"),
    "strip.pinned": _("{key} pinned {age}"),
    "strip.beyond": _("committed beyond max"),
    "strip.below": _("committed below min"),
    "strip.unread": _("{n} deleted unread"),
    "strip.none": _("no stored offset"),
    "strip.sentence": _(
        "{queue}, {owner}: min {min}, committed {committed}, in memory {memory}, next pull {next}, max {max}, lag {lag}"
    ),
    "strip.head": _("Strips show the last {n} messages; the newest are at the right"),
    "strip.head_beyond": _("Strips show the last {n} messages; offsets further behind are left of the break"),
    "owner.reads": _("read by {who}"),
    "owner.waits": _("assigned to {who}, not consuming"),
    "owner.nobody": _("no reader"),
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
    "card.hung": _(
        "Hung for **{age}**. The broker drops this member in **{left}**; only then are {queues} reassigned."
    ),
    "card.hung_free": _("Hung for **{age}**. The broker drops this member in **{left}**."),
    "card.hung_unlisted": _("Hung for **{age}**. No broker lists this member any more."),
    "card.crashed_locks": _(
        "This member crashed **{age}** ago. Its locks on {queues} expire in **{left}**; until then no member "
        "consumes these queues."
    ),
    "card.crashed": _("This member crashed **{age}** ago. The broker detected the closed connection."),
    "card.stopped": _("Stopped cleanly **{age}** ago: messages in progress interrupted, all before them committed."),
    "card.starting": _("Starting: route, heartbeat, first rebalance."),
    "card.refused": _("The broker refuses this member: {reason}"),
    "card.idle": Counted(
        lambda n: ngettext("{queues}, {members}: {who} gets no queue", "{queues}, {members}: {who} get no queue", n)
    ),
    "count.queues": Counted(lambda n: ngettext("{n} queue", "{n} queues", n)),
    "count.members": Counted(lambda n: ngettext("{n} member", "{n} members", n)),
    "card.wire_told": _("{language} {version}, a real client."),
    "card.wire": _("{language} {version}, a real client. It does not report its buffers."),
    "card.slow_key": _("messages with key {key} take {age}"),
    "card.slow_next": _("the next message of {queue} takes {age}: waiting for this message"),
    "card.slow_waits": _("messages with key {key} take {age}; none has come yet"),
    "card.pinned": _(
        "{queue}: the committed offset stays at **{committed}** because **{key}** is unfinished; {done} later "
        "messages are finished"
    ),
    "card.flow": _("Pulls paused: {limit} limit reached"),
    "meter.count": _("Fullest queue"),
    "meter.bytes": _("Queue bytes"),
    "meter.in_all": _(
        "Buffered messages in the fullest queue, and the limit of a queue; {n} in all queues of this member"
    ),
    "meter.span": _("Offset span"),
    "meter.threads": _("Threads"),
    "limit.count": _("count"),
    "limit.size": _("size"),
    "limit.span": _("span"),
    "forecast": _("moves {n} of {m} queues"),
    "forecast.lane": _("{n} of {m} move"),
    "heat.name": _("All queues by lag"),
    "heat.cell": _("{queue}, lag {lag}"),
    "heat.head": _("Strips of the {n} queues with the most lag, of {all}"),
    "lock.sentence": _("lock held by {who}, {left} left"),
    "lock.none": _("not locked"),
    "lock.lost": _("lock table lost with the master's memory"),
    "lock.granted": _("granted"),
    "lock.denied": _("denied, {who} holds the lock for another {left}"),
    "lock.consuming": _("{key} in thread {thread}"),
    "lock.waits": _("waits"),
    "lock.suspended": _("paused {left}"),
    "chart.now": _("now"),
    "chart.calm": _("5 min, mean of 10 s"),
    "chart.at": _("{ago} ago: {lag}"),
    "chart.crashed": _("{who} crashed"),
    "chart.silent": _("{who} hung"),
    "chart.reset": _("reset"),
    "chart.finding": TITLE_OF,
    "chart.summary": _("Lag by queue over the last five minutes. Highest now: {queue} with {lag}."),
    "tape.offset": _("commit log offset"),
    "tape.size": _("size"),
    "tape.tag": _("tag hash"),
    "tape.stopped": _("Unknown: this broker is stopped."),
    "tape.summary": _("The newest {n} messages of the commit log, in byte order"),
    "journal.gap": Counted(lambda n: ngettext("missed {n} event, loaded", "missed {n} events, loaded", n)),
    "journal.why": _("why"),
    "journal.none": _("No events yet."),
    "journal.only_steps": _("All recent events are details; the Journal page shows them."),
    "time.live": _("LIVE"),
    "time.frozen": _("Frozen: go live"),
    "time.frozen_more": Counted(lambda n: ngettext("Frozen, {n} event missed", "Frozen, {n} events missed", n)),
    "time.stopped": _("Time stopped"),
    "time.stale": _("Not live"),
    "time.offline": _("Not live"),
    "time.catching": _("Catching up"),
    "time.wall": _("wall clock {at}"),
    "time.reached": _("{reached}× of {rate}×: this machine is busy"),
    "time.asleep": _("Asleep"),
    "time.ended": _("Not live"),
    "time.event": _("event #{seq}"),
    "time.freeze": _("Freeze view"),
    "time.now_due": _("now"),
    "time.resume": _("Resume view"),
    "act.sent": _("sent #{seq}"),
    "act.failed": _("The server did not answer. Try again."),
    "act.no_member": _("No member is running now. Wait a moment."),
    "say.lock": _("{queue} lock granted to {who}"),
    "say.crashed": _("{who} crashed"),
    "say.hung": _("{who} stopped responding"),
    "say.repeated": Counted(
        lambda n: ngettext(
            "{n} message delivered twice: {who} crashed", "{n} messages delivered twice: {who} crashed", n
        )
    ),
    "say.pinned": _("{queue} is pinned by {key}"),
    "say.reset": _("Offsets of {group} were moved"),
    "reset.undo": _("Undo"),
    "reset.price": _("**{again}** delivered again, **{skipped}** skipped permanently, lag **{lag}** afterwards"),
    "reset.computing": _("Computing the preview …"),
    "reset.unreadable": _("No preview: a field is not readable."),
    "walk.step": _("Step {n} of {m} of the walk"),
    **DOWN,
    **FLOW,
    **GROUP,
    **DIFFER,
}


class ShownText(TypedDict):
    """A sentence in the reader's language."""

    text: str | list[str]  # or its two forms (`counted.forms`)
    by: NotRequired[str]  # the field that counts


class ShownFact(ShownText):
    """The sentence of a fact, with its tone and word."""

    tone: str
    word: str
    mark: NotRequired[str]
    quiet: NotRequired[bool]


class PageTexts(TypedDict):
    """All texts of a page's modules."""

    texts: dict[str, str | list[str]]
    facts: dict[str, ShownFact]
    actions: dict[str, ShownText]
    values: dict[str, str]
    valued: tuple[str, ...]
    roles: dict[str, str]
    pinned_after_ms: int


def texts(more: Mapping[str, Text | Counted] | None = None) -> PageTexts:
    """Return all texts in the reader's language, ready for JSON; `more`: texts of one page."""
    return {
        "texts": words({**TEXTS, **(more or {})}),
        "facts": {name: _fact(name.partition(":")[0], fact) for name, fact in FACTS.items()},
        "actions": {name: _counted(text) for name, text in ACTIONS.items()},
        "values": {key: str(word) for key, word in VALUES.items() if str(word) != key},
        "valued": VALUES_OF,
        "roles": {key: str(word) for key, word in ROLES.items()},
        "pinned_after_ms": PINNED_AFTER_MS,
    }


def words(some: Mapping[str, Text | Counted]) -> dict[str, str | list[str]]:
    """Return the given texts in the reader's language, as JSON carries them, to be added to a page's `texts`."""
    return {key: forms(text) for key, text in some.items()}


def with_texts(page_texts: object, more: Mapping[str, Text | Counted]) -> PageTexts:
    """Return a page's texts, as `texts` made them, with more of them."""
    known = cast(PageTexts, page_texts)
    return {**known, "texts": {**known["texts"], **words(more)}}


def _fact(name: str, fact: FactText) -> ShownFact:
    shown: ShownFact = {"tone": fact.tone, "word": str(fact.word), "text": forms(fact.text)}
    if isinstance(fact.text, Counted):
        shown["by"] = fact.text.by
    if fact.mark:
        shown["mark"] = fact.mark
    if name in STEPS:
        shown["quiet"] = True
    return shown


def _counted(text: Text | Counted) -> ShownText:
    return {"text": forms(text), "by": text.by} if isinstance(text, Counted) else {"text": forms(text)}
