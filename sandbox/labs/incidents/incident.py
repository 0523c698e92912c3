"""An incident as a value: what was seen, why, and how it is mended; what is done when; and the moments worth a look.

Played in virtual time from its seed it is one run, the same each time.  Its markers are found in the journal of that
run, or of any branch of it, by functions of the evidence: no number of an event is written down here.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from sandbox.control.actions import Action
from sandbox.control.branch_orders import Done
from sandbox.journal.events import Entry
from sandbox.labs.evidence import Evidence

BEGIN_MS = 1_795_000_000_000  # of the clock of every incident
SEED = "incident "  # so begins the seed of each


class Moment(NamedTuple):
    """An event, and values for the text that is said of it."""

    seq: int
    values: dict[str, object]


Find = Callable[[Evidence], Moment | None]


@dataclass(frozen=True, kw_only=True)
class Marker:
    """A named moment.  `find`: None where it has not come.  `question`: to be asked before one goes on."""

    title: str
    text: str
    find: Find
    question: str = ""


class Note(NamedTuple):
    """A marker's text about one run; `text` names `values`."""

    title: str
    seq: int
    text: str
    values: dict[str, object]
    question: str


@dataclass(frozen=True, kw_only=True)
class Incident:
    """`lab`: slug of the one that explains it.  `group`, `topic`: which board shows it.  `done`: see `timed`."""

    slug: str
    title: str
    symptom: str
    cause: str
    mend: str
    lab: str
    group: str
    topic: str
    done: tuple[Done, ...]
    until_ms: int
    markers: tuple[Marker, ...]
    template: str = "empty"
    preset: str = "sandbox"

    @property
    def seed(self) -> str:
        return SEED + self.slug

    def is_after(self, entry: Entry) -> bool:
        """Return whether it was written after the incident's end: later events are the reader's own."""
        return entry.at_ms > BEGIN_MS + self.until_ms

    def notes(self, evidence: Evidence) -> tuple[Note, ...]:
        """Return the notes of the markers whose moments have come, in the order of their events."""
        moments = ((marker, marker.find(evidence)) for marker in self.markers)
        notes = [
            Note(marker.title, moment.seq, marker.text, moment.values, marker.question)
            for marker, moment in moments
            if moment is not None
        ]
        return tuple(sorted(notes, key=lambda note: note.seq))


def timed(*steps: tuple[float, tuple[Action, ...]]) -> tuple[Done, ...]:
    """Return timed actions, in order; each step is the seconds since the beginning and the actions then."""
    return tuple(_done(steps))


def _done(steps: Iterable[tuple[float, tuple[Action, ...]]]) -> Iterator[Done]:
    for at_s, actions in steps:
        for action in actions:
            yield Done(round(at_s * 1000), action)
