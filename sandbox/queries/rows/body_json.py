"""JSON bodies of messages: parsed with every digit, and their fields by JSON Pointer (RFC 6901)."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sandbox.kernel.errors import CorruptRecord
from sandbox.message.compression import decompress

MOST_BYTES = 64 * 1024  # of a body that a search parses
_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)+")


class Number(str):
    """A number with the digits that were sent: 1.10 is not 1.1, and no 64-bit number is rounded."""

    __slots__ = ()


class Members(NamedTuple):
    """The members of an object.  A name may occur twice."""

    pairs: tuple[tuple[str, "Json"], ...]


Json = str | bool | None | Members | list["Json"]


def parse(text: str) -> Json:
    """Return the value of a JSON text.  Raises ValueError; RecursionError if it is nested too deep."""
    value: Json = json.loads(
        text,
        parse_int=Number,
        parse_float=Number,
        parse_constant=_refuse,
        object_pairs_hook=lambda pairs: Members(tuple(pairs)),
    )
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def is_pointer(text: str) -> bool:
    return _POINTER.fullmatch(text) is not None


def pointer_of(parts: Sequence[str]) -> str:
    return "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in parts)


def scalar_text(value: str | bool | None) -> str:
    """Return a scalar as text: a string is its characters, anything else as JSON writes it."""
    return value if isinstance(value, str) else json.dumps(value)


def has_field(body: bytes, sys_flag: int, pointer: str, value: str | None) -> bool | None:
    """Return True if a JSON body has the field, with this value if it is not None.

    None: not compared, because the body is too long, too deep, or cannot be decompressed.
    """
    try:
        if len(body) > MOST_BYTES:
            return None
        root = parse(decompress(body, sys_flag, MOST_BYTES).decode())
    except (CorruptRecord, RecursionError):
        return None
    except ValueError:
        return False
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    return any(value is None or _is_equal(each, value) for each in _values_at(root, parts))


def _is_equal(field: Json, value: str) -> bool:
    return not isinstance(field, Members | list) and scalar_text(field) == value


def _values_at(value: Json, parts: Sequence[str]) -> Iterator[Json]:
    if not parts:
        yield value
    elif isinstance(value, Members):
        for name, member in value.pairs:
            if name == parts[0]:
                yield from _values_at(member, parts[1:])
    elif isinstance(value, list) and re.fullmatch("0|[1-9][0-9]{0,5}", parts[0]) and int(parts[0]) < len(value):
        yield from _values_at(value[int(parts[0])], parts[1:])
