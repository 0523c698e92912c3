"""Message bodies in readable form: JSON as a tree, text as it is, or only bytes."""

from __future__ import annotations

import json
from typing import NamedTuple

from sandbox.queries.rows.body_json import Json, Members, Number, parse, pointer_of, scalar_text

DEEPEST = 32
MOST_NODES = 500
FILTER_CHARS = 255  # of a path or value in a search


class Node(NamedTuple):
    """A field of a JSON body.  `kind`: object, array, string, number or literal.

    `value`: the text with which a search finds it; None for objects and arrays, and for values that no search takes.
    """

    name: str
    kind: str
    text: str
    pointer: str
    value: str | None
    children: tuple[Node, ...]


class Body(NamedTuple):
    """A body to show.  `kind`: json, text or bytes; `text` is empty for bytes.

    `is_over`: the body looks like JSON and is over the limits of a tree.
    """

    kind: str
    text: str
    tree: tuple[Node, ...] = ()
    is_over: bool = False


class _OverLimit(Exception):
    pass


def body_of(shown: bytes, *, whole: bool) -> Body:
    """Return the body in readable form.  `whole`: `shown` is not cut off, so the text may be parsed as JSON."""
    try:
        text = shown.decode() if whole else shown.decode("utf-8", "ignore")
    except UnicodeDecodeError:
        return Body("bytes", "")
    if not all(sign.isprintable() or sign in "\t\r\n" for sign in text):
        return Body("bytes", "")
    if text.lstrip()[:1] not in ("{", "["):
        return Body("text", text)
    if not whole:
        return Body("text", text, is_over=True)
    try:
        return Body("json", text, _children(parse(text), (), [MOST_NODES]))
    except (RecursionError, _OverLimit):
        return Body("text", text, is_over=True)
    except ValueError:
        return Body("text", text)


def _children(value: Json, path: tuple[str, ...], left: list[int]) -> tuple[Node, ...]:
    """Return the fields of an object or array.  `left`: how many more nodes the tree may have."""
    if isinstance(value, Members):
        return tuple(_node(member, (*path, name), left) for name, member in value.pairs)
    if isinstance(value, list):
        return tuple(_node(item, (*path, str(index)), left) for index, item in enumerate(value))
    return ()


def _node(value: Json, path: tuple[str, ...], left: list[int]) -> Node:
    left[0] -= 1
    if left[0] < 0 or len(path) > DEEPEST:
        raise _OverLimit
    name, pointer = _printable(path[-1]), pointer_of(path)
    if isinstance(value, Members | list):
        kind = "object" if isinstance(value, Members) else "array"
        return Node(name, kind, "", pointer, None, _children(value, path, left))
    kind = "number" if isinstance(value, Number) else "string" if isinstance(value, str) else "literal"
    text = json.dumps(value, ensure_ascii=False) if kind == "string" else scalar_text(value)
    searched = scalar_text(value)
    is_searchable = all(_is_searched(each) for each in (pointer, searched))
    return Node(name, kind, _printable(text), pointer, searched if is_searchable else None, ())


def _is_searched(text: str) -> bool:
    return text.isprintable() and 0 < len(text) <= FILTER_CHARS and text == text.strip()


def _printable(text: str) -> str:
    r"""Return the text with signs that are not printable as \uXXXX, so that none turns the direction of a line."""
    return "".join(sign if sign.isprintable() else json.dumps(sign)[1:-1] for sign in text)
