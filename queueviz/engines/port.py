"""`EnginePort` over engine processes: each verb goes to the engine that has the sandbox."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any

from queueviz.engines.futures import after, gathered
from sandbox.control.branch_orders import AnyOrder, RunOrder
from sandbox.control.channel_names import ChannelUnknown, parse_channel
from sandbox.kernel.errors import ActionRefused

if TYPE_CHECKING:
    from queueviz.engines.pool import Pool

TO_ONE = frozenset({
    "recipe", "show", "cancel_branch", "wake", "sleep", "open_listener", "close_listener", "set_keys",
    "dismiss_notices", "attach", "detach", "act", "ask", "newest_seq", "snapshot", "entries", "look_back", "kept",
    "line", "changes", "state_at"})  # fmt: skip


class PoolPort:
    """The verbs of `hosting.port.EnginePort` with the same values and errors, but `subscribe`, `unsubscribe` and
    `read_within`: those are the hub's, which is where the sandboxes are.
    """

    def __init__(self, pool: "Pool") -> None:
        self.pool = pool

    def __getattr__(self, verb: str) -> Callable[..., "Future[Any]"]:
        if verb not in TO_ONE:
            raise AttributeError(verb)
        return partial(self._to_one, verb)

    def create(self, slug: str, *given: Any, **named: Any) -> "Future[dict[str, Any]]":
        return self._make("create", slug, *given, **named)

    def branch(self, slug: str, order: "AnyOrder") -> "Future[dict[str, Any]]":
        """The parent's engine shows its journal first: another one may make the branch."""
        if isinstance(order, RunOrder):
            return self._make("branch", slug, order)
        return after(self._to_one("show", order.parent), lambda: self._make("branch", slug, order))

    def delete(self, slug: str) -> "Future[None]":
        deleted = self._to_one("delete", slug)
        deleted.add_done_callback(lambda done: None if _is_there(done) else self.pool.displace(slug))
        return deleted

    def read(self, channels: Sequence[str]) -> "Future[list[Any]]":
        """In the order given, one question to each engine."""
        places = [self.pool.place_of(_slug_of(name)) for name in channels]
        asked = {place: self._call(place, "read", [name for name, at in zip(channels, places, strict=True)
                                                   if at == place]) for place in dict.fromkeys(places)}

        def in_order(answers: list[list[Any]]) -> list[Any]:
            each = {place: iter(answer) for place, answer in zip(asked, answers, strict=True)}
            return [next(each[place]) for place in places]

        return gathered(list(asked.values()), in_order)

    def status(self) -> "Future[dict[str, Any]]":
        """As one engine's, with `engines`, the number of them.  An engine that is being started again is left out."""
        def merged(found: list[dict[str, Any]]) -> dict[str, Any]:
            total = {name: sum(status[name] for status in found) for name in ("awake", "known", "cap", "fds")}
            for name in ("sandboxes", "attached"):
                total[name] = {slug: row for status in found for slug, row in status[name].items()}
            return {**total, "fd_limit": sum(status["fd_limit"] for status in found), "engines": self.pool.size,
                    "engines_answering": len(found)}

        return gathered([self._call(place, "status") for place in range(self.pool.size)], merged, some=True)

    def figures(self) -> "Future[list[dict[str, int]]]":
        """What the hub of each engine counted (`Hub.counted`)."""
        asked = [self.pool.ask(place, "figures") for place in range(self.pool.size)]
        return gathered(asked, lambda found: found, some=True)

    def _make(self, verb: str, slug: str, *given: Any, **named: Any) -> "Future[dict[str, Any]]":
        return self._call(self.pool.place(slug), verb, slug, *given, **named)

    def _to_one(self, verb: str, slug: str, *given: Any, **named: Any) -> "Future[Any]":
        return self._call(self.pool.place_of(slug), verb, slug, *given, **named)

    def _call(self, place: int, verb: str, *given: Any, **named: Any) -> "Future[Any]":
        return self.pool.ask(place, "call", verb, given, named)


def _slug_of(channel: str) -> str:
    try:
        return parse_channel(channel)[1]
    except ChannelUnknown:
        return ""


def _is_there(deleted: "Future[None]") -> bool:
    """Whether the sandbox still is, after it was to be deleted."""
    if deleted.cancelled():
        return True
    why = deleted.exception()
    return why is not None and not (isinstance(why, ActionRefused) and why.status == 404)
