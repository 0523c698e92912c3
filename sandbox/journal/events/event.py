"""Declarations of an event beside its fields: its kind and its sentences."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

from sandbox.kernel.sentences import Sentence

K = TypeVar("K", bound=type)

FLOW: set[type["Event"]] = set()
SAID: dict[str, "Said"] = {}


class Event(Protocol):
    """A NamedTuple of one of the families."""

    def _asdict(self) -> dict[str, Any]: ...


class Said(NamedTuple):
    """`tone`: quiet, move, bad, lock, warn or ok; `mark`: on the scrubber, move, lock, warn, bad or act."""

    tone: str
    word: str
    text: Sentence
    mark: str = ""


def flow(kind: K) -> K:
    """The valve may skip it; every other event is a fact."""
    FLOW.add(kind)
    return kind


def said(tone: str, word: str, text: Sentence, mark: str = "", *, when: str = "") -> Callable[[K], K]:
    """Its sentence in the journal; `when="rate=0"`: only where that field has that value."""

    def keep(kind: K) -> K:
        SAID[f"{kind.__name__}:{when}" if when else kind.__name__] = Said(tone, word, text, mark)
        return kind

    return keep
