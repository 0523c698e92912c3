"""Declarations of an event in addition to its fields: its kind and its sentences."""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from sandbox.kernel.sentences import Sentence

K = TypeVar("K", bound=type)

FLOW: set[type["Event"]] = set()
SAID: dict[str, "Said"] = {}


class Event(Protocol):
    """Event of the journal: a NamedTuple of one of the families."""

    def _asdict(self) -> dict[str, object]: ...


class Said(NamedTuple):
    """Presentation of an event: sentence, `word`, `tone` (quiet, move, bad, lock, warn or ok).

    `mark`: its mark on the scrubber, one of move, lock, warn, bad or act; empty for none.
    """

    tone: str
    word: str
    text: Sentence
    mark: str = ""


def flow(kind: K) -> K:
    """Declare an event as a flow event, which the valve may skip; every other event is a fact."""
    FLOW.add(kind)
    return kind


def said(tone: str, word: str, text: Sentence, mark: str = "", *, when: str = "") -> Callable[[K], K]:
    """Declare an event's sentence in the journal; `when="rate=0"` restricts it to that value of the field."""

    def keep(kind: K) -> K:
        SAID[f"{kind.__name__}:{when}" if when else kind.__name__] = Said(tone, word, text, mark)
        return kind

    return keep
