"""Filters that Spark pushes down, stored by a reader as sets of values and as bounds."""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from pyspark.sql.datasource import EqualTo, Filter, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual

W = TypeVar("W", bound=NamedTuple)


class Columns(NamedTuple):
    """The field with the filter of a column: a frozenset of its values, or its bounds, the upper one exclusive.

    A field that is None filters nothing.
    """

    sets: Mapping[str, str]
    bounds: Mapping[str, tuple[str, str]]


def narrow(wanted: W, asked: Filter, columns: Columns) -> W | None:
    """With this filter added; None: not supported."""
    column = ".".join(getattr(asked, "attribute", ()))
    value: Any = getattr(asked, "value", None)
    kept: dict[str, Any] = {}
    if column in columns.sets and isinstance(asked, EqualTo | In):
        field = columns.sets[column]
        values, known = frozenset([value] if isinstance(asked, EqualTo) else value), getattr(wanted, field)
        kept[field] = values if known is None else known & values
    elif column in columns.bounds and isinstance(value, int):
        low, high = columns.bounds[column]
        if isinstance(asked, EqualTo | GreaterThan | GreaterThanOrEqual):
            least, known = value + isinstance(asked, GreaterThan), getattr(wanted, low)
            kept[low] = least if known is None else max(known, least)
        if isinstance(asked, EqualTo | LessThan | LessThanOrEqual):
            beyond, known = value + (not isinstance(asked, LessThan)), getattr(wanted, high)
            kept[high] = beyond if known is None else min(known, beyond)
    return wanted._replace(**kept) if kept else None
