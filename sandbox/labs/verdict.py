"""Verdict of a check: met, not yet or wrong, with a sentence, its values and the events it rests on."""

from collections.abc import Iterable, Mapping
from string import Formatter
from typing import Any, Literal, NamedTuple, Protocol

State = Literal["met", "not_yet", "wrong"]


class Numbered(Protocol):
    """Row with the seq of its journal entry."""

    @property
    def seq(self) -> int: ...


RestsOn = Iterable[int | Numbered | None]
"""Entries, or their seqs, on which a verdict rests; None is left out: `rests_on=[crash, *moves]`."""


class Verdict(NamedTuple):
    """Verdict of a check; `text` has placeholders for `values`; `rests_on`: ascending seqs of journal entries."""

    state: State
    text: str
    values: dict[str, object]
    rests_on: tuple[int, ...]

    @classmethod
    def met(cls, text: str, *, rests_on: RestsOn = (), **values: Any) -> "Verdict":
        return cls("met", text, values, ordered(rests_on))

    @classmethod
    def not_yet(cls, text: str, *, rests_on: RestsOn = (), **values: Any) -> "Verdict":
        return cls("not_yet", text, values, ordered(rests_on))

    @classmethod
    def wrong(cls, text: str, *, rests_on: RestsOn = (), **values: Any) -> "Verdict":
        return cls("wrong", text, values, ordered(rests_on))

    @property
    def is_met(self) -> bool:
        return self.state == "met"

    def filled(self, numbers: Mapping[str, object]) -> "Verdict":
        """Return the verdict with the lab's numbers added that its text contains and its values lack."""
        named = {name for _, name, _, _ in Formatter().parse(self.text) if name} - self.values.keys()
        return self._replace(values={**self.values, **{name: numbers[name] for name in named & numbers.keys()}})

    def sentence(self) -> str:
        """Return the sentence in English."""
        return self.text.format(**self.values)


def ordered(rests_on: RestsOn) -> tuple[int, ...]:
    """Return the seqs in ascending order without duplicates."""
    return tuple(sorted({row if isinstance(row, int) else row.seq for row in rests_on if row is not None}))
