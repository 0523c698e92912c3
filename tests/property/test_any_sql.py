"""SQL92 filters against a second, plain reading of the rules, and against any text at all."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.kernel.errors import BadExpression
from sandbox.message.sql_filter import compile_sql

NAMES = ("a", "b", "c")
SIGNS = ("=", "<>", "<", "<=", ">", ">=")
Message = dict[str, str]


class Threw(Exception):
    """Java would."""


class Case(NamedTuple):
    """An expression as text, and what it is for a message: worked out without any parser."""

    text: str
    value: "object"  # a function of the message to True, False or None

    def of(self, message: Message) -> bool | None:
        return self.value(message)  # type: ignore[operator,no-any-return]


def number(text: str) -> int:
    """Parse whole numbers of up to 9 digits; everything else throws."""
    if not text.lstrip("-").isdigit():
        raise Threw
    return int(text)


def compared(sign: str, left: int, right: int) -> bool:
    return {
        "=": left == right,
        "<>": left != right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }[sign]


def comparison(name: str, sign: str, literal: int) -> Case:
    def value(message: Message) -> bool | None:
        return compared(sign, number(message[name]), literal) if name in message else None

    return Case(f"{name} {sign} {literal}", value)


def text_equality(name: str, equal: bool, literal: str) -> Case:
    def value(message: Message) -> bool | None:
        return (message[name] == literal) is equal if name in message else None

    quoted = literal.replace("'", "''")
    return Case(f"{name} {'=' if equal else '<>'} '{quoted}'", value)


def between(name: str, wanted: bool, low: int, high: int) -> Case:
    low, high = sorted((low, high))

    def value(message: Message) -> bool | None:
        return (low <= number(message[name]) <= high) is wanted if name in message else None

    return Case(f"{name} {'' if wanted else 'NOT '}BETWEEN {low} AND {high}", value)


def listed(name: str, wanted: bool, texts: list[str]) -> Case:
    def value(message: Message) -> bool | None:
        return (message[name] in texts) is wanted if name in message else None

    quoted = ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
    return Case(f"{name} {'' if wanted else 'not '}in ({quoted})", value)


def null(name: str, wanted: bool) -> Case:
    return Case(f"{name} IS {'' if wanted else 'NOT '}NULL", lambda message: (name not in message) is wanted)


def negated(inner: Case) -> Case:
    def value(message: Message) -> bool | None:
        found = inner.of(message)
        return None if found is None else not found

    return Case(f"NOT ({inner.text})", value)


def joined(word: str, left: Case, right: Case) -> Case:
    decides = word == "OR"

    def value(message: Message) -> bool | None:
        first = left.of(message)
        if first is decides:
            return decides
        second = right.of(message)
        if second is decides:
            return decides
        return None if first is None or second is None else not decides

    return Case(f"({left.text}) {word} ({right.text})", value)


names = st.sampled_from(NAMES)
numbers = st.integers(0, 999)
texts = st.text("ab1'-/* ", max_size=4)
simple = st.one_of(
    st.builds(comparison, names, st.sampled_from(SIGNS), numbers),
    st.builds(text_equality, names, st.booleans(), texts),
    st.builds(between, names, st.booleans(), numbers, numbers),
    st.builds(listed, names, st.booleans(), st.lists(texts, min_size=1, max_size=6)),
    st.builds(null, names, st.booleans()),
)
cases = st.recursive(
    simple,
    lambda inner: st.one_of(st.builds(negated, inner), st.builds(joined, st.sampled_from(("AND", "OR")), inner, inner)),
    max_leaves=12,
)
messages = st.dictionaries(names, st.one_of(numbers.map(str), st.integers(-9, -1).map(str), texts.filter(bool)))


@given(cases, messages)
def test_an_expression_means_what_its_parts_mean(case: Case, message: Message) -> None:
    try:
        expected = case.of(message) is True
    except Threw:
        expected = False
    assert compile_sql(case.text).matches(message) is expected


WORDS = (
    "a",
    "5",
    "5.5",
    "'x'",
    "TRUE",
    "NULL",
    "(",
    ")",
    ",",
    "=",
    "<>",
    "<",
    ">=",
    "+",
    "-",
    "AND",
    "or",
    "NOT",
    "IN",
    "BETWEEN",
    "IS",
    "--",
    "/*",
    "*/",
    "\n",
    "'",
    "#",
    "é",
)


@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join)), messages)
def test_any_text_is_a_filter_or_a_bad_expression(text: str, message: Message) -> None:
    at = 0
    try:
        compile_sql(text).matches(message)
    except BadExpression as why:
        at = why.at
    assert 0 <= at <= len(text)


@given(st.dictionaries(names, st.text()), st.sampled_from(SIGNS), st.sampled_from(("5", "5.5", "b", "2147483648")))
def test_any_property_is_compared_or_does_not_match(message: Message, sign: str, other: str) -> None:
    assert compile_sql(f"a {sign} {other}").matches(message) in (True, False)


@pytest.mark.parametrize("opening", ["(", "NOT ", "- ", "+", "(NOT -", "a = (", "a AND (", "NOT (a OR "])
@given(st.integers(65, 500))
def test_whatever_nests_too_deep_is_refused(opening: str, depth: int) -> None:
    with pytest.raises(BadExpression):
        compile_sql(opening * depth + "a")
