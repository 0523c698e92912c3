"""The interface of orjson over msgspec, for interpreters that have no build of orjson (Pyodide).

Values and bytes are those of orjson where the engine's own values go in.  msgspec differs in two places, and each has
its detour here: orjson reads integers of more than 64 bits as floats, and writes floats from 1e16 on with a sign in
the exponent.
"""

import re
from collections.abc import Callable
from json import JSONDecodeError
from typing import Any

import msgspec

OPT_INDENT_2, OPT_SORT_KEYS, OPT_APPEND_NEWLINE, OPT_NON_STR_KEYS = 1, 2, 4, 8

JSONEncodeError = TypeError

LEAST, MOST = -(2**63), 2**64 - 1  # of an integer

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_LONG_NUMBER = re.compile(rb"\d{19}")
_EXPONENT = re.compile(rb"\de\d")


def loads(data: bytes | bytearray | memoryview | str) -> Any:
    """Return the value of a JSON text.  Raises JSONDecodeError."""
    try:
        value = _decode(data)
    except (msgspec.DecodeError, RecursionError, TypeError) as error:
        raise JSONDecodeError(str(error), "", 0) from error
    return _as_read(value) if _LONG_NUMBER.search(data.encode() if isinstance(data, str) else data) else value


def dumps(value: Any, default: Callable[[Any], Any] | None = None, option: int = 0) -> bytes:
    """Return a value as JSON text.  Raises JSONEncodeError."""
    sort: Any = "sorted" if option & OPT_SORT_KEYS else None
    try:
        if default is None and sort is None:
            out = _encode(value)
        else:
            out = msgspec.json.encode(value, enc_hook=default, order=sort)
        if _EXPONENT.search(out):
            out = _written(msgspec.to_builtins(value, enc_hook=default, order=sort, str_keys=True))
        if option & OPT_INDENT_2:
            out = msgspec.json.format(out, indent=2)
    except (ValueError, OverflowError, RecursionError) as error:
        raise JSONEncodeError(str(error)) from error
    return out + b"\n" if option & OPT_APPEND_NEWLINE else out


def _as_read(value: Any) -> Any:
    """Return a read value with floats for the integers that have more than 64 bits.  Raises JSONDecodeError."""
    if isinstance(value, dict):
        return {key: _as_read(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_read(item) for item in value]
    if type(value) is int and not LEAST <= value <= MOST:
        try:
            return float(value)
        except OverflowError as error:
            raise JSONDecodeError(str(error), "", 0) from error
    return value


def _written(value: Any) -> bytes:
    """Return plain values as JSON text, with a sign in each exponent."""
    if isinstance(value, dict):
        return b"{" + b",".join(_encode(key) + b":" + _written(item) for key, item in value.items()) + b"}"
    if isinstance(value, list | tuple):
        return b"[" + b",".join(map(_written, value)) + b"]"
    out = _encode(value)
    return _EXPONENT.sub(lambda match: match[0].replace(b"e", b"e+"), out) if isinstance(value, float) else out
