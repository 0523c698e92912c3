"""SQL92 filters of messages by their properties.

RocketMQ: `SqlFilter`, `ExpressionMessageFilter` (spec broker-behaviour 14).
"""

from collections.abc import Mapping

from sandbox.message.sql_nodes import Node, is_true
from sandbox.message.sql_parser import parse


class SqlFilter:
    """A compiled expression; a `MessageFilter` that reads each record, as a queue entry has no properties.

    >>> compile_sql("amount > 100 AND TAGS = 'paid'").matches({"amount": "250", "TAGS": "paid"})
    True
    """

    __slots__ = ("_root", "expression")

    codes: frozenset[int] | None = None
    by_properties = True

    def __init__(self, expression: str, root: Node) -> None:
        self.expression = expression
        self._root = root

    def matches(self, properties: Mapping[str, str]) -> bool:
        """Return True if the expression is true; unknown and incomparable values do not match."""
        return is_true(self._root, properties)

    def wants(self, properties: dict[str, str]) -> bool:
        return self.matches(properties)


def compile_sql(text: str) -> SqlFilter:
    """Return the filter of an expression.  Raises BadExpression, and no other exception for any text."""
    return SqlFilter(text, parse(text))
