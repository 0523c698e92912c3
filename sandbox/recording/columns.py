"""Columns of a recording: the values of one field, one after the other, as JSON that compresses well.

`["d", …]` are integers and `["t", …]` decimal texts (offsets), each less the one before, the first less 0; null
 stays null and does not count as the one before.  `["v", …]` are values as they are.
"""

import re
from collections.abc import Sequence
from typing import Any

from sandbox.kernel.errors import BadRecording

Column = list[Any]  # [kind, values]

LARGEST = 10**15  # a browser's numbers are exact up to 2^53

_DECIMAL = re.compile(r"0|-?[1-9][0-9]{0,14}")


def pack(values: Sequence[Any]) -> Column:
    known = [value for value in values if value is not None]
    if known and all(type(value) is int and abs(value) < LARGEST for value in known):
        return ["d", _differences(values)]
    if known and all(type(value) is str and _DECIMAL.fullmatch(value) for value in known):
        return ["t", _differences([None if value is None else int(value) for value in values])]
    return ["v", list(values)]


def unpack(column: Any, count: int) -> list[Any]:
    """Return the `count` values of a column.  Raises BadRecording if it has another form."""
    if not isinstance(column, list) or len(column) != 2 or not isinstance(column[1], list):
        raise BadRecording("A column is not a kind and a list of values. Export it again.")
    kind, values = column
    if len(values) != count:
        raise BadRecording(f"A column has {len(values)} values instead of {count}. Export it again.")
    if kind == "v":
        return list(values)
    if kind not in ("d", "t"):
        raise BadRecording(f"There is no column kind {kind!r:.20}. Export it again.")
    sums = _sums(values)
    return sums if kind == "d" else [None if value is None else str(value) for value in sums]


def increasing(values: Any, most: int) -> list[int]:
    """Return the numbers of a plain list of differences, none below 0.  Raises BadRecording if it has another form."""
    if not isinstance(values, list) or len(values) > most:
        raise BadRecording(f"A list of numbers is missing, or longer than {most}. Export it again.")
    sums = _sums(values)
    if None in sums or any(value < 0 for value in values):
        raise BadRecording("A list of numbers does not rise. Export it again.")
    return sums


def differences(values: Sequence[int]) -> list[int]:
    return [value - before for before, value in zip([0, *values], values, strict=False)]


def _differences(values: Sequence[int | None]) -> list[int | None]:
    differences: list[int | None] = []
    before = 0
    for value in values:
        differences.append(None if value is None else value - before)
        before = before if value is None else value
    return differences


def _sums(values: list[Any]) -> list[Any]:
    sums: list[int | None] = []
    before = 0
    for value in values:
        if value is None:
            sums.append(None)
            continue
        if type(value) is not int or abs(before + value) >= LARGEST:
            raise BadRecording("A column of numbers has another type or a too large number. Export it again.")
        before += value
        sums.append(before)
    return sums
