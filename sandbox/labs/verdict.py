"""Verdict of a check: met, not yet or wrong, as a sentence, its values and the events it rests on."""

from collections.abc import Iterable, Mapping
from string import Formatter
from typing import Any, Literal, NamedTuple, Protocol

State = Literal["met", "not_yet", "wrong"]


class Numbered(Protocol):
    """A row with the number of its journal entry."""

    @property
    def seq(self) -> int: ...


RestsOn = Iterable[int | Numbered | None]
"""Entries, or their seqs, on which a verdict rests; None is left out: `rests_on=[crash, *moves]`."""


class Verdict(NamedTuple):
    """`text` names `values`; `rests_on`: seqs of journal entries, rising."""

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
        """Return the verdict with those numbers of the lab that its text names and its values do not give."""
        named = {name for _, name, _, _ in Formatter().parse(self.text) if name} - self.values.keys()
        return self._replace(values={**self.values, **{name: numbers[name] for name in named & numbers.keys()}})

    def sentence(self) -> str:
        """Return the sentence in English."""
        return self.text.format(**self.values)


def ordered(rests_on: RestsOn) -> tuple[int, ...]:
    """Return the seqs, each once and rising."""
    return tuple(sorted({row if isinstance(row, int) else row.seq for row in rests_on if row is not None}))
