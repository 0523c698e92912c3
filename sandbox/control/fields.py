"""Conversion of form data or JSON to typed values, with errors that name the correction.

The field types of actions and questions are plain annotations: `int`, `float`, `str`, `bool`, `Literal`, `tuple[T,
...]`, `T | None`, dictionaries, and NamedTuples for small shapes.  `Annotated[int, Between(1, 64)]` restricts the
values.
"""

import re
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused

T = TypeVar("T")

MAX_TEXT_CHARS = 4_096
MAX_LIST_ITEMS = 5_000
INT64_MAX = 2**63 - 1
CONTROL = re.compile(r"[\x00-\x1f]")


class Between(NamedTuple):
    """Allowed range of a number, both bounds included."""

    low: float
    high: float


class TextUpTo(NamedTuple):
    """Limit of a text: one line of at most `chars` characters.

    RocketMQ separates properties with control characters.
    """

    chars: int


Name = Annotated[str, TextUpTo(255)]
Body = Annotated[str, TextUpTo(4 * 1024 * 1024)]  # the preset's limit of a message is narrower
Offset = Annotated[int, Between(-INT64_MAX, INT64_MAX)]
Count = Annotated[int, Between(1, 1_000_000)]
Millis = Annotated[int, Between(0, 86_400_000)]


@cache
def hints_of(kind: Any) -> dict[str, object]:
    """Return the type hints of a class's fields, without those of its class variables."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}


def build(kind: type[T], document: Mapping[str, object]) -> T:
    """Create an instance of the dataclass `kind` from `document`.  Raises ActionRefused (422) that names the field."""
    hints = hints_of(kind)  # type: ignore[arg-type]  # a class is hashable
    unknown = sorted(set(document) - set(hints))
    if unknown:
        raise ActionRefused(
            422,
            "{kind} has no field {field}.",
            "Available fields: {known}.",
            field=unknown[0],
            kind=kind.__name__,
            known=", ".join(hints) or "none",
        )
    values: dict[str, object] = {}
    for spec in fields(kind):  # type: ignore[arg-type]  # every kind is a dataclass
        value = document.get(spec.name)
        if value is None or (value == "" and hints[spec.name] not in (str, str | None)):
            if spec.default is MISSING and spec.default_factory is MISSING:
                raise _refuse(spec.name, "is missing", "Set a value.")
            continue
        values[spec.name] = convert(hints[spec.name], value, spec.name)
    return kind(**values)


def convert(hint: Any, value: Any, name: str) -> Any:
    """Convert `value`, from JSON types or form text, to the type `hint`."""
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *rules = get_args(hint)
        if inner is str and isinstance(value, str):  # its own limit applies, not the general one
            return _narrow(value, rules, name)
        return _narrow(convert(inner, value, name), rules, name)
    if origin is Literal:
        return _one_of(get_args(hint), value, name)
    if origin in (Union, types.UnionType):
        return _first_that_fits([arg for arg in get_args(hint) if arg is not type(None)], value, name)
    if origin is tuple:
        return _list_of(get_args(hint)[0], value, name)
    if origin is dict:
        return _mapping(value, name)
    if isinstance(hint, type) and hasattr(hint, "_fields"):
        return _shape(hint, value, name)
    return _plain(hint, value, name)


def _plain(hint: Any, value: Any, name: str) -> Any:
    if hint is bool:
        if isinstance(value, bool):
            return value
        if str(value).lower() in ("true", "on", "1", "false", "off", "0"):
            return str(value).lower() in ("true", "on", "1")
        raise _refuse(name, "must be true or false, not {value}", "Use true or false.", value=_shown(value))
    if hint in (int, float):
        return _number(hint, value, name)
    if not isinstance(value, str) or len(value) > MAX_TEXT_CHARS:
        raise _refuse(
            name, "must be a text of at most {limit} characters", "Send a shorter text.", limit=MAX_TEXT_CHARS
        )
    return value


def _number(hint: type, value: Any, name: str) -> int | float:
    if not isinstance(value, bool) and isinstance(value, int | float | str) and len(str(value)) <= 40:
        try:
            number: int | float = int(value) if hint is int and not isinstance(value, float) else float(value)
            if hint is int and number != int(number):
                raise ValueError
            if abs(number) <= INT64_MAX:  # also refuses nan and inf
                return int(number) if hint is int else float(number)
        except (ValueError, OverflowError):
            pass
    kind = "a whole number" if hint is int else "a number"
    raise _refuse(name, "must be {kind}, not {value}", "Enter digits only.", kind=kind, value=_shown(value))


def _narrow(value: Any, rules: list[Any], name: str) -> Any:
    for rule in rules:
        if isinstance(rule, Between) and not rule.low <= value <= rule.high:
            raise _refuse(
                name,
                "is {value}, which is outside {low} to {high}",
                "Choose a value in the allowed range.",
                value=value,
                low=_plainly(rule.low),
                high=_plainly(rule.high),
            )
        if isinstance(rule, TextUpTo) and len(value) > rule.chars:
            raise _refuse(
                name,
                "has {length} characters; at most {limit} fit",
                "Shorten the text.",
                length=len(value),
                limit=rule.chars,
            )
        if isinstance(rule, TextUpTo) and CONTROL.search(value):
            raise _refuse(name, "holds a control character", "Use one line, without control characters.")
    return value


def _plainly(bound: float) -> str:
    return str(int(bound)) if bound == int(bound) else str(bound)


def _one_of(choices: tuple[Any, ...], value: Any, name: str) -> Any:
    for choice in choices:
        if value == choice or str(value) == str(choice):
            return choice
    raise _refuse(
        name,
        "cannot be {value}",
        "Choose one of: {choices}.",
        value=_shown(value),
        choices=", ".join(map(str, choices)),
    )


def _first_that_fits(hints: list[Any], value: Any, name: str) -> Any:
    for hint in hints[:-1]:
        try:
            return convert(hint, value, name)
        except ActionRefused:
            continue
    return convert(hints[-1], value, name)


def _list_of(hint: Any, value: Any, name: str) -> tuple[Any, ...]:
    if isinstance(value, str):
        parts = [part.strip() for part in value.split(",")]
        value = _json(value, name) if value.startswith("[") else [part for part in parts if part]
    if not isinstance(value, list | tuple) or len(value) > MAX_LIST_ITEMS:
        raise _refuse(name, "must be a list of at most {limit}", "", limit=MAX_LIST_ITEMS)
    return tuple(convert(hint, item, name) for item in value)


def _mapping(value: Any, name: str) -> dict[str, object]:
    if isinstance(value, str):
        value = _json(value, name)
    if not isinstance(value, dict) or len(value) > MAX_LIST_ITEMS:
        raise _refuse(name, "must be an object", "")
    return {str(key): item for key, item in value.items()}


def _shape(hint: Any, value: Any, name: str) -> Any:
    if isinstance(value, str) and value.startswith(("[", "{")):
        value = _json(value, name)
    if isinstance(value, list | tuple):
        value = dict(zip(hint._fields, value, strict=False))
    if not isinstance(value, dict):
        raise _refuse(name, "must have the fields {known}", "", known=", ".join(hint._fields))
    unknown = set(value) - set(hint._fields)
    missing = [field for field in hint._fields if value.get(field) is None and field not in hint._field_defaults]
    if unknown or missing:
        raise _refuse(name, "must have the fields {known}", "", known=", ".join(hint._fields))
    hints = hints_of(hint)
    return hint(
        **{field: convert(hints[field], item, f"{name}.{field}") for field, item in value.items() if item is not None}
    )


def _json(value: str, name: str) -> Any:
    try:
        return json_bytes.loads(value)
    except json_bytes.JSONDecodeError:
        raise _refuse(name, "is not valid JSON", "Check brackets and quotes.") from None


def _shown(value: Any) -> str:
    return repr(value)[:60]


def _refuse(field: str, message: str, hint: str, **values: object) -> ActionRefused:
    return ActionRefused(422, "{field} " + message + ".", hint, field=field, **values)
