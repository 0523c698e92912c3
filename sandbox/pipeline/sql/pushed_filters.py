"""The topics and queues that a query needs of a store, as options of its source.

Filters stay in Spark (docs/decisions, 25), and a store is long.  So a condition that *every* reference to `messages`
in the query has becomes an option, which holds for all of them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.pipeline.sealed.reading import NARROWED
from sandbox.pipeline.sql.plan_nodes import each, is_query, kind_of

SOURCE = "rocketmq-store"
Values = Mapping[str, frozenset[str]]
"""The values that a filter lets through, by column; a column that is not there is not filtered."""


def options_of(plan: Any) -> dict[str, str]:
    """Return the source options for a query with this optimised plan.

    In such a plan each filter is directly above its table.
    """
    asked = list(_references(plan, {}))
    option_values = {
        name: frozenset[str]().union(*(condition[name] for condition in asked))
        for name in sorted(NARROWED)
        if asked and all(name in condition for condition in asked)
    }
    return {name: ",".join(sorted(values)) for name, values in option_values.items() if all(map(_is_listed, values))}


def _is_listed(value: str) -> bool:
    """Return True if the value can be part of a comma-separated list."""
    return value == value.strip() and "," not in value and bool(value)


def _references(node: Any, above: Values) -> Iterator[Values]:
    """Yield the filter values of each reference to the source, in this plan and in the queries of its expressions."""
    kind = kind_of(node)
    if kind == "DataSourceV2ScanRelation" and str(node.relation().table().name()) == SOURCE:
        yield above
    above = _values_of(node.condition()) if kind == "Filter" else {}
    for child in each(node.children()):
        yield from _references(child, above)
    for expression in each(node.expressions()):
        yield from _of_queries(expression)


def _of_queries(node: Any) -> Iterator[Values]:
    if is_query(node):
        yield from _references(node.plan(), {})
    for child in each(node.children()):
        yield from _of_queries(child)


def _values_of(condition: Any) -> dict[str, frozenset[str]]:
    match kind_of(condition):
        case "And":
            column_values = _values_of(condition.left())
            for name, values in _values_of(condition.right()).items():
                column_values[name] = column_values.get(name, values) & values
            return column_values
        case "EqualTo":
            return _of_literals(condition.left(), [condition.right()])
        case "In":
            return _of_literals(condition.value(), list(each(condition.list())))
        case "InSet":
            return _of_column(condition.child(), list(each(condition.hset())))
    return {}


def _of_literals(column: Any, nodes: list[Any]) -> dict[str, frozenset[str]]:
    if any(kind_of(node) != "Literal" for node in nodes):
        return {}
    return _of_column(column, [node.value() for node in nodes])


def _of_column(column: Any, values: list[Any]) -> dict[str, frozenset[str]]:
    if kind_of(column) != "AttributeReference" or column.name() not in NARROWED:
        return {}
    return {str(column.name()): frozenset(str(value) for value in values if value is not None)}
