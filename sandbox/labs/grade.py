"""Grading of attempts from a journal: computed again as live, and compared with the results in the journal."""

from collections.abc import Iterable
from typing import NamedTuple

from sandbox.journal.events import Entry, LabFinished, LabStarted, StepMet
from sandbox.labs.attempt import Attempt
from sandbox.labs.catalogue import LABS


class Graded(NamedTuple):
    """Graded attempt.  `replayed`: results computed again; `live`: results in the journal.

    `took_ms`: for each completed step, the time since its opening.
    """

    attempt: Attempt
    replayed: tuple[StepMet | LabFinished, ...]
    live: tuple[StepMet | LabFinished, ...]
    took_ms: tuple[int, ...]


class AwakeTime:
    """Time that the sandbox was awake, in ms, by the clock of its loop.

    The sandbox's own clock stops while a student reads; the loop's clock does not.  Only outside events have the
    loop's time; in a journal without it, the sandbox's clock alone counts.
    """

    def __init__(self) -> None:
        self.now_ms = 0
        self._last_ms: int | None = None
        self._has_loop = False

    def see(self, entry: Entry) -> None:
        if entry.came is not None and not self._has_loop:
            self._has_loop, self._last_ms = True, None
        ms = entry.came.ms if entry.came is not None else None if self._has_loop else entry.at_ms
        if ms is not None:
            if self._last_ms is not None:
                self.now_ms += max(0, ms - self._last_ms)  # less: it slept, and its loop began anew
            self._last_ms = ms


def grade(entries: Iterable[Entry]) -> list[Graded]:
    """Return every attempt of a journal, the oldest first; labs unknown to this release are omitted."""
    graded: list[Graded] = []
    attempt: Attempt | None = None
    outcomes: list[StepMet | LabFinished] = []
    live: list[StepMet | LabFinished] = []
    took_ms: list[int] = []
    awake, opened_ms = AwakeTime(), 0

    def close() -> None:
        if attempt is not None:
            graded.append(Graded(attempt, tuple(outcomes), tuple(live), tuple(took_ms)))

    for entry in entries:
        event = entry.event
        awake.see(entry)
        if isinstance(event, LabStarted):
            close()
            known = LABS.get(event.lab)
            attempt = None if known is None else Attempt(known, event.seed, event.attempt, entry.seq, exam=event.exam)
            outcomes, live, took_ms, opened_ms = [], [], [], awake.now_ms
        elif attempt is not None:
            attempt.see(entry)
            outcomes += [outcome for outcome in attempt.take() if isinstance(outcome, StepMet | LabFinished)]
            if len(attempt.met) > len(took_ms):
                took_ms.append(awake.now_ms - opened_ms)
                opened_ms = awake.now_ms
            if isinstance(event, StepMet | LabFinished):
                live.append(event)
    close()
    return graded


def best(graded: Iterable[Graded], lab: str) -> Graded | None:
    """Return the attempt of a lab with the highest score, or None."""
    return max((run for run in graded if run.attempt.lab.slug == lab), key=lambda run: run.attempt.score, default=None)
