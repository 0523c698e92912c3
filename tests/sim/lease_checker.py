"""Invariants while engines take sandboxes from each other, observed from outside."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple, Protocol

Inode = list[int]  # numbers of messages


class Copies:
    """The files of one sandbox: directories by number, of which the highest is the sandbox."""

    def __init__(self) -> None:
        self.numbered: dict[int, Inode] = {}

    def newest(self, not_above: int | None = None) -> tuple[int, Inode] | None:
        numbers = [number for number in self.numbered if not_above is None or number <= not_above]
        return (max(numbers), self.numbered[max(numbers)]) if numbers else None

    def discard_below(self, number: int) -> None:
        """Renamed, and then emptied, also while they are copied."""
        for old in [old for old in self.numbered if old < number]:
            self.numbered.pop(old).clear()


class Seen(Protocol):
    """An engine, as far as a checker sees it."""

    engine: str
    has: dict[str, int]  # slug → number of its claim, from the answer until it is closed

    @property
    def may_write(self) -> bool: ...


class Opened(NamedTuple):
    fence: int
    engine: str
    inode: Inode


class Checker:
    """`violations`: sentences; `counts`: what the run had in it."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self.counts: Counter[str] = Counter()
        self.now_s = 0.0
        self._opened: dict[str, Opened] = {}
        self._acknowledged: dict[str, set[int]] = {}

    def passed(self, one: Seen, slug: str, running: Iterable[Seen]) -> None:
        """`one` has just seen that it may write."""
        others = [other.engine for other in running if other is not one and slug in other.has and other.may_write]
        if others:
            self._broken(f"{one.engine} and {others[0]} may both write to {slug}")

    def opened(self, one: Seen, slug: str, fence: int, inode: Inode) -> None:
        before = self._opened.get(slug)
        if before is None or fence > before.fence:
            self._opened[slug] = Opened(fence, one.engine, inode)
            self._whole(slug, inode)
        else:
            self.counts["opened late"] += 1

    def wrote(self, one: Seen, slug: str, inode: Inode) -> None:
        owner = self._opened[slug]
        if owner.engine != one.engine:
            self.counts["late writes"] += 1
            if owner.inode is inode:
                self._broken(f"{one.engine} writes to files of {slug} that {owner.engine} has opened")

    def acknowledged(self, slug: str, message: int, copies: Copies) -> None:
        self.counts["acknowledged"] += 1
        self._acknowledged.setdefault(slug, set()).add(message)
        newest = copies.newest()
        if newest is None or message not in newest[1]:
            self._broken(f"message {message} of {slug} is acknowledged and in none of its files")

    def ended(self, slug: str, copies: Copies, *, is_open: bool) -> None:
        if not is_open:
            self._broken(f"{slug} is open nowhere, long after the last trouble")
        self._whole(slug, (copies.newest() or (0, []))[1])

    def _whole(self, slug: str, inode: Inode) -> None:
        lost = self._acknowledged.get(slug, set()).difference(inode)
        if lost:
            self._broken(f"{len(lost)} acknowledged messages of {slug} are lost, {min(lost)} for one")

    def _broken(self, sentence: str) -> None:
        self.violations.append(f"[{self.now_s:.3f}] {sentence}")
