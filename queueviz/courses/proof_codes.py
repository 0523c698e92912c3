"""Codes of the differences between a browser's run and its execution, and the rows that name them."""

from collections.abc import Mapping
from typing import Literal, TypedDict

Code = Literal[
    "chain",
    "chain_end",
    "engine",
    "teacher",
    "late",
    "odd",
    "clock",
    "clock_at",
    "clock_end",
    "position",
    "refused",
    "digest",
    "row",
    "row_step",
    "row_form",
    "events",
    "seconds",
    "disk",
    "stuck",
    "refused_run",
    "interrupted",
    "gone",
]
FAILURES: frozenset[Code] = frozenset({"events", "seconds", "disk", "stuck", "refused_run", "interrupted", "gone"})
"""Codes of a run that could not be executed, or not to its end."""

UNTRUSTED: frozenset[Code] = frozenset({"chain", "chain_end", "disk"})
"""Codes after which the grade stays: the list is not the one that was received, or the server is to blame."""


class Difference(TypedDict):
    """A row of `LiteRun.differences`.  `n`: number of the entry, answer or step; `values`: for the sentence."""

    code: Code
    n: int | None
    values: dict[str, object]


def difference(code: Code, n: int | None = None, **values: object) -> Difference:
    return {"code": code, "n": n, "values": values}


def refusal(code: Code, n: int | None, message: str, values: Mapping[str, object]) -> Difference:
    """Return the difference of a refused action or run; `message` and `values` as of ActionRefused."""
    plain = {name: value if isinstance(value, str | int | float) else str(value) for name, value in values.items()}
    return difference(code, n, message=message, values=plain)
