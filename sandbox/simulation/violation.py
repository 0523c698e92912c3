"""What a run found to be otherwise than promised."""

from typing import NamedTuple


class Violation(NamedTuple):
    """`promise` is the checker's name, `sentence` names messages, queues and members."""

    promise: str
    sentence: str


MOST_SENTENCES = 5  # of one promise in one run: a broken promise is broken everywhere


def first_of(violations: list[Violation]) -> list[Violation]:
    """At most so many of each promise, and how many more there were."""
    kept: list[Violation] = []
    for promise in dict.fromkeys(violation.promise for violation in violations):
        mine = [violation for violation in violations if violation.promise == promise]
        kept += mine[:MOST_SENTENCES]
        if len(mine) > MOST_SENTENCES:
            kept.append(Violation(promise, f"and {len(mine) - MOST_SENTENCES} more of this kind"))
    return kept
