"""SQL92 filters: every verdict here is the one that RocketMQ 4.9.8's own parser and evaluator gave."""

import pytest

from sandbox.kernel.errors import BadExpression, SandboxError
from sandbox.message.sql_filter import compile_sql
from sandbox.message.sql_nodes import Value
from sandbox.message.sql_parser import MAX_DEPTH, MAX_LISTED, MAX_TERMS, parse
from sandbox.message.sql_values import MAX_NUMBER_CHARS
from sandbox.message.sql_words import MAX_TEXT_CHARS

MESSAGE = {"a": "5", "b": "7", "s": "text", "f": "5.5", "t": "true", "TAGS": "red"}


def verdict(expression: str, **properties: str) -> Value:
    """True, False, or None for unknown."""
    return parse(expression).evaluate(properties or MESSAGE)


def matches(expression: str, **properties: str) -> bool:
    return compile_sql(expression).matches(properties or MESSAGE)


@pytest.mark.parametrize(
    "expression",
    [
        "a = 5",
        "a = '5'",
        "a <> 6",
        "s = 'text'",
        "s <> 'TEXT'",
        "TAGS = 'red'",
        "a > 4",
        "a >= 5",
        "a < 6",
        "a <= 5",
        "a < b",
        "a BETWEEN 1 AND 9",
        "a BETWEEN 5 AND 5",
        "a NOT BETWEEN 6 AND 9",
        "a BETWEEN 1 AND b",
        "a BETWEEN -1 AND 9",
        "s IN ('text')",
        "s IN ('no', 'text')",
        "s NOT IN ('no')",
        "a IS NOT NULL",
        "missing IS NULL",
        "f > 5.0",
        "a = 5L",
        "a = 5l",
        "a = 5.0",
        "a < 1e300",
        "a > .5",
        "a > 1.",
        "a > -1",
        "-1 < a",
        "+5 = a",
        "- -5 = a",
        "t = TRUE",
        "a = FALSE",
        "TRUE",
        "NOT FALSE",
        "(a = 5) = TRUE",
        "5 = 5.0",
        "NULL IS NULL",
    ],
)
def test_what_matches(expression: str) -> None:
    assert matches(expression)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a = 1 OR a = 5 AND b = 8", False),
        ("(a = 5 OR a = 1) AND b = 7", True),
        ("a = 5 OR a = 1 AND b = 8", True),
        ("NOT a = 5", False),  # (NOT a) = 5: a truth value is no number
        ("NOT s = false", False),  # the left side is a truth value, the right one too, and they differ
        ("NOT a = TRUE", True),
        ("NOT (a = 5)", False),
        ("NOT (a = 6)", True),
        ("NOT NOT (a = 5)", True),
        ("a = 5 = TRUE", True),
        ("a = 5 = FALSE", False),
        ("a = 5 > 3", False),
        ("a > 4 = TRUE", True),
        ("a IS NULL = TRUE", False),
        ("a NOT BETWEEN 6 AND 9 AND b = 7", True),
        ("a BETWEEN 1 AND 2 OR a = 5", True),
    ],
)
def test_what_binds_stronger(expression: str, expected: bool) -> None:
    assert verdict(expression) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("missing = 5", None),
        ("missing <> 5", None),
        ("missing > 5", None),
        ("NOT (missing = 5)", None),
        ("missing IN ('5')", None),
        ("missing NOT IN ('5')", None),
        ("missing BETWEEN 1 AND 2", None),
        ("missing > 1 AND a = 5", None),
        ("missing > 1 AND a = 6", False),
        ("missing > 1 OR a = 5", True),
        ("missing > 1 OR a = 6", None),
        ("a = 5 AND missing > 1 AND b = 8", False),
        ("missing", None),
        ("NULL", None),
        ("missing = gone", True),  # both unknown
        ("a = missing", False),
        ("a <> missing", True),  # unknown on the right only
        ("(missing = 5) IS NULL", True),
        ("missing = 5 IS NULL", True),
    ],
)
def test_a_property_that_is_missing_is_unknown(expression: str, expected: bool | None) -> None:
    assert verdict(expression) is expected
    assert matches(expression) is (expected is True)


@pytest.mark.parametrize("expression", ["a", "t", "a AND TRUE", "a OR FALSE", "s"])
def test_a_property_by_itself_is_never_true(expression: str) -> None:
    assert not matches(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "f > 5",  # 5.5 is no whole number
        "s > a",
        "s = 5",
        "s < 5.0",
        "TRUE = t",
        "s > 1 OR a = 5",
        "s > 1 AND a = 6",
        "f < 2147483648",
    ],
)
def test_what_java_cannot_compare_does_not_match(expression: str) -> None:
    assert not matches(expression)
    assert not matches(f"NOT ({expression})")


def test_what_stands_behind_a_decided_and_or_or_is_not_compared() -> None:
    assert matches("a = 5 OR s > 1")
    assert matches("NOT (a = 6 AND s > 1)")


@pytest.mark.parametrize(
    ("text", "whole", "double"),
    [
        ("5", True, True),
        ("+5", True, True),
        ("٥", True, False),
        ("05", True, True),
        (" 5 ", False, True),
        ("5.0", False, True),
        ("5d", False, True),
        ("0x1.4p2", False, True),
        ("5_", False, False),
        ("inf", False, False),
        ("", False, False),
        ("5" + "0" * MAX_NUMBER_CHARS, False, False),
        ("𝟝", False, False),
    ],
)
def test_texts_are_numbers_as_java_reads_them(text: str, whole: bool, double: bool) -> None:
    assert matches("n = 5", n=text) is whole
    assert matches("n = 5.0", n=text) is double


@pytest.mark.parametrize(
    ("expression", "value", "expected"),
    [
        ("n > 5", "2147483648", False),  # does not fit the 32 bits that 5 is kept in
        ("n > 2147483648", "2147483649", True),
        ("n > -2147483648", "2147483648", True),
        ("n > 2147483648", "9223372036854775808", False),
        ("n > 5.0", "NaN", True),
        ("n < 5.0", "NaN", False),
        ("n > n", "NaN", False),
        ("n > 5.0", "Infinity", True),
        ("n < 5.0", "-Infinity", True),
        ("n > 5.0", "0x1p99999", True),
        ("n < 5.0", "-0x1p99999", True),
        ("n < z", "-0.0", True),
        ("n = z", "-0.0", False),
        ("n < z", "0.0", False),
    ],
)
def test_numbers_are_ordered_as_java_orders_them(expression: str, value: str, expected: bool) -> None:
    assert matches(expression, n=value, z="0.0") is expected


@pytest.mark.parametrize("expression", ["a LIKE 'x'", "a + 1 = 6", "a - 5", "a 'x'"])
def test_a_name_with_something_unreadable_behind_is_just_the_name(expression: str) -> None:
    assert verdict(expression) is False


@pytest.mark.parametrize("expression", ["a = 5 b = 6", "a = 5)", "a = 5 x #", "a=5EE", "a = 5 -- no end of line"])
def test_what_follows_a_complete_expression_is_ignored(expression: str) -> None:
    assert matches(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "a--c\n=5",
        "-- c\r\na = 5",
        "a /* c */ = 5",
        "a=5/***/",
        "a = /* 'x' ** / */ 5",
        "a\t=\f5\r",
        "a = 5 --\n",
        "a=5aNd b=7",
        "a=5 and(b=7)",
        "nOt(a=6)",
        "a between 1 AND 9",
        "s in('text')AND a is not null",
        "t=true",
    ],
)
def test_comments_blanks_and_letter_case(expression: str) -> None:
    assert matches(expression)


def test_two_signs_without_an_end_of_line_are_no_comment() -> None:
    assert matches("a > --4")
    with pytest.raises(BadExpression):
        compile_sql("a > --4\n")


def test_names_are_case_sensitive_and_may_hold_dollars() -> None:
    assert matches("_a1 = '1' AND $x = '2' AND A IS NULL AND a = '3'", _a1="1", a="3", **{"$x": "2"})


def test_two_quotes_in_a_text_are_one() -> None:
    assert matches("s = 'it''s'", s="it's")


def test_a_zero_in_front_is_a_number_of_its_own() -> None:
    """RocketMQ's digits: `05` is 0, and what follows is ignored."""
    assert not matches("a = 05")
    assert matches("n = 05", n="0")


@pytest.mark.parametrize(
    ("expression", "at"),
    [
        ("", 0),
        ("   ", 3),
        ("()", 1),
        ("a =", 3),
        ("a = 5 AND", 9),
        ("(a = 5", 6),
        ("a = 'x", 4),
        ("a != 5", 2),
        ("a == 5", 3),
        ("é = 1", 0),
        ("a.b = 5", 1),
        ("a = 5 #", 6),
        ("a = 5 /* x", 6),
        ("a NOT LIKE 'x'", 6),
        ("a IS 5", 5),
        ("a IN ()", 6),
        ("a IN (5)", 6),
        ("a IN ('5',)", 10),
        ("AND = 5", 0),
        ("a > = 5", 4),
        ("5", 0),
        ("'x'", 0),
        ("-a", 0),
        ("NOT 5", 4),
        ("a = 5 AND 'x'", 10),
        ("5 OR a = 5", 0),
        ("a = NULL", 2),
        ("NULL = a", 5),
        ("TRUE = 5", 5),
        ("TRUE = 'x'", 5),
        ("a > 'x'", 2),
        ("a > TRUE", 2),
        ("'5' > a", 4),
        ("a > 4 > 3", 6),
        ("NULL < a", 5),
        ("(a = 5) > 3", 8),
        ("a BETWEEN 9 AND 1", 2),
        ("a BETWEEN '1' AND '9'", 2),
        ("a BETWEEN NULL AND 3", 2),
        ("a BETWEEN 1", 11),
        ("5 IN ('5')", 2),
        ("-a IN ('5')", 3),
        ("a IN ('x') IN ('y')", 11),
        ("a = 9223372036854775808", 4),
        ("a = -9223372036854775808", 5),
        ("a = 0.0", 4),
        ("a = 1e400", 4),
        ("a > 5e-400", 4),
    ],
)
def test_what_does_not_compile_says_where(expression: str, at: int) -> None:
    with pytest.raises(BadExpression) as refusal:
        compile_sql(expression)
    assert refusal.value.at == at
    assert str(refusal.value).endswith(f"(character {at + 1})")
    assert isinstance(refusal.value, SandboxError)


def test_between_that_only_turns_out_empty_compiles() -> None:
    assert not matches("a BETWEEN 1 AND -9")
    assert matches("a NOT BETWEEN 9 AND 1")


@pytest.mark.parametrize(
    ("fits", "too_much"),
    [
        ("(" * MAX_DEPTH + "a=5" + ")" * MAX_DEPTH, "(" * (MAX_DEPTH + 1) + "a=5" + ")" * (MAX_DEPTH + 1)),
        ("NOT " * MAX_DEPTH + "FALSE IS NULL OR a = 5", "NOT " * (MAX_DEPTH + 1) + "FALSE IS NULL OR a = 5"),
        (" AND ".join(["a=5"] * (MAX_TERMS // 2)), " AND ".join(["a=5"] * (MAX_TERMS // 2 + 1))),
        ("a" + " IS NULL" * (MAX_TERMS - 2) + " = FALSE", "a" + " IS NULL" * MAX_TERMS),
        ("a IN (" + ",".join(["'5'"] * MAX_LISTED) + ")", "a IN (" + ",".join(["'5'"] * (MAX_LISTED + 1)) + ")"),
        ("a=5".ljust(MAX_TEXT_CHARS), "a=5".ljust(MAX_TEXT_CHARS + 1)),
    ],
)
def test_an_expression_has_limits(fits: str, too_much: str) -> None:
    assert matches(fits)
    with pytest.raises(BadExpression, match=r"at most|more than"):
        compile_sql(too_much)
