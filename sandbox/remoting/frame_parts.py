"""The byte positions of a frame's fields, for byte views (spec remoting 1).

Fields overlap only by nesting: `header` contains its fields, `extFields` contains its own.
"""

import json
from struct import Struct, error
from typing import NamedTuple

from sandbox.remoting.command import Language, SerializeType

LENGTHS_BYTES = 8

_INT = Struct(">i")
_SHORT = Struct(">h")
_BINARY = (("code", 2), ("language", 1), ("version", 2), ("opaque", 4), ("flag", 4))
_LANGUAGES = {int(language): language.name for language in Language}
_DECODER = json.JSONDecoder()


class Part(NamedTuple):
    """The bytes `start` to `end` of a frame.  `depth`: 0 of the frame, 1 of the header, 2 of the custom header."""

    name: str
    start: int
    end: int
    value: str
    depth: int


def frame_parts(frame: bytes) -> list[Part]:
    """Return the parts of a frame in byte order, an outer part before its inner ones.

    A truncated frame has fewer parts, or shorter ones.  Raises ValueError for bytes that are no frame.
    """
    if len(frame) < LENGTHS_BYTES:
        raise ValueError(f"{len(frame)} bytes are no frame")
    (total,) = _INT.unpack_from(frame)
    kind, header_bytes = frame[4], int.from_bytes(frame[5:8])
    end = LENGTHS_BYTES + header_bytes
    parts = [
        Part("length", 0, 4, str(total), 0),
        Part("serialize type", 4, 5, _kind(kind), 0),
        Part("header length", 5, 8, str(header_bytes), 0),
        Part("header", LENGTHS_BYTES, min(end, len(frame)), "", 0),
    ]
    header = frame[LENGTHS_BYTES:end]
    if len(header) == header_bytes:
        parts += _json(header) if kind == SerializeType.JSON else _binary(header)
    if total + 4 > end and len(frame) > end:
        parts.append(Part("body", end, min(total + 4, len(frame)), "", 0))
    return parts


def _kind(kind: int) -> str:
    return f"{kind} {SerializeType(kind).name}" if kind in (SerializeType.JSON, SerializeType.ROCKETMQ) else str(kind)


def _json(header: bytes) -> list[Part]:
    text = header.decode("utf-8", "surrogateescape")
    try:
        return _object(text, _skip(text, 0), 1)
    except (ValueError, IndexError) as error:
        raise ValueError(f"the header is no JSON object: {error}") from None


def _object(text: str, at: int, depth: int) -> list[Part]:
    """Return the pairs of the object that begins at `at`; those of a custom header too, one level deeper."""
    parts: list[Part] = []
    if text[at] != "{":
        raise ValueError(f"no object at {at}")
    at = _skip(text, at + 1)
    while text[at] != "}":
        start = at
        name, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        if text[at] != ":":
            raise ValueError(f"no colon at {at}")
        begin = _skip(text, at + 1)
        value, at = _DECODER.raw_decode(text, begin)
        inside = _object(text, begin, depth + 1) if name == "extFields" and depth == 1 and value else []
        shown = "" if inside else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        parts += [Part(str(name), _byte(text, start), _byte(text, at), shown, depth), *inside]
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return parts


def _skip(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at


def _byte(text: str, at: int) -> int:
    """Return the position in the frame of the character at `at` of the header."""
    return LENGTHS_BYTES + len(text[:at].encode("utf-8", "surrogateescape"))


def _binary(header: bytes) -> list[Part]:
    parts: list[Part] = []
    at = 0
    for name, size in _BINARY:
        number = int.from_bytes(header[at : at + size], signed=size > 1)
        parts.append(_part(name, at, size, _LANGUAGES.get(number, str(number)) if name == "language" else str(number)))
        at += size
    try:
        (size,) = _INT.unpack_from(header, at)
        parts.append(_part("remark", at, 4 + size, _text(header[at + 4 : at + 4 + size])))
        at += 4 + size
        (size,) = _INT.unpack_from(header, at)
        parts.append(_part("extFields", at, 4 + size, ""))
        return parts + _pairs(header, at + 4, at + 4 + size)
    except error as refusal:
        raise ValueError(f"binary header of {len(header)} bytes ends too early") from refusal


def _pairs(header: bytes, at: int, end: int) -> list[Part]:
    parts: list[Part] = []
    while at < end:
        (key_bytes,) = _SHORT.unpack_from(header, at)
        key = _text(header[at + 2 : at + 2 + key_bytes])
        (value_bytes,) = _INT.unpack_from(header, at + 2 + key_bytes)
        first = at + 6 + key_bytes
        parts.append(_part(key, at, 6 + key_bytes + value_bytes, _text(header[first : first + value_bytes]), depth=2))
        at = first + value_bytes
    return parts


def _part(name: str, at: int, size: int, value: str, *, depth: int = 1) -> Part:
    return Part(name, LENGTHS_BYTES + at, LENGTHS_BYTES + at + size, value, depth)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
