"""`EnginePort` over several engines: each call goes to the engine that serves the sandbox."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Protocol

from queueviz.engines.futures import after, gathered, unless
from queueviz.engines.wire import Message
from sandbox.control.branch_orders import AnyOrder, RunOrder
from sandbox.control.channel_names import ChannelUnknown, parse_channel
from sandbox.hosting.registry import NotHeld
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.rows.host import HostStatus, OpenedRow

Place = Any  # what a pool calls an engine
Listener = Callable[[Place, Message | None], None]  # which engine, what it said; None: it ended

TO_ONE = frozenset(
    {
        "recipe",
        "show",
        "cancel_branch",
        "wake",
        "sleep",
        "open_listener",
        "close_listener",
        "set_keys",
        "dismiss_notices",
        "attach",
        "detach",
        "act",
        "ask",
        "intervene",
        "renew_hold",
        "newest_seq",
        "snapshot",
        "entries",
        "look_back",
        "kept",
        "line",
        "changes",
        "state_at",
    }
)


class AnyPool(Protocol):
    """The interface of a pool of engines, on this machine or on several.  Thread-safe."""

    listeners: list[Listener]

    @property
    def size(self) -> int: ...
    def engines(self) -> list[Place]:
        """Return the engines that can be called."""

    def place_of(self, slug: str) -> Place:
        """Return the engine that serves the sandbox, or that would report it as unknown."""

    def seat(self, slug: str, *, new: bool = False, again: bool = False) -> "Future[None]":
        """Ensure that an engine serves the sandbox.  Raises EngineBusy if no engine may serve it yet.

        `new`: the sandbox is to be created.  `again`: the known engine may be wrong, or still copies the files.
        """

    def displace(self, slug: str) -> None:
        """Forget which engine served a sandbox that is deleted, or has another engine now."""

    def ask(self, engine: Place, kind: str, *args: Any) -> "Future[Any]": ...
    def say(self, engine: Place, *message: Any) -> None: ...


class PoolPort:
    """The methods of `hosting.port.EnginePort`, with the same values and errors, over a pool of engines.

    `subscribe`, `unsubscribe` and `read_within` are missing: only a hub calls them, and the hubs are in the engines.
    """

    def __init__(self, pool: AnyPool) -> None:
        self.pool = pool

    def __getattr__(self, verb: str) -> Callable[..., "Future[Any]"]:
        if verb not in TO_ONE:
            raise AttributeError(verb)
        return partial(self._to_one, verb)

    def create(self, slug: str, *args: Any, **named: Any) -> "Future[OpenedRow]":
        return self._make("create", slug, *args, **named)

    def branch(self, slug: str, order: "AnyOrder") -> "Future[OpenedRow]":
        """Create a branch of a sandbox, or the sandbox of a reproducible link.

        The parent's engine first makes its journal readable, since another engine may make the branch.
        """
        if isinstance(order, RunOrder):
            return self._make("branch", slug, order)
        return after(self._to_one("show", order.parent), lambda: self._make("branch", slug, order))

    def delete(self, slug: str) -> "Future[None]":
        deleted = self._to_one("delete", slug)
        deleted.add_done_callback(lambda done: None if _is_there(done) else self.pool.displace(slug))
        return deleted

    def read(self, channels: Sequence[str], *, last: bool = False) -> "Future[list[Any]]":
        """Read channels in the given order, with one call to each engine; `last` as in `EnginePort`."""
        slugs = [_slug_of(name) for name in channels]
        return after(
            gathered([self.pool.seat(slug) for slug in dict.fromkeys(slugs) if slug], _nothing),
            lambda: self._read(channels, [self.pool.place_of(slug) for slug in slugs], last=last),
        )

    def _read(self, channels: Sequence[str], places: list[Place], *, last: bool) -> "Future[list[Any]]":
        asked = {
            engine: self._call(
                engine, "read", [name for name, at in zip(channels, places, strict=True) if at == engine]
            )
            for engine in dict.fromkeys(places)
        }

        def in_order(answers: list[list[Any]]) -> list[Any]:
            each = {engine: iter(answer) for engine, answer in zip(asked, answers, strict=True)}
            return [next(each[engine]) for engine in places]

        return gathered(list(asked.values()), in_order)

    def status(self) -> "Future[HostStatus]":
        """Return the status of all engines as one, with their number in `engines`.

        Engines that are restarting are left out.
        """
        return gathered(list(self.statuses().values()), self.merged, some=True)

    def statuses(self) -> "dict[str, Future[HostStatus]]":
        """Return the future status of each engine, by its name or its number, from 1."""
        return {
            str(engine + 1) if isinstance(engine, int) else str(engine): self._call(engine, "status")
            for engine in self.pool.engines()
        }

    def merged(self, statuses: "list[HostStatus]") -> "HostStatus":
        """Return the statuses of the engines that answered as one status."""
        return {
            "awake": sum(status["awake"] for status in statuses),
            "known": sum(status["known"] for status in statuses),
            "cap": sum(status["cap"] for status in statuses),
            "fds": sum(status["fds"] for status in statuses),
            "sandboxes": {slug: row for status in statuses for slug, row in status["sandboxes"].items()},
            "attached": {slug: row for status in statuses for slug, row in status["attached"].items()},
            "fd_limit": sum(status["fd_limit"] for status in statuses),
            "engines": self.pool.size,
            "engines_answering": len(statuses),
            "full": next((full for status in statuses if (full := status.get("full"))), None),
        }

    def figures(self) -> "Future[list[dict[str, int]]]":
        """Return the counters of each engine's hub (`Hub.counted`)."""
        asked = [self.pool.ask(engine, "figures") for engine in self.pool.engines()]
        return gathered(asked, lambda figures: figures, some=True)

    def _make(self, verb: str, slug: str, *args: Any, **named: Any) -> "Future[Any]":
        return after(self.pool.seat(slug, new=True), lambda: self._at_its_place(verb, slug, *args, **named))

    def _to_one(self, verb: str, slug: str, *args: Any, **named: Any) -> "Future[Any]":
        """Call the engine of the sandbox; call again if that engine no longer serves it."""

        def go(*, again: bool) -> "Future[Any]":
            return after(self.pool.seat(slug, again=again), lambda: self._at_its_place(verb, slug, *args, **named))

        return unless(go(again=False), NotHeld, lambda: go(again=True))

    def _at_its_place(self, verb: str, slug: str, *args: Any, **named: Any) -> "Future[Any]":
        return self._call(self.pool.place_of(slug), verb, slug, *args, **named)

    def _call(self, engine: Place, verb: str, *args: Any, **named: Any) -> "Future[Any]":
        return self.pool.ask(engine, "call", verb, args, named)


def _nothing(_: list[Any]) -> None: ...


def _slug_of(channel: str) -> str:
    try:
        return parse_channel(channel)[1]
    except ChannelUnknown:
        return ""


def _is_there(deleted: "Future[None]") -> bool:
    """Return True if the sandbox still exists after its deletion was requested."""
    if deleted.cancelled():
        return True
    error = deleted.exception()
    return error is not None and not (isinstance(error, ActionRefused) and error.status == 404)
