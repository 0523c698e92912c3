"""The grammar of Java's `.properties` files (`java.util.Properties.load`), in which `broker.conf` is written."""

import re
from collections.abc import Iterator

ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
BLANKS = " \t\f"
KEY = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
ESCAPED = re.compile(r"\\(u.{0,4}|.?)", re.DOTALL)


class BadProperties(ValueError):
    """A syntax error in a properties file; the message names the line."""


def read_properties(text: str) -> dict[str, str]:
    """Return the properties of a text by key.  The last value of a repeated key counts.

    Trailing blanks are part of a value, as in Java.

    Raises BadProperties for a `\\u` without four hexadecimal digits, which is all that Java refuses.

    >>> read_properties("brokerName: broker-a\\nnamesrvAddr=10.0.0.1:9876;\\\\\\n  10.0.0.2:9876")
    {'brokerName': 'broker-a', 'namesrvAddr': '10.0.0.1:9876;10.0.0.2:9876'}
    """
    properties: dict[str, str] = {}
    for number, line in _logical_lines(text):
        key = KEY.match(line)
        assert key is not None, "it matches nothing, too"
        separator = SEPARATOR.match(line, key.end())
        assert separator is not None
        properties[_unescaped(key[0], number)] = _unescaped(line[separator.end() :], number)
    return properties


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each logical line with the number of its first physical line.

    A line that ends with an odd number of `\\` continues on the next one.
    """
    begun, number = "", 0
    for at, natural in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        line = natural.lstrip(BLANKS)
        if not begun and (not line or line[0] in "#!"):
            continue
        number = number if begun else at
        begun += line
        if (len(line) - len(line.rstrip("\\"))) % 2:
            begun = begun[:-1]
            continue
        yield number, begun
        begun = ""
    if begun:
        yield number, begun


def _unescaped(text: str, line: int) -> str:
    def one(match: re.Match[str]) -> str:
        sign = match[1]
        if not sign.startswith("u"):
            return ESCAPES.get(sign, sign)
        if not re.fullmatch("u[0-9a-fA-F]{4}", sign):
            raise BadProperties(
                f"Line {line} of the properties has {match[0]!r}: \\u needs four hexadecimal digits. "
                "Write a backslash as \\\\."
            )
        return chr(int(sign[1:], 16))

    return ESCAPED.sub(one, text)
