"""Conversion of header fields, which are text on the wire, to numbers as Java does (spec remoting 1.4).

A number that is missing, invalid, or too large for its type counts as missing.  Only `true` in any case is true.  A
missing required field raises Malformed; a broker answers that with code 1.
"""

from typing import TypeVar

from sandbox.kernel.errors import BrokerRefused

Ext = dict[str, str] | None
"""The custom header of a command."""

T = TypeVar("T")

INT32_END = 2**31
INT64_END = 2**63
_SYSTEM_ERROR = 1


class Malformed(BrokerRefused):
    """Error: a header field or a body is missing or unreadable.

    The connection continues; only this command is refused.
    """

    def __init__(self, remark: str) -> None:
        super().__init__(_SYSTEM_ERROR, remark)


def text_or_none(ext: Ext, name: str) -> str | None:
    return ext.get(name) if ext else None


def int32_or_none(ext: Ext, name: str) -> int | None:
    return _number(ext.get(name), INT32_END) if ext else None


def int64_or_none(ext: Ext, name: str) -> int | None:
    return _number(ext.get(name), INT64_END) if ext else None


def text(ext: Ext, name: str) -> str:
    return _needed(text_or_none(ext, name), name)


def int32(ext: Ext, name: str) -> int:
    return _needed(int32_or_none(ext, name), name)


def int64(ext: Ext, name: str) -> int:
    return _needed(int64_or_none(ext, name), name)


def is_true(ext: Ext, name: str) -> bool:
    """Return True if the field is `true` in any case; `1` and `yes` are false, as in Java."""
    return bool(ext) and (value := ext.get(name)) is not None and value.lower() == "true"  # type: ignore[union-attr]


def written(**fields: str | int | bool | None) -> dict[str, str]:
    """Return header fields for the wire; fields that are None are left out."""
    return {
        name: value if type(value) is str else ("true" if value else "false") if type(value) is bool else str(value)
        for name, value in fields.items()
        if value is not None
    }


def _number(value: str | None, end: int) -> int | None:
    """Return the number in a text of digits with an optional sign; None if it is none or not in `[-end, end)`.

    Python's `int` would also accept blanks and underscores.
    """
    if value is None or not (value.isdecimal() or (value[:1] in ("-", "+") and value[1:].isdecimal())):
        return None
    if len(value) > 40:
        return None
    number = int(value)
    return number if -end <= number < end else None


def _needed(value: T | None, name: str) -> T:
    if value is None:
        raise Malformed(f"header field {name} is missing or cannot be read")
    return value
