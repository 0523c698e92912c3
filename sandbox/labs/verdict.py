"""Verdict of a check: met, not yet or wrong, as a sentence, its values and the events it rests on."""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

State = Literal["met", "not_yet", "wrong"]


class Verdict(NamedTuple):
    """`text` names `values`; `rests_on`: seqs of journal entries, rising."""

    state: State
    text: str
    values: dict[str, Any]
    rests_on: tuple[int, ...]

    @classmethod
    def met(cls, text: str, *, rests_on: Iterable[int] = (), **values: Any) -> "Verdict":
        return cls("met", text, values, ordered(rests_on))

    @classmethod
    def not_yet(cls, text: str, *, rests_on: Iterable[int] = (), **values: Any) -> "Verdict":
        return cls("not_yet", text, values, ordered(rests_on))

    @classmethod
    def wrong(cls, text: str, *, rests_on: Iterable[int] = (), **values: Any) -> "Verdict":
        return cls("wrong", text, values, ordered(rests_on))

    @property
    def is_met(self) -> bool:
        return self.state == "met"

    def sentence(self) -> str:
        """Return the sentence in English."""
        return self.text.format(**self.values)


def ordered(seqs: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(seqs)))
