"""Cut and slowed links between nodes of a sandbox.

A link is a pair of names (`control.actions.faults`); the network uses addresses.  Each direction has its own state.
While all links are normal the network has no gate and no delay, and is as fast as without faults.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from sandbox.cluster.environment import Network
from sandbox.journal.events import LinkChanged
from sandbox.journal.journal import Journal
from sandbox.kernel.errors import ActionRefused

MAX_LINKS = 256  # pairs that are not normal; all pairs of a full sandbox are fewer

Way = tuple[str, str]  # from, to


class LinkState(NamedTuple):
    """State of one direction of a link.  `delay_ms` 0: not slowed."""

    cut: bool = False
    delay_ms: int = 0


WHOLE = LinkState()


class Links:
    """Links with faults.  `name_of` returns the node at an address (`ip:port`), None if none has it."""

    def __init__(self, network: Network, journal: Journal, name_of: Callable[[str], str | None]) -> None:
        self._network = network
        self._journal = journal
        self._name_of = name_of
        self._ways: dict[Way, LinkState] = {}

    def state(self, a: str, b: str) -> LinkState:
        """Return the state of the direction from `a` to `b`."""
        return self._ways.get((a, b), WHOLE)

    def check_room(self, a: str, b: str) -> None:
        """Raise ActionRefused (429) if too many links have faults already."""
        if len({_pair(way) for way in self._ways} - {_pair((a, b))}) >= MAX_LINKS:
            raise ActionRefused(
                429, "{count} network links already have faults.", "Heal some network links first.", count=MAX_LINKS
            )

    def cut(self, a: str, b: str, *, one_way: bool) -> None:
        self._set(a, b, LinkState(cut=True), one_way=one_way)
        self._journal.write(LinkChanged(a=a, b=b, state="cut", one_way=one_way, delay_ms=0))

    def slow(self, a: str, b: str, delay_ms: int, *, one_way: bool) -> None:
        self._set(a, b, LinkState(delay_ms=delay_ms), one_way=one_way)
        self._journal.write(LinkChanged(a=a, b=b, state="delayed", one_way=one_way, delay_ms=delay_ms))

    def heal(self, a: str, b: str) -> None:
        self._set(a, b, WHOLE, one_way=False)
        self._journal.write(LinkChanged(a=a, b=b, state="healed", one_way=False, delay_ms=0))

    def forget(self, name: str) -> None:
        """Remove all links of a deleted node."""
        for a, b in sorted({_pair(way) for way in self._ways if name in way}):
            self.heal(a, b)

    def rename(self, names: dict[str, str]) -> None:
        """Rename nodes; the links stay with their machines."""
        self._ways = {(names.get(a, a), names.get(b, b)): state for (a, b), state in self._ways.items()}

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per link, or one per direction if the directions differ; sorted (catalogue 9)."""
        rows: list[dict[str, object]] = []
        for a, b in sorted({_pair(way) for way in self._ways}):
            forth, back = self.state(a, b), self.state(b, a)
            if forth == back:
                rows.append(_row(a, b, forth, one_way=False))
            else:
                rows += [
                    _row(x, y, state, one_way=True) for x, y, state in ((a, b, forth), (b, a, back)) if state != WHOLE
                ]
        return rows

    def restore(self, rows: list[dict[str, Any]]) -> None:
        """Restore the links from `rows` after sleep, without an event."""
        for row in rows:
            state = LinkState(cut=row["state"] == "cut", delay_ms=row["delay_ms"])
            self._set(row["a"], row["b"], state, one_way=row["one_way"])

    def _set(self, a: str, b: str, state: LinkState, *, one_way: bool) -> None:
        for way in [(a, b)] if one_way else [(a, b), (b, a)]:
            self._ways.pop(way, None)
            if state != WHOLE:
                self._ways[way] = state
        self._network.gate = self._passes if any(state.cut for state in self._ways.values()) else None
        self._network.delay = self._delay_s if any(state.delay_ms for state in self._ways.values()) else None

    def _passes(self, sender: str, receiver: str) -> bool:
        return not self._between(sender, receiver).cut

    def _delay_s(self, sender: str, receiver: str) -> float:
        return self._between(sender, receiver).delay_ms / 1000

    def _between(self, sender: str, receiver: str) -> LinkState:
        a, b = self._name_of(sender), self._name_of(receiver)
        return WHOLE if a is None or b is None else self.state(a, b)


def _pair(way: Way) -> Way:
    return way if way[0] <= way[1] else (way[1], way[0])


def _row(a: str, b: str, state: LinkState, *, one_way: bool) -> dict[str, object]:
    return {"a": a, "b": b, "state": "cut" if state.cut else "delayed", "one_way": one_way, "delay_ms": state.delay_ms}
