"""Attempts graded from a journal: the same fold as live, and what the journal says was graded then."""

from collections.abc import Iterable
from typing import NamedTuple

from sandbox.journal.events import Entry, LabFinished, LabStarted, StepMet
from sandbox.labs.attempt import Attempt
from sandbox.labs.catalogue import LABS


class Graded(NamedTuple):
    """`found`: derived again; `live`: what the journal has of it."""

    attempt: Attempt
    found: tuple[StepMet | LabFinished, ...]
    live: tuple[StepMet | LabFinished, ...]


def grade(entries: Iterable[Entry]) -> list[Graded]:
    """Every attempt of a journal, the oldest first; labs that this release does not know are left out."""
    graded: list[Graded] = []
    attempt: Attempt | None = None
    found: list[StepMet | LabFinished] = []
    live: list[StepMet | LabFinished] = []

    def close() -> None:
        if attempt is not None:
            graded.append(Graded(attempt, tuple(found), tuple(live)))

    for entry in entries:
        event = entry.event
        if isinstance(event, LabStarted):
            close()
            known = LABS.get(event.lab)
            attempt = None if known is None else Attempt(
                known, event.seed, event.attempt, entry.seq, exam=event.exam)
            found, live = [], []
        elif attempt is not None:
            attempt.see(entry)
            found += [outcome for outcome in attempt.take() if isinstance(outcome, StepMet | LabFinished)]
            if isinstance(event, StepMet | LabFinished):
                live.append(event)
    close()
    return graded


def best(graded: Iterable[Graded], lab: str) -> Graded | None:
    """The attempt that counts."""
    return max((one for one in graded if one.attempt.lab.slug == lab), key=lambda one: one.attempt.score, default=None)
