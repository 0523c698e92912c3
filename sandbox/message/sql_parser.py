"""Parser of a SQL92 filter text into nodes.

Operators, weakest first: OR, AND, `=` `<>` IS [NOT] NULL, `<` `<=` `>` `>=` [NOT] BETWEEN [NOT] IN, signs and NOT,
literals, names and brackets.  So `NOT a = 1` is `(NOT a) = 1`.  Text after a complete expression is not read, as
RocketMQ's parser does not check for the end; only the next word must be a valid word.  RocketMQ: `SelectorParser.jj`
and the checks in `ComparisonExpression` (spec broker-behaviour 14).
"""

import math
from collections.abc import Callable

from sandbox.kernel.errors import BadExpression
from sandbox.message.sql_nodes import (
    And,
    AsTruth,
    Constant,
    Equal,
    In,
    IsNull,
    Negated,
    Node,
    Not,
    Or,
    Ordered,
    Property,
    is_truth,
)
from sandbox.message.sql_values import LONG_MAX, order
from sandbox.message.sql_words import FLOAT, NAME, TEXT, WHOLE, Word, Words

MAX_DEPTH = 64
"""Of brackets, signs and NOTs inside one another."""
MAX_TERMS = 200
"""Names and literals of one expression: each is evaluated for each message."""
MAX_LISTED = 500
"""Texts of one IN."""

_HOLDS: dict[str, Callable[[int], bool]] = {
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
}


def parse(text: str) -> Node:
    """Return the expression at the start of `text`.  Raises BadExpression without one that has a truth value."""
    return _Parser(Words(text)).expression()


class _Parser:
    def __init__(self, words: Words) -> None:
        self._words = words
        self._depth = 0
        self._terms = 0

    def expression(self) -> Node:
        at = self._words.peek().at
        return _as_truth(self._or(), at)

    def _or(self) -> Node:
        return self._joined("OR", self._and, Or)

    def _and(self) -> Node:
        return self._joined("AND", self._equality, And)

    def _joined(self, keyword: str, operand: Callable[[], Node], join: Callable[[tuple[Node, ...]], Node]) -> Node:
        """Parse operands joined by a keyword; return several as one node, so that a long chain is no deep tree."""
        at = self._words.peek().at
        parts = [operand()]
        while self._words.takes(keyword):
            parts[-1] = _as_truth(parts[-1], at)
            at = self._words.peek().at
            parts.append(operand())
        if len(parts) == 1:
            return parts[0]
        parts[-1] = _as_truth(parts[-1], at)
        return join(tuple(parts))

    def _equality(self) -> Node:
        left = self._comparison()
        while word := self._words.takes("=", "<>", "IS"):
            if word.kind == "IS":
                negated = self._words.takes("NOT") is not None
                self._words.take("NULL")
                left = Not(IsNull(left)) if negated else IsNull(left)
                self._count(word)
            else:
                right = self._comparison()
                _check_equal(left, right, word)
                left = Equal(left, right) if word.kind == "=" else Not(Equal(left, right))
        return left

    def _comparison(self) -> Node:
        left = self._unary()
        while word := self._words.takes(*_HOLDS, "BETWEEN", "IN", "NOT"):
            expected = word.kind != "NOT"
            kind = word.kind if expected else self._words.take("BETWEEN", "IN").kind
            if kind == "BETWEEN":
                left = self._between(left, word, expected=expected)
            elif kind == "IN":
                left = self._in(left, word, expected=expected)
            else:
                left = _ordered(left, self._unary(), kind, word)
        return left

    def _between(self, value: Node, word: Word, *, expected: bool) -> Node:
        low = self._unary()
        self._words.take("AND")
        high = self._unary()
        if not expected:
            return Or((_ordered(value, low, "<", word), _ordered(value, high, ">", word)))
        both = And((_ordered(value, low, ">=", word), _ordered(value, high, "<=", word)))
        if isinstance(low, Constant) and isinstance(high, Constant) and order(high.value, low.value) < 0:
            raise BadExpression(f"nothing is between {low.value} and {high.value}", word.at)
        return both

    def _in(self, name: Node, word: Word, *, expected: bool) -> Node:
        self._words.take("(")
        texts = [self._words.take(TEXT).text]
        while self._words.takes(","):
            if len(texts) == MAX_LISTED:
                raise BadExpression(f"IN lists at most {MAX_LISTED} texts", self._words.peek().at)
            texts.append(self._words.take(TEXT).text)
        self._words.take(")")
        if not isinstance(name, Property):
            raise BadExpression("only a property can be IN a list", word.at)
        return In(name, frozenset(texts), expected)

    def _unary(self) -> Node:
        word = self._words.takes("+", "-", "NOT", "(")
        if word is None:
            return self._primary()
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise BadExpression(f"more than {MAX_DEPTH} brackets, signs and NOTs inside one another", word.at)
        if word.kind == "(":
            node = self._or()
            self._words.take(")")
        elif word.kind == "NOT":
            at = self._words.peek().at
            node = Not(_as_truth(self._unary(), at))
        else:
            node = self._unary()
            if word.kind == "-":
                node = Negated(node)
        self._depth -= 1
        return node

    def _primary(self) -> Node:
        word = self._words.take(NAME, WHOLE, FLOAT, TEXT, "TRUE", "FALSE", "NULL")
        self._count(word)
        match word.kind:
            case "name":
                return Property(word.text)
            case "whole number":
                return Constant(_whole(word))
            case "number":
                return Constant(_double(word))
            case "text":
                return Constant(word.text)
            case _:
                return Constant({"TRUE": True, "FALSE": False, "NULL": None}[word.kind])

    def _count(self, word: Word) -> None:
        self._terms += 1
        if self._terms > MAX_TERMS:
            raise BadExpression(f"an expression has at most {MAX_TERMS} names and literals", word.at)


def _as_truth(node: Node, at: int) -> Node:
    if is_truth(node):
        return node
    if isinstance(node, Property):
        return AsTruth(node)
    raise BadExpression("this gives no truth value", at)


def _ordered(left: Node, right: Node, kind: str, word: Word) -> Node:
    """Return a comparison by order.  Raises BadExpression unless both sides are names, numbers or negated values."""
    for side in (left, right):
        if is_truth(side) or (isinstance(side, Constant) and not isinstance(side.value, int | float)):
            raise BadExpression(f"{word.text} compares numbers", word.at)
    return Ordered(left, right, _HOLDS[kind])


def _check_equal(left: Node, right: Node, word: Word) -> None:
    constants = [side for side in (left, right) if isinstance(side, Constant)]
    if any(side.value is None for side in constants):
        raise BadExpression("nothing equals NULL; write IS NULL", word.at)
    if len(constants) == 2 and is_truth(left) and not is_truth(right):
        raise BadExpression("a truth value equals no text and no number", word.at)


def _whole(word: Word) -> int:
    if len(word.text) > len(str(LONG_MAX)) or int(word.text) > LONG_MAX:
        raise BadExpression(f"{word.text[:40]} does not fit 64 bits", word.at)
    return int(word.text)


def _double(word: Word) -> float:
    """Return the number of a word with a point.

    Raises BadExpression for numbers below the smallest double, so 0.0 too, as RocketMQ does.
    """
    value = float(word.text)
    if not 0.0 < value < math.inf:
        raise BadExpression(f"{word.text[:40]} is outside what a number with a point can be", word.at)
    return value
