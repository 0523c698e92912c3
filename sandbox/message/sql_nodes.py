"""Nodes of a compiled SQL92 filter; each is evaluated on one message's properties.

Truth has three values: True, False and None, which is "unknown".  Where Java throws, `evaluate` raises Incomparable;
operands after a decided AND or OR are not evaluated, so that they cannot throw.  RocketMQ: the classes of
`filter.expression` (spec broker-behaviour 14).
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sandbox.message.sql_values import Incomparable, Value, order, order_of_doubles, to_double

Properties = Mapping[str, str]


class Constant(NamedTuple):
    value: Value

    def evaluate(self, properties: Properties) -> Value:
        return self.value


class Property(NamedTuple):
    """A property of the message: its text, or None if the message does not have it.

    By itself it is never a number and never a truth value.
    """

    name: str

    def evaluate(self, properties: Properties) -> Value:
        return properties.get(self.name)


class Negated(NamedTuple):
    """A minus sign: unknown for everything but numbers, so for every property."""

    inner: "Node"

    def evaluate(self, properties: Properties) -> Value:
        value = self.inner.evaluate(properties)
        return -value if isinstance(value, int | float) and not isinstance(value, bool) else None


class AsTruth(NamedTuple):
    """A property used as a truth value: never true, as its value is text."""

    inner: Property

    def evaluate(self, properties: Properties) -> Value:
        return None if self.inner.evaluate(properties) is None else False


class Not(NamedTuple):
    inner: "Node"

    def evaluate(self, properties: Properties) -> Value:
        value = self.inner.evaluate(properties)
        return None if value is None else not value


class And(NamedTuple):
    parts: "tuple[Node, ...]"

    def evaluate(self, properties: Properties) -> Value:
        unknown = False
        for part in self.parts:
            value = part.evaluate(properties)
            if value is False:
                return False
            unknown = unknown or value is None
        return None if unknown else True


class Or(NamedTuple):
    parts: "tuple[Node, ...]"

    def evaluate(self, properties: Properties) -> Value:
        unknown = False
        for part in self.parts:
            value = part.evaluate(properties)
            if value is True:
                return True
            unknown = unknown or value is None
        return None if unknown else False


class Equal(NamedTuple):
    """A test for equality: unknown if only the left side is, False if only the right side is, True if both are."""

    left: "Node"
    right: "Node"

    def evaluate(self, properties: Properties) -> Value:
        left, right = self.left.evaluate(properties), self.right.evaluate(properties)
        if left is None:
            return True if right is None else None
        return right is not None and order(left, right) == 0


class IsNull(NamedTuple):
    inner: "Node"

    def evaluate(self, properties: Properties) -> Value:
        return self.inner.evaluate(properties) is None


class Ordered(NamedTuple):
    """A comparison such as `<`: unknown if a side is; two texts are compared as doubles."""

    left: "Node"
    right: "Node"
    holds: Callable[[int], bool]

    def evaluate(self, properties: Properties) -> Value:
        left = self.left.evaluate(properties)
        if left is None:
            return None
        right = self.right.evaluate(properties)
        if right is None:
            return None
        if isinstance(left, str) and isinstance(right, str):
            return self.holds(order_of_doubles(to_double(left), to_double(right)))
        return self.holds(order(left, right))


class In(NamedTuple):
    """The test if a property's text is one of these; unknown without the property.

    `wanted` is False for NOT IN.
    """

    name: Property
    texts: frozenset[str]
    wanted: bool

    def evaluate(self, properties: Properties) -> Value:
        value = self.name.evaluate(properties)
        return None if value is None else (value in self.texts) is self.wanted


Node = Constant | Property | Negated | AsTruth | Not | And | Or | Equal | IsNull | Ordered | In

_TRUTHS = (AsTruth, Not, And, Or, Equal, IsNull, Ordered, In)


def is_truth(node: Node) -> bool:
    """Return True if the node evaluates to a truth value or unknown, as TRUE, FALSE and NULL do too."""
    if isinstance(node, Constant):
        return node.value is None or isinstance(node.value, bool)
    return isinstance(node, _TRUTHS)


def is_true(node: Node, properties: Properties) -> bool:
    """Return True if the node is true; false, unknown and Java's exceptions count as False."""
    try:
        return node.evaluate(properties) is True
    except Incomparable:
        return False
