"""Cells for the table of any pipeline job.  The name of a column selects the format of its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from queueviz.templatetags.formats import duration, moment, number

MOMENT_FROM_MS = 10**11  # milliseconds since 1970 are more than that from 1973 on; no latency is


class Cell(NamedTuple):
    """A cell of a table.  `seq`: the journal event that the cell links to, or empty."""

    text: str
    is_number: bool = False
    seq: str = ""


def shown(columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> list[list[Cell]]:
    """Return the rows as cells, without the first column, which has the sandbox's name in every row."""
    return [[cell(name, row.get(name)) for name in columns[1:]] for row in rows]


def cell(name: str, value: object) -> Cell:
    if value is None:
        return Cell("–")
    if isinstance(value, bool):
        return Cell("✓" if value else "✕")
    if name.endswith("_ms") and isinstance(value, int | float):
        return Cell(moment(int(value)) if value > MOMENT_FROM_MS else duration(value), is_number=True)
    if name.endswith("share") and isinstance(value, float):
        return Cell(f"{100 * value:.1f} %", is_number=True)
    if isinstance(value, float):
        return Cell(f"{value:.2f}", is_number=True)
    if isinstance(value, int):
        return Cell(number(value), is_number=True, seq=str(value) if name.endswith("seq") else "")
    if isinstance(value, list | tuple):
        return Cell(", ".join(map(str, value)))
    return Cell(str(value))
