"""Message bodies in readable form: JSON indented without changing a digit, text as it is, or only bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

INDENT = "  "
DEEPEST = 64
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')


class Body(NamedTuple):
    """A body to show.  `kind`: json, text or bytes; `text` is empty for bytes."""

    kind: str
    text: str


def body_of(shown: bytes, *, whole: bool) -> Body:
    """Return the body in readable form.  `whole`: `shown` is not cut off, so the text may be parsed as JSON."""
    try:
        text = shown.decode() if whole else shown.decode("utf-8", "ignore")
    except UnicodeDecodeError:
        return Body("bytes", "")
    if not all(sign.isprintable() or sign in "\t\r\n" for sign in text):
        return Body("bytes", "")
    if whole and text.lstrip()[:1] in ("{", "[") and (indented := _indented(text)) is not None:
        return Body("json", indented)
    return Body("text", text)


def _indented(text: str) -> str | None:
    """Return the JSON text indented, or None if the text is not JSON.

    Only the blanks between tokens change: 9007199254740993 and 1.10 keep their digits.
    """
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    return "".join(_laid_out(_TOKEN.findall(text)))


def _laid_out(tokens: list[str]) -> Iterator[str]:
    depth = 0
    for number, token in enumerate(tokens):
        after = tokens[number + 1] if number + 1 < len(tokens) else ""
        if token in "{[":
            yield token
            depth += 1
            if after not in ("}", "]"):
                yield _line(depth)
        elif token in "}]":
            depth -= 1
            if tokens[number - 1] not in ("{", "["):
                yield _line(depth)
            yield token
        elif token == ",":
            yield token + _line(depth)
        else:
            yield ": " if token == ":" else token


def _line(depth: int) -> str:
    return "\n" + INDENT * min(depth, DEEPEST)
