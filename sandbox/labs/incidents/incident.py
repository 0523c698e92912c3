"""Incidents as values: symptom, cause and repair, the actions with their times, and the markers of its events.

Played in virtual time from its seed, an incident is always the same run.  Functions of the evidence find its markers
in the journal of that run, or of any branch of it.  So no event number is stored here.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sandbox.control.actions import Action
from sandbox.control.branch_orders import Done
from sandbox.journal.events import Entry
from sandbox.labs.evidence import Evidence

BEGIN_MS = 1_795_000_000_000  # of the clock of every incident
SEED = "incident "  # prefix of each incident's seed


class Moment(NamedTuple):
    """Event that a marker found, and the values for the marker's text."""

    seq: int
    values: dict[str, object]


Find = Callable[[Evidence], Moment | None]


@dataclass(frozen=True, kw_only=True)
class Marker:
    """Named event of an incident.

    `find` returns None before it occurs.  `question`: shown before the reader continues.  `reveals`: the text names the
    incident's cause; that of no earlier marker does.
    """

    title: str
    text: str
    find: Find
    question: str = ""
    reveals: bool = False


class Note(NamedTuple):
    """Marker's text for one run; `text` has placeholders for `values`."""

    title: str
    seq: int
    text: str
    values: dict[str, object]
    question: str


@dataclass(frozen=True, kw_only=True)
class Incident:
    """Incident of the gallery.

    `complaint` is what people notice, in their words, and `circumstance` when: neither gives the cause away, as the
    title does.  `lab`: slug of the lab that explains it.  `group`, `topic`: the Board that shows it.  `done`: see
    `timed`.  `finding`: code of the finding that names its cause; it opens before the marker that reveals it.
    """

    slug: str
    title: str
    complaint: str
    circumstance: str
    symptom: str
    cause: str
    mend: str
    finding: str
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
        """Return True if the entry was written after the incident's end: later events are the reader's own."""
        return entry.at_ms > BEGIN_MS + self.until_ms

    def notes(self, evidence: Evidence) -> tuple[Note, ...]:
        """Return the notes of the markers whose events have occurred, in the order of these events."""
        moments = ((marker, marker.find(evidence)) for marker in self.markers)
        notes = [
            Note(marker.title, moment.seq, marker.text, moment.values, marker.question)
            for marker, moment in moments
            if moment is not None
        ]
        return tuple(sorted(notes, key=lambda note: note.seq))


def timed(*steps: tuple[float, tuple[Action, ...]]) -> tuple[Done, ...]:
    """Return timed actions in order; each step has the seconds since the beginning and the actions at that time."""
    return tuple(_done(steps))


def _done(steps: Iterable[tuple[float, tuple[Action, ...]]]) -> Iterator[Done]:
    for at_s, actions in steps:
        for action in actions:
            yield Done(round(at_s * 1000), action)
