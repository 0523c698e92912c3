"""Splitting of a SQL92 filter text into words, one at a time.

A word is read only when the grammar asks for it, so that the text after a complete expression is not read.
RocketMQ: the token part of `SelectorParser.jj` (spec broker-behaviour 14).
"""

import re
from typing import NamedTuple

from sandbox.kernel.errors import BadExpression

MAX_TEXT_CHARS = 4_096
"""Of one expression; the subscriber chooses its length.  RocketMQ has no such limit."""

KEYWORDS = frozenset({"NOT", "AND", "OR", "BETWEEN", "IN", "TRUE", "FALSE", "NULL", "IS"})

NAME = "name"
WHOLE = "whole number"
FLOAT = "number"
TEXT = "text"
END = "end"

_SKIPPED = re.compile(r"(?:[ \t\n\r\f]|--[^\n\r]*[\n\r]|/\*[^*]*\*(?:\*|[^*/][^*]*\*)*/)*")
_WORD = re.compile(
    r"(?P<float>[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)"
    r"|(?P<whole>0|[1-9][0-9]*[lL]?)"
    r"|(?P<text>'(?:''|[^'])*')"
    r"|(?P<name>[A-Za-z_$][A-Za-z0-9_$]*)"
    r"|(?P<sign><>|>=|<=|[=<>(),+-])"
)


class Word(NamedTuple):
    """A word of the text.

    `kind` is a keyword, a sign as written, or one of the names above; `at` counts characters from 0.
    """

    kind: str
    text: str
    at: int


class Words:
    """A text that is read word by word, with one or two words of lookahead."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_TEXT_CHARS:
            raise BadExpression(
                f"an expression has at most {MAX_TEXT_CHARS} characters, not {len(text)}", MAX_TEXT_CHARS
            )
        self._text = text
        self._at = 0
        self._seen: list[Word] = []

    def peek(self, ahead: int = 0) -> Word:
        """Return the next word, or a later one, without taking it.  Raises BadExpression if no word begins there."""
        while len(self._seen) <= ahead:
            self._seen.append(self._cut())
        return self._seen[ahead]

    def take(self, *kinds: str) -> Word:
        """Take and return the next word.  Raises BadExpression if it is none of these kinds."""
        word = self.peek()
        if word.kind not in kinds:
            raise BadExpression(f"{_shown(word)} where {' or '.join(kinds)} belongs", word.at)
        return self._seen.pop(0)

    def takes(self, *kinds: str) -> Word | None:
        """Take and return the next word if it is one of these kinds.

        Otherwise return None, and it stays the next one.
        """
        return self._seen.pop(0) if self.peek().kind in kinds else None

    def _cut(self) -> Word:
        skipped = _SKIPPED.match(self._text, self._at)
        at = skipped.end() if skipped else self._at
        token = _WORD.match(self._text, at)
        if token is None:
            if at == len(self._text):
                return Word(END, "", at)
            raise BadExpression(f"no word begins with {self._text[at]!r}", at)
        self._at = token.end()
        return _word(token, at)


def _word(token: re.Match[str], at: int) -> Word:
    text = token.group()
    match token.lastgroup:
        case "float":
            return Word(FLOAT, text, at)
        case "whole":
            return Word(WHOLE, text.rstrip("lL"), at)
        case "text":
            return Word(TEXT, text[1:-1].replace("''", "'"), at)
        case "name":
            upper = text.upper()
            return Word(upper if upper in KEYWORDS else NAME, text, at)
        case _:
            return Word(text, text, at)


def _shown(word: Word) -> str:
    return "the end" if word.kind == END else repr(word.text[:40])
