"""A broken guarantee found in a run."""

from typing import NamedTuple


class Violation(NamedTuple):
    """`promise` is the checker's name, `sentence` names messages, queues and members."""

    promise: str
    sentence: str


MOST_SENTENCES = 5  # of one checker in one run: a broken guarantee is often broken everywhere


def first_of(violations: list[Violation]) -> list[Violation]:
    """At most `MOST_SENTENCES` of each checker, and the number of the rest."""
    kept: list[Violation] = []
    for promise in dict.fromkeys(violation.promise for violation in violations):
        mine = [violation for violation in violations if violation.promise == promise]
        kept += mine[:MOST_SENTENCES]
        if len(mine) > MOST_SENTENCES:
            kept.append(Violation(promise, f"and {len(mine) - MOST_SENTENCES} more of this kind"))
    return kept
