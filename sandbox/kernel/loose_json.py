"""Parser of fastjson's output, which is nearly JSON (spec store-format 10, observed 1.1.2).

In addition to JSON it has maps with unquoted numbers as keys, `{0:12}`, with objects as keys, `{{"queueId":2}:7}`,
and `{"$ref":"$.a[0]"}` for a value written before.  This module only reads: every RocketMQ accepts strict JSON.
"""

import json
import re
from typing import Any

MAX_BYTES = 64 * 1024 * 1024  # of text; a frame and a config file are far smaller
MAX_DEPTH = 64
MAX_REFERENCES = 10_000

_SPACE = re.compile(r"[ \t\r\n\f\b]*")
_NUMBER = re.compile(r"-?\d{1,400}(\.\d{1,400})?([eE][+-]?\d{1,3})?")
_WORD = re.compile(r"[A-Za-z]+")
_WORDS = {"null": None, "true": True, "false": False}
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d{1,9})\]|\[(?:'([^']*)'|\"([^\"]*)\")\]")


class LooseJsonError(ValueError):
    """Error: the text is not fastjson's, or exceeds a limit.  `position` counts characters."""

    def __init__(self, what: str, position: int) -> None:
        super().__init__(f"{what} at character {position}")
        self.position = position


def loads(text: str | bytes) -> Any:
    """Return the value in `text`; every map has `str` keys, an object used as key becomes its canonical JSON text.

    A reference becomes the same object as its target.  A reference to a value that contains a reference is refused,
    which excludes cycles and values that grow exponentially when traversed.
    """
    source = _decoded(text)
    try:
        value = _STRICT.decode(source)  # the common case, at the speed of the standard library
    except (ValueError, RecursionError):
        value = _Reader(source).document()
    else:
        if source.count("[") + source.count("{") > MAX_DEPTH:
            _check_depth(value)
    return _References(value).resolved() if '"$ref"' in source else value


def canonical(value: Any) -> str:
    """Return the unique JSON text of a value: no blanks, keys sorted.  Used for object keys of a map."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)  # NaN and Infinity are Python's own extension


_STRICT = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)


def _decoded(text: str | bytes) -> str:
    if len(text) > MAX_BYTES:
        raise LooseJsonError(f"{len(text)} bytes of text are too many, reading would stop", MAX_BYTES)
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    try:
        return bytes(text).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise LooseJsonError("bytes are not UTF-8", error.start) from None


def _check_depth(value: Any) -> None:
    level, depth = _containers([value]), 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise LooseJsonError(f"values are nested deeper than {MAX_DEPTH}", 0)
        level = [inner for holder in level for inner in _containers(holder)]


def _containers(holder: Any) -> list[Any]:
    values = holder.values() if isinstance(holder, dict) else holder
    return [value for value in values if isinstance(value, dict | list)]


class _Reader:
    """Parser of the text, in one pass from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def document(self) -> Any:
        value = self._value(0)
        self._skip_space()
        if self._at != len(self._text):
            raise self._error("something follows the value")
        return value

    def _value(self, depth: int) -> Any:
        self._skip_space()
        mark = self._text[self._at : self._at + 1]
        if mark in ("{", "["):
            if depth >= MAX_DEPTH:
                raise self._error(f"values are nested deeper than {MAX_DEPTH}")
            self._at += 1
            return self._object(depth + 1) if mark == "{" else self._array(depth + 1)
        if mark == '"':
            return self._string()
        if word := _WORD.match(self._text, self._at):
            if word[0] not in _WORDS:
                raise self._error(f"unknown word {word[0][:20]!r}")
            self._at = word.end()
            return _WORDS[word[0]]
        return self._number()

    def _object(self, depth: int) -> dict[str, object]:
        result: dict[str, object] = {}
        if self._took("}"):
            return result
        while True:
            key = self._key(depth)
            if not self._took(":"):
                raise self._error("':' expected")
            result[key] = self._value(depth)
            if self._took("}"):
                return result
            if not self._took(","):
                raise self._error("',' or '}' expected")

    def _array(self, depth: int) -> list[Any]:
        result: list[Any] = []
        if self._took("]"):
            return result
        while True:
            result.append(self._value(depth))
            if self._took("]"):
                return result
            if not self._took(","):
                raise self._error("',' or ']' expected")

    def _key(self, depth: int) -> str:
        self._skip_space()
        start = self._at
        key = self._value(depth)
        if isinstance(key, str):
            return key
        if isinstance(key, dict | list):
            return canonical(key)
        return self._text[start : self._at]  # a number, true, false, null: unchanged

    def _string(self) -> str:
        try:
            value, self._at = _STRICT.raw_decode(self._text, self._at)
        except json.JSONDecodeError as error:
            raise LooseJsonError("a string is broken", error.pos) from None
        assert isinstance(value, str)
        return value

    def _number(self) -> int | float:
        match = _NUMBER.match(self._text, self._at)
        if match is None:
            raise self._error("a value is expected" if self._at < len(self._text) else "the text ends too early")
        self._at = match.end()
        return float(match[0]) if match[1] or match[2] else int(match[0])

    def _took(self, mark: str) -> bool:
        self._skip_space()
        if self._text.startswith(mark, self._at):
            self._at += 1
            return True
        return False

    def _skip_space(self) -> None:
        match = _SPACE.match(self._text, self._at)
        assert match is not None  # it matches the empty text
        self._at = match.end()

    def _error(self, what: str) -> LooseJsonError:
        return LooseJsonError(what, self._at)


class _References:
    """Replacement of every `{"$ref": path}` by the value at the path."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._holders: set[int] = set()
        self._plain: set[int] = set()  # targets without references, so that each is traversed once

    def resolved(self) -> Any:
        if self._path(self._root) is not None:
            raise LooseJsonError("the whole text is a reference", 0)
        places = self._places()
        targets = [self._target(path) for _, _, path in places]
        for (holder, key, _), target in zip(places, targets, strict=True):
            holder[key] = target
        return self._root

    def _places(self) -> list[tuple[Any, Any, str]]:
        places: list[tuple[Any, Any, str]] = []
        todo = [self._root]
        while todo:
            holder = todo.pop()
            for key, value in holder.items() if isinstance(holder, dict) else enumerate(holder):
                if (path := self._path(value)) is not None:
                    places.append((holder, key, path))
                elif isinstance(value, dict | list):
                    todo.append(value)
        if len(places) > MAX_REFERENCES:
            raise LooseJsonError(f"more than {MAX_REFERENCES} references in the value", 0)
        self._holders = {id(holder) for holder, _, _ in places}
        return places

    def _target(self, path: str) -> Any:
        value, at = self._root, 1
        while path.startswith("$") and at < len(path):
            step = _STEP.match(path, at)
            if step is None:
                break
            at = step.end()
            try:
                value = value[int(step[2])] if step[2] else value[step[1] or step[3] or step[4] or ""]
            except (KeyError, IndexError, TypeError):
                raise LooseJsonError(f"reference {path[:80]!r} names nothing", 0) from None
        if at != len(path) or not path.startswith("$"):
            raise LooseJsonError(f"reference {path[:80]!r} is none we follow", 0)
        if id(value) not in self._plain and self._holds_reference(value):
            raise LooseJsonError(f"reference {path[:80]!r} names a value with references in it", 0)
        self._plain.add(id(value))
        return value

    def _holds_reference(self, value: Any) -> bool:
        todo = [value]
        while todo:
            item = todo.pop()
            if id(item) in self._holders or self._path(item) is not None:
                return True
            if isinstance(item, dict):
                todo.extend(item.values())
            elif isinstance(item, list):
                todo.extend(item)
        return False

    @staticmethod
    def _path(value: Any) -> str | None:
        if isinstance(value, dict) and len(value) == 1 and isinstance(path := value.get("$ref"), str):
            return path
        return None
