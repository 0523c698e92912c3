"""Schema of every event, read from the classes: for docs, golden schema, Spark and the browser."""

from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from sandbox.journal.events import BY_NAME, FLOW, Entry, Event, Position
from sandbox.kernel.errors import CorruptRecord

Row = dict[str, Any]

CAME = "came"  # in a row of the files: turn and ms


def describe() -> dict[str, Row]:
    """Return event name → {"kind": fact | flow, "fields": {name: type as text}}, in catalogue order."""
    return {
        name: {
            "kind": "flow" if event in FLOW else "fact",
            "fields": {field: _type_text(hint) for field, hint in _hints(name).items()},
        }
        for name, event in BY_NAME.items()
    }


def to_row(entry: Entry, *, longs_as_text: bool) -> Row:
    """Return an entry as one flat row of JSON values.

    `longs_as_text` is for browsers, where a number has only 53 bits.  A field with a default was added to its event
    later; at that value it is omitted, as in older journals.
    """
    event: Any = entry.event  # a NamedTuple
    name = type(event).__name__
    row: Row = {"seq": entry.seq, "at_ms": entry.at_ms, "type": name, "cause": entry.cause}
    row.update(zip(event._fields, event, strict=True))
    for field, value in event._field_defaults.items():
        if row[field] == value:
            del row[field]
    if longs_as_text:
        row["seq"], row["cause"] = str(entry.seq), None if entry.cause is None else str(entry.cause)
        for field in _long_fields(name):
            row[field] = _as_text(row[field])
    elif entry.came is not None:
        row[CAME] = list(entry.came)
    return row


def from_row(row: Row) -> Entry:
    """Return the entry of a row (with numbers for longs).  Raises CorruptRecord if it is no entry."""
    try:
        kind: Any = BY_NAME[row["type"]]
        values = {name: _frozen(row[name]) for name in kind._fields if name in row or name not in kind._field_defaults}
        event: Event = kind(**values)
        return Entry(row["seq"], row["at_ms"], row["cause"], event, Position(*row[CAME]) if CAME in row else None)
    except (KeyError, TypeError) as error:
        raise CorruptRecord(f"not a journal entry: {error!r}") from error


@cache
def _hints(name: str) -> dict[str, object]:
    return get_type_hints(BY_NAME[name], include_extras=True)


@cache
def _long_fields(event: str) -> tuple[str, ...]:
    return tuple(name for name, hint in _hints(event).items() if "int64" in _type_text(hint))


def _type_text(hint: Any) -> str:
    if getattr(hint, "__metadata__", None):
        return str(hint.__metadata__[0])
    if get_origin(hint) is tuple:
        inner = [_type_text(arg) for arg in get_args(hint) if arg is not Ellipsis]
        return f"list<{inner[0]}>" if Ellipsis in get_args(hint) else f"struct<{', '.join(inner)}>"
    if hint is type(None):
        return "null"
    if get_args(hint):
        if get_origin(hint) is dict:
            return "object"
        return " | ".join(_type_text(arg) for arg in get_args(hint))
    return str(hint.__name__)


def _as_text(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, tuple | list):
        return [_as_text(item) for item in value]
    return value


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
