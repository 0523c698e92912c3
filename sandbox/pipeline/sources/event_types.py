"""The columns of events, made from their classes: Arrow types and Spark's names of them.

str → STRING · bool → BOOLEAN · int and Long → BIGINT · float → DOUBLE · `X | None` → X (every column may be null)
tuple[X, ...] → ARRAY<X> · tuple[X, Y] → STRUCT<_1: X, _2: Y> · dict → STRING (its JSON)
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import pyarrow as pa

from sandbox.journal.events import BY_NAME
from sandbox.kernel import json_bytes
from sandbox.pipeline.sources.option_values import meant
from sandbox.pipeline.sources.source_columns import INSTANT

HEAD = pa.schema([("sandbox", pa.string()), ("seq", pa.int64()), ("at_ms", pa.int64()), ("event", pa.string())])
"""The first columns of every row."""

FIELDS = pa.field("fields", pa.string())
"""The entry's line in the segment: the only other column without named events."""

PLAIN = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64(), dict: pa.string()}
NAMES = {
    pa.string(): "STRING",
    pa.bool_(): "BOOLEAN",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    INSTANT: "TIMESTAMP",
}

Convert = Callable[[Any], Any]


class UnknownEvent(ValueError):
    """Error: no such event, or two requested events cannot share a table; the sentence names them."""


def schema_of(events: Sequence[str], fields: Sequence[str] = ()) -> pa.Schema:
    """Return the columns of these events' rows, each field once; without events the head and the line.

    `fields`: only these of the events' fields, in this order.  Raises UnknownEvent.
    """
    if not events:
        return HEAD.append(FIELDS)
    first: dict[str, tuple[str, pa.DataType]] = {name: ("every entry", HEAD.field(name).type) for name in HEAD.names}
    for event in events:
        for name, (kind, _) in columns_of(event).items():
            if fields and name not in fields:
                continue
            owner, known = first.setdefault(name, (event, kind))
            if known != kind:
                raise UnknownEvent(
                    f"{name} is {ddl(known)} in {owner} and {ddl(kind)} in {event}. Read the events separately."
                )
    if unknown := [name for name in fields if name not in first or name in HEAD.names]:
        raise UnknownEvent(f"These events have no field {', '.join(unknown)}: {', '.join(events)}.")
    return pa.schema(
        [(name, first[name][1]) for name in (*HEAD.names, *fields)]
        if fields
        else [(name, kind) for name, (_, kind) in first.items()]
    )


@cache
def columns_of(event: str) -> dict[str, tuple[pa.DataType, Convert | None]]:
    """Return for each field its type and a converter from its JSON value (None: not needed).  Raises UnknownEvent."""
    if event not in BY_NAME:
        raise UnknownEvent(f"No event {event}.{meant([event], BY_NAME)} docs/events.md lists them.")
    return {name: _column(hint) for name, hint in get_type_hints(BY_NAME[event]).items()}


def ddl(kind: pa.DataType) -> str:
    """Return the name of the type in Spark's DDL."""
    if pa.types.is_list(kind):
        return f"ARRAY<{ddl(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"STRUCT<{', '.join(f'{field.name}: {ddl(field.type)}' for field in kind)}>"
    return NAMES[kind]


def ddl_of(schema: pa.Schema) -> str:
    return ", ".join(f"`{field.name}` {ddl(field.type)}" for field in schema)


def _column(hint: Any) -> tuple[pa.DataType, Convert | None]:
    arguments = [argument for argument in get_args(hint) if argument is not NoneType]
    if get_origin(hint) is dict:
        return pa.string(), lambda value: json_bytes.dumps(value).decode()
    if get_origin(hint) is tuple and arguments[-1] is Ellipsis:
        kind, convert = _column(arguments[0])
        return pa.list_(kind), convert and partial(_each, convert)
    if get_origin(hint) is tuple:
        parts = [_column(argument) for argument in arguments]
        kind = pa.struct([(f"_{number}", part) for number, (part, _) in enumerate(parts, 1)])
        converts = [convert or _same for _, convert in parts]
        return kind, lambda values: tuple(convert(value) for convert, value in zip(converts, values, strict=True))
    if arguments:  # X | None: nulls are not converted
        kind, convert = _column(arguments[0])
        return kind, convert
    return PLAIN[hint], None


def _each(convert: Convert, values: Sequence[Any]) -> list[Any]:
    return [convert(value) for value in values]


def _same(value: Any) -> Any:
    return value
