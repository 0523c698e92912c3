"""The figures of a finding as a table of text: the answer to *Why* (`sandbox/findings/figures.py`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from queueviz.boards.finding_texts import moving_duration
from queueviz.templatetags.formats import UNKNOWN, byte_count, number, rate
from queueviz.texts import Text
from sandbox.findings.figures import BESIDE, COLUMNS
from sandbox.queries.rows.findings import FigureLine, FigureTable

TITLES: dict[str, Text] = {name: gettext_lazy(title) for name, title in COLUMNS.items()}
BESIDE_TITLES: dict[str, Text] = {name: gettext_lazy(title) for name, title in BESIDE.items()}
TEXTS = frozenset({"topic", "group", "queue", "who", "setting", "request", "key", "names", "reads", "holder", "waits"})
WORDS: dict[str, Text] = {
    "topics": gettext_lazy("subscribed topics"),
    "model": gettext_lazy("model"),
    "listener": gettext_lazy("listener"),
    "strategy": gettext_lazy("strategy"),
    "slave": gettext_lazy("slave"),
    "slave_idle": gettext_lazy("slave"),
    "no_lock": gettext_lazy("no member, without a lock"),
    "nobody": gettext_lazy("no member"),
}
WORDED = frozenset({"setting", "reads"})  # columns whose values are words


class Cell(NamedTuple):
    """`is_text`: False for a number, which stands at the end of its column."""

    text: str
    is_text: bool


class Line(NamedTuple):
    cells: tuple[Cell, ...]
    marks: str  # JSON
    about: bool


class Table(NamedTuple):
    """`beside`: titles and values of no row.  `left_out`: rows that are not listed."""

    columns: tuple[Cell, ...]
    lines: tuple[Line, ...]
    total: tuple[Cell, ...]
    beside: tuple[tuple[str, str], ...]
    left_out: int
    window_ms: int | None


def table_text(table: FigureTable | None, queue_names: Mapping[str, str], at_ms: int | None = None) -> Table | None:
    """Return the table with its values as a reader sees them.

    `queue_names`: short names by row.  `at_ms`: time of the values; None: durations are plain text.
    """
    return None if table is None else _Writer(table, queue_names, at_ms).table()


class _Writer:
    def __init__(self, table: FigureTable, queue_names: Mapping[str, str], at_ms: int | None) -> None:
        self._table, self._queue_names, self._at_ms = table, queue_names, at_ms
        self._columns = list(table["rows"][0]["values"])

    def table(self) -> Table:
        beside = {name: self._value(name, value) for name, value in self._table["beside"].items()}
        needed = {"needed": beside.get("needed", UNKNOWN)}
        return Table(
            tuple(Cell(str(TITLES[name]).format(**needed), name in TEXTS) for name in self._columns),
            tuple(map(self._line, self._table["rows"])),
            self._total(),
            tuple((str(BESIDE_TITLES[name]), value) for name, value in beside.items()),
            self._table["left_out"],
            self._table["window_ms"],
        )

    def _line(self, row: FigureLine) -> Line:
        cells = tuple(Cell(self._value(name, row["values"][name]), name in TEXTS) for name in self._columns)
        return Line(cells, json.dumps([row["mark"]] if row["mark"] else []), row["about"])

    def _total(self) -> tuple[Cell, ...]:
        """Return the cells below the rows; none if one row is all."""
        total = self._table["total"]
        if not total or len(self._table["rows"]) + self._table["left_out"] < 2:
            return ()
        cells = (Cell(self._value(name, total[name]) if name in total else "", name in TEXTS) for name in self._columns)
        return (Cell(_("Sum"), is_text=True), *tuple(cells)[1:])

    def _value(self, name: str, value: object) -> str:
        if isinstance(value, list | tuple):
            return " / ".join(self._value(name, each) for each in value[: 1 if value[1] is None else 2])
        if value is None:
            return UNKNOWN
        if value == "":
            return _("none")
        if name in WORDED:
            return str(WORDS.get(str(value), value))
        return self._measure(name, value)

    def _measure(self, name: str, value: object) -> str:
        """Return a number with the unit of its name, or a text."""
        if name.endswith("_ms"):
            return moving_duration(name, value, self._at_ms)
        if name.endswith("per_s"):
            return rate(str(value))
        if name.endswith("_percent"):
            return f"{number(value)} %"
        if name.endswith("_bytes"):
            return byte_count(str(value))
        if name in ("queue", "names"):
            return ", ".join(self._queue_names.get(each, each) for each in str(value).split(", "))
        return str(value) if name in TEXTS else number(value)
