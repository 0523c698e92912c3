"""Lists of names in sentences."""

from collections.abc import Sequence

MOST_NAMES = 4


def listed(names: Sequence[str]) -> str:
    """Return the first names, and a mark if there are more.

    >>> listed(["q0", "q1"]), listed(["q0", "q1", "q2", "q3", "q4"])
    ('q0, q1', 'q0, q1, q2, q3, …')
    """
    return ", ".join([*names[:MOST_NAMES], *(["…"] if len(names) > MOST_NAMES else [])])
