"""Violations: broken guarantees detected in a run."""

from typing import NamedTuple


class Violation(NamedTuple):
    """A broken guarantee.  `promise`: the checker's name; `sentence` names messages, queues and members."""

    promise: str
    sentence: str


MOST_SENTENCES = 5  # of one checker in one run: a broken guarantee is often broken everywhere


def first_of(violations: list[Violation]) -> list[Violation]:
    """Return at most `MOST_SENTENCES` violations of each checker, and one with the number of the others."""
    kept: list[Violation] = []
    for promise in dict.fromkeys(violation.promise for violation in violations):
        mine = [violation for violation in violations if violation.promise == promise]
        kept += mine[:MOST_SENTENCES]
        if len(mine) > MOST_SENTENCES:
            kept.append(Violation(promise, f"and {len(mine) - MOST_SENTENCES} more of this kind"))
    return kept
