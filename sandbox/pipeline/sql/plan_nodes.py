"""Nodes of Spark's query plans in the JVM: their kinds, their children, the queries inside them."""

from collections.abc import Iterator
from typing import Any

CATALYST = "org.apache.spark.sql.catalyst"


def kind_of(node: Any) -> str:
    return str(node.getClass().getSimpleName()).rstrip("$")


def is_query(node: Any) -> bool:
    """Return True if an expression holds a plan."""
    from py4j.java_gateway import is_instance_of  # type: ignore[import-untyped]
    from pyspark import SparkContext

    return bool(is_instance_of(SparkContext._gateway, node, f"{CATALYST}.expressions.PlanExpression"))


def each(sequence: Any) -> Iterator[Any]:
    """Yield the elements of a Scala collection."""
    iterator = sequence.iterator()
    while iterator.hasNext():
        yield iterator.next()
