"""`EnginePort` with the engines of browsers beside the server's: a call goes to the browser that has the sandbox."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from queueviz.browsers.link import Link
from queueviz.browsers.links import link_of
from queueviz.engines.futures import failed, gathered, settle
from queueviz.slugs import is_in_browser
from sandbox.control.actions import Action, fields_of, name_of
from sandbox.control.channel_names import ChannelUnknown, parse_channel
from sandbox.control.interventions import Done, Intervention
from sandbox.control.questions import Question, asked
from sandbox.control.readings import Entries, LookedBack, Reading, Refusal
from sandbox.control.rights import Actor
from sandbox.journal.event_filter import EventFilter
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.rows.host import ListeningRow, OpenedRow
from sandbox.queries.state_at import Kept

if TYPE_CHECKING:
    from queueviz.engines.port import PoolPort
    from sandbox.hosting.port import EnginePort

TILE = "tile/"
Answer = Reading | Refusal
REASONS = {
    "asleep": Refusal("asleep"),
    "waking": Refusal("waking"),
    "failed": Refusal("failed"),
    "stopped": Refusal("stopped"),
    "unknown": Refusal("unknown"),
}


class BrowserPort:
    """The methods of `EnginePort`, for sandboxes on this server and in browsers.

    A browser executes what its page needs.  What reads files of a past run is asked of this server: it has them once
    the run was executed here (`courses.proofs`).
    """

    def __init__(self, hosted: "EnginePort | PoolPort") -> None:
        self.hosted = hosted

    def __getattr__(self, verb: str) -> Callable[..., "Future[Any]"]:
        method: Callable[..., Future[Any]] = getattr(self.hosted, verb)
        return method

    def act(self, slug: str, action: Action, by: Actor, **named: Any) -> "Future[int]":
        if not is_in_browser(slug):
            return self.hosted.act(slug, action, by, **named)
        fields = {"action": name_of(action), **fields_of(action, whole=True)}
        return _call(slug, "act", int, _by_teacher, fields=fields, by=list(by))

    def intervene(self, slug: str, what: Intervention, by: Actor) -> "Future[Done]":
        if not is_in_browser(slug):
            return self.hosted.intervene(slug, what, by)
        return _call(slug, "intervene", Done, _by_teacher, what=list(what), by=list(by))

    def open_listener(self, slug: str) -> "Future[ListeningRow]":
        return failed(_no_ports()) if is_in_browser(slug) else self.hosted.open_listener(slug)

    def close_listener(self, slug: str) -> "Future[ListeningRow]":
        return failed(_no_ports()) if is_in_browser(slug) else self.hosted.close_listener(slug)

    def renew_hold(self, slug: str, lease_s: float) -> "Future[None]":
        if not is_in_browser(slug):
            return self.hosted.renew_hold(slug, lease_s)
        link = link_of(slug)
        if link is None or not link.hold:
            return _done(None)
        return _call(slug, "renew_hold", None, lease_s=lease_s)

    def ask(self, slug: str, question: Question) -> "Future[Any]":
        if not is_in_browser(slug):
            return self.hosted.ask(slug, question)
        return _call(slug, "ask", dict[str, object], question=asked(question))

    def snapshot(self, slug: str) -> "Future[Any]":
        return _call(slug, "snapshot", dict[str, object]) if is_in_browser(slug) else self.hosted.snapshot(slug)

    def newest_seq(self, slug: str) -> "Future[int]":
        return _call(slug, "newest_seq", int) if is_in_browser(slug) else self.hosted.newest_seq(slug)

    def kept(self, slug: str) -> "Future[Kept]":
        return _call(slug, "kept", Kept) if is_in_browser(slug) else self.hosted.kept(slug)

    def entries(self, slug: str, after: int, limit: int, **named: Any) -> "Future[Entries]":
        if not is_in_browser(slug):
            return self.hosted.entries(slug, after, limit, **named)
        return _call(slug, "entries", Entries, after=after, limit=limit, **named)

    def look_back(self, slug: str, event_filter: EventFilter, **named: Any) -> "Future[LookedBack]":
        if not is_in_browser(slug):
            return self.hosted.look_back(slug, event_filter, **named)
        terms = [[term.text, sorted(term.kinds), sorted(term.values)] for term in event_filter.terms]
        filtered = {"show": event_filter.show, "unnamed": event_filter.unnamed, "scoreless": event_filter.scoreless}
        return _call(slug, "look_back", LookedBack, event_filter=filtered, terms=terms, **named)

    def begin_in_browser(self, slug: str) -> "Future[OpenedRow]":
        """Return at once: the browser begins the sandbox itself."""
        return _done(_row(slug))

    def wake(self, slug: str) -> "Future[OpenedRow]":
        """Return at once: a browser's engine runs while its page is open."""
        if not is_in_browser(slug):
            return self.hosted.wake(slug)
        return failed(away()) if link_of(slug) is None else _done(_row(slug))

    def delete(self, slug: str) -> "Future[None]":
        """End the browser's engine, and delete what an execution here has left."""
        deleted = self.hosted.delete(slug)
        if not is_in_browser(slug):
            return deleted
        if (link := link_of(slug)) is not None:
            link.end_soon("removed")
        whole: Future[None] = Future()

        def settled(done: "Future[None]") -> None:
            error = done.exception()
            missing = isinstance(error, ActionRefused) and error.status == 404
            settle(whole, None, why=None if missing else error)

        deleted.add_done_callback(settled)
        return whole

    def read(self, channels: Sequence[str], *, last: bool = False) -> "Future[list[Answer]]":
        """Read channels in the given order.  Of a browser the newest tile that it sent, without a call."""
        theirs = {name: slug for name in channels if is_in_browser(slug := _slug_of(name))}
        if not theirs:
            return self.hosted.read(channels, last=last)
        answers: dict[str, Answer | str] = {}
        asked_of: dict[str, list[str]] = {}
        for name, slug in theirs.items():
            link = link_of(slug)
            if link is None or (name.startswith(TILE) and link.tile is None):
                answers[name] = REASONS["asleep"]
            elif name.startswith(TILE):
                assert link.tile is not None
                answers[name] = link.tile
            else:
                asked_of.setdefault(link.slug, []).append(name)
        ours = [name for name in channels if name not in theirs]
        parts = [(ours, self.hosted.read(ours, last=last))] if ours else []
        parts += [(names, _call(slug, "read", list[Reading | str], names=names)) for slug, names in asked_of.items()]

        def in_order(values: list[list[Answer | str]]) -> list[Answer]:
            for (names, _), part in zip(parts, values, strict=True):
                answers.update(zip(names, part, strict=False))
            return [_readable(answers.get(name)) for name in channels]

        return gathered([future for _, future in parts], in_order)


def away() -> ActionRefused:
    """Return the refusal of a call to a browser that is not connected."""
    return ActionRefused(503, "This student's browser is not connected.", "Try again when it is.")


def _no_ports() -> ActionRefused:
    return ActionRefused(
        422, "A sandbox in the browser has no ports for real clients.", "Start a sandbox on the server."
    )


def _call(
    slug: str, verb: str, returns: Any, before: Callable[[Link], None] | None = None, **args: Any
) -> "Future[Any]":
    link = link_of(slug)
    if link is None:
        return failed(away())
    if before is not None:
        before(link)
    return link.ask(verb, returns, **args)


def _by_teacher(link: Link) -> None:
    """Note that entries in a teacher's name follow."""
    link.note_teacher()


def _done(value: Any) -> "Future[Any]":
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def _readable(answer: Answer | str | None) -> Answer:
    """Return a channel's answer; a browser sends a refusal as its reason."""
    if isinstance(answer, str) and answer in REASONS:
        return REASONS[answer]
    return answer if isinstance(answer, Reading | Refusal) else REASONS["failed"]


def _row(slug: str) -> OpenedRow:
    return {
        "slug": slug,
        "template": None,
        "preset": None,
        "state": "awake",
        "watched": True,
        "failed": None,
        "epoch": None,
        "trouble": None,
    }


def _slug_of(channel: str) -> str:
    try:
        return parse_channel(channel)[1]
    except ChannelUnknown:
        return ""
