"""Comparison of two values of different kinds in RocketMQ's SQL92 filter.

All property values are texts; literals are whole numbers (of 32 or 64 bits), doubles and truth values.  RocketMQ:
`ComparisonExpression.compare`, and Java's number parsing (spec broker-behaviour 14).
"""

import math
import re
from typing import NoReturn, TypeVar

Value = str | int | float | bool | None
_Sortable = TypeVar("_Sortable", int, str, tuple[bool, float, float])

MAX_NUMBER_CHARS = 400
"""Of a property read as a number; a longer text counts as no number here."""

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1

_WHOLE = re.compile(r"[+-]?\d+")
_DOUBLE = re.compile(r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)")
_HEX_DOUBLE = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?")
_BLANK = "".join(map(chr, range(33)))  # characters removed by Java's `trim`


class Incomparable(Exception):  # an outcome inside one evaluation; it never leaves the filter
    """Raised where Java throws in a comparison; the message does not match."""


def order(left: Value, right: Value) -> int:
    """Return the order of two values as -1, 0, 1; unrelated kinds give -1.  Raises Incomparable where Java throws."""
    if isinstance(left, bool):
        if isinstance(right, bool):
            return _sign(left, right)
        if isinstance(right, str):
            raise Incomparable("a truth value on the left is never read as text")
        return -1
    if isinstance(right, bool):
        return _sign(left.lower() == "true", right) if isinstance(left, str) else -1
    if isinstance(left, str) and isinstance(right, str):
        return _sign(left, right)
    if isinstance(left, str):
        left = number_like(right, left)
    elif isinstance(right, str):
        right = number_like(left, right)
    if isinstance(left, float) or isinstance(right, float):
        return order_of_doubles(_double(left), _double(right))
    assert isinstance(left, int)
    assert isinstance(right, int)
    return _sign(left, right)


def number_like(model: Value, text: str) -> int | float:
    """Return the text read as a number of the model's kind: 32 bits stay 32 bits.  Raises Incomparable."""
    return to_double(text) if isinstance(model, float) else to_whole(text, wide=is_wide(model))


def is_wide(value: Value) -> bool:
    """Return True if Java stores this literal in 64 bits.  A minus sign in front does not change the size."""
    return isinstance(value, int) and abs(value) > INT_MAX


def to_whole(text: str, *, wide: bool) -> int:
    """Return the number of a text, as Java's `Integer.valueOf` or `Long.valueOf`.  Raises Incomparable.

    Valid are a sign and digits of any script, no blanks.
    """
    if len(text) > MAX_NUMBER_CHARS or not _WHOLE.fullmatch(text) or max(text) > "\uffff":
        _no_number(text)  # Java reads the halves of the characters beyond, which are no digits
    number = int(text)
    most = LONG_MAX if wide else INT_MAX
    if not -most - 1 <= number <= most:
        _no_number(text)
    return number


def to_double(text: str) -> float:
    """Return the number of a text, as Java's `Double.valueOf`.  Raises Incomparable.

    Java allows blanks, NaN, Infinity, a trailing f or d and hexadecimal digits.
    """
    if len(text) > MAX_NUMBER_CHARS:
        _no_number(text)
    text = text.strip(_BLANK)
    if _DOUBLE.fullmatch(text):
        return float(text.rstrip("fFdD"))
    match = _HEX_DOUBLE.fullmatch(text)
    if match is None:
        _no_number(text)
    try:
        return float.fromhex(match[1])
    except OverflowError:
        return -math.inf if text.startswith("-") else math.inf


def order_of_doubles(left: float, right: float) -> int:
    """Return the order of Java's `Double.compareTo`: NaN is above everything and equal to itself, -0.0 is below 0.0."""
    return _sign(_rank(left), _rank(right))


def _rank(value: float) -> tuple[bool, float, float]:
    return (True, 0.0, 0.0) if math.isnan(value) else (False, value, math.copysign(1.0, value))


def _double(value: Value) -> float:
    assert isinstance(value, int | float)
    return float(value)


def _sign(left: _Sortable, right: _Sortable) -> int:
    return (left > right) - (left < right)


def _no_number(text: str) -> NoReturn:
    raise Incomparable(f"{text[:40]!r} is no number of that kind")
