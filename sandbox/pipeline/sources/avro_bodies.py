"""Decoding of bodies that are one Avro record each (binary encoding, nothing before or behind it) with fastavro.

    boolean int long float double string bytes → BOOLEAN INT BIGINT FLOAT DOUBLE STRING BINARY
    enum → STRING · fixed → BINARY · array → ARRAY · map → MAP<STRING, …> · record → STRUCT · [null, X] → X
    date → DATE · timestamp-millis, -micros → TIMESTAMP · decimal → DECIMAL; other logical types are what they stand on

Other unions and recursive records have no column type.  Spark's own `from_avro` is in a jar that PySpark does not
include.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sandbox.kernel import json_bytes
from sandbox.kernel.errors import SandboxError
from sandbox.pipeline.sources.records import BODY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PRIMITIVES = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
}
LOGICAL = {
    "date": pa.date32(),
    "timestamp-millis": pa.timestamp("us", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
}
NAMES = {
    pa.bool_(): "BOOLEAN",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
    pa.date32(): "DATE",
    pa.timestamp("us", "UTC"): "TIMESTAMP",
}
MAX_DIGITS = 38  # of Spark's decimals
DECIMAL = "column-decimal"
"""For `decimal`, whose digits fastavro would round to the schema's precision: read by `_exact`."""
Schema = dict[str, Any]


class WrongBodies(SandboxError):
    """Error: bodies cannot be read as requested; the sentence names the formats that can."""


def avro_schema(text: str) -> Schema:
    """Return the schema of a record, without the logical types that have no column type.

    Raises WrongBodies if the text is not the schema of a record with fields.
    """
    from fastavro import parse_schema
    from fastavro.schema import SchemaParseException, UnknownType

    try:
        schema = _without_logical(json_bytes.loads(text))
        parse_schema(schema)
    except json_bytes.JSONDecodeError as error:
        raise WrongBodies(f'bodySchema is not JSON ({error}): an Avro schema is {{"type": "record", …}}.') from None
    except (SchemaParseException, UnknownType, KeyError, TypeError, ValueError, AttributeError) as error:
        raise WrongBodies(f"bodySchema is not an Avro schema: {' '.join(str(error).split())}.") from None
    if not isinstance(schema, dict) or schema.get("type") != "record" or not schema["fields"]:
        raise WrongBodies(
            "bodySchema must be the schema of a record with at least one field. Its fields become columns."
        )
    fields_of(schema)
    return schema


def fields_of(schema: Schema) -> dict[str, pa.DataType]:
    """Return the column type of each field.  Raises WrongBodies for a field without one."""
    kind = _type(schema, {}, str(schema["name"]))
    return {field.name: field.type for field in kind}


def decoded(rows: "DataFrame", schema: Schema, names: Mapping[str, str], malformed: str) -> "DataFrame":
    """Return the rows with a column for each field of their bodies.  `names`: column of each field.

    A body that is no such record is in the column `malformed`.
    """
    kinds = fields_of(schema)
    kept = [field for field in rows.schema.fields if field.name != BODY]
    ddl = [f"`{field.name}` {field.dataType.simpleString()}" for field in kept]
    ddl += [f"`{names[field]}` {_ddl(kind)}" for field, kind in kinds.items()] + [f"`{malformed}` BINARY"]

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            bodies = batch.column(BODY)
            made, is_read = records(bodies.to_pylist(), schema)
            columns = {field.name: batch.column(field.name) for field in kept}
            columns |= {names[field]: column for field, column in zip(kinds, made, strict=True)}
            columns[malformed] = pa.array(
                [None if good else body for body, good in zip(bodies.to_pylist(), is_read, strict=True)], pa.binary()
            )
            yield pa.RecordBatch.from_pydict(columns)

    return rows.mapInArrow(read, ", ".join(ddl))


def records(bodies: list[bytes], schema: Schema) -> tuple[list[pa.Array], list[bool]]:
    """Return a column for each field, null where a body is no such record, and a list of which bodies are valid."""
    from fastavro import parse_schema
    from fastavro.read import LOGICAL_READERS

    LOGICAL_READERS[f"bytes-{DECIMAL}"] = LOGICAL_READERS[f"fixed-{DECIMAL}"] = _exact
    parsed = parse_schema(schema)
    kind = pa.struct(fields_of(schema))
    values = [_decoded(body, parsed) for body in bodies]
    try:
        made = pa.array(values, kind)
    except (pa.ArrowException, OverflowError):  # a value no column of its type can hold
        values = [value if _fits(value, kind) else None for value in values]
        made = pa.array(values, kind)
    return made.flatten(), [
        value is not None for value in values
    ]  # the fields do not contain the nulls of their record


def _decoded(body: bytes, parsed: Any) -> dict[str, object] | None:
    """Return the record in a body, or None if the body is no such record.

    On invalid bodies fastavro raises any error of Python, from EOFError to IndexError.
    """
    from fastavro import schemaless_reader

    source = BytesIO(body)
    try:
        value = schemaless_reader(source, parsed, None)
    except Exception:
        return None
    return value if source.tell() == len(body) and isinstance(value, dict) else None


def _exact(data: bytes, writer_schema: Schema | None = None, reader_schema: Schema | None = None) -> Decimal:
    """Return a decimal of exactly these bytes.  Raises ValueError if it has more digits than its schema allows."""
    assert writer_schema is not None
    unscaled = int.from_bytes(data, "big", signed=True)
    if abs(unscaled) >= 10 ** writer_schema["precision"]:
        raise ValueError(f"{unscaled} has more than {writer_schema['precision']} digits")
    return Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -int(writer_schema.get("scale", 0))))


def _fits(value: Any, kind: pa.DataType) -> bool:
    try:
        pa.array([value], kind)
    except (pa.ArrowException, OverflowError):
        return False
    return True


def _type(schema: Any, known: dict[str, pa.DataType | None], at: str) -> pa.DataType:
    """Return the column type of a schema.

    `known`: named types so far, None for unfinished ones.  `at`: position in the schema, for the sentence.
    """
    if isinstance(schema, list):
        kinds = [kind for kind in schema if kind != "null"]
        if len(kinds) != 1:
            raise WrongBodies(f"{at} is a union of several types. A column can only be a union of null and one type.")
        return _type(kinds[0], known, at)
    name = schema if isinstance(schema, str) else schema["type"]
    if not isinstance(name, str):
        return _type(name, known, at)
    if isinstance(schema, dict) and schema.get("logicalType") == DECIMAL:
        return _decimal(schema, at)
    if isinstance(schema, dict) and schema.get("logicalType") in LOGICAL:
        return LOGICAL[schema["logicalType"]]
    if name in PRIMITIVES:
        return PRIMITIVES[name]
    if isinstance(schema, dict) and name == "array":
        return pa.list_(_type(schema["items"], known, at))
    if isinstance(schema, dict) and name == "map":
        return pa.map_(pa.string(), _type(schema["values"], known, at))
    if isinstance(schema, dict) and name in ("record", "enum", "fixed"):
        return _of_name(schema, known, at)
    if (arrow_type := known.get(name.rpartition(".")[2])) is None:
        raise WrongBodies(f"{at} has the type {name}, which no column can have.")
    return arrow_type


def _of_name(schema: Schema, known: dict[str, pa.DataType | None], at: str) -> pa.DataType:
    name = str(schema["name"]).rpartition(".")[2]
    known[name] = None
    if schema["type"] == "record":
        if not schema["fields"]:
            raise WrongBodies(f"{at} is a record without fields, which no column can have.")
        known[name] = pa.struct(
            [(field["name"], _type(field["type"], known, f"{at}.{field['name']}")) for field in schema["fields"]]
        )
    else:
        known[name] = pa.string() if schema["type"] == "enum" else pa.binary()
    return known[name]


def _decimal(schema: Schema, at: str) -> pa.DataType:
    digits, scale = schema.get("precision"), schema.get("scale", 0)
    if not (isinstance(digits, int) and isinstance(scale, int) and 0 <= scale <= digits and 0 < digits <= MAX_DIGITS):
        raise WrongBodies(
            f"{at} is not a valid decimal: the precision is 1 to {MAX_DIGITS}, and the scale is not larger."
        )
    return pa.decimal128(digits, scale)


def _without_logical(schema: Any) -> Any:
    """Return the schema without the logical types that have no column type; decimals get our own name.

    Otherwise fastavro would return Python values for them.
    """
    if isinstance(schema, list):
        return [_without_logical(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key != "logicalType" or value in LOGICAL}
    if schema.get("logicalType") == "decimal":
        kept["logicalType"] = DECIMAL
    for key in ("type", "items", "values"):
        if key in kept:
            kept[key] = _without_logical(kept[key])
    if isinstance(kept.get("fields"), list):
        kept["fields"] = [_without_logical(field) for field in kept["fields"]]
    return kept


def _ddl(kind: pa.DataType) -> str:
    """Return the name of the type in Spark's DDL."""
    if pa.types.is_list(kind):
        return f"ARRAY<{_ddl(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"MAP<STRING, {_ddl(kind.item_type)}>"
    if pa.types.is_struct(kind):
        return f"STRUCT<{', '.join(f'`{field.name}`: {_ddl(field.type)}' for field in kind)}>"
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    return NAMES[kind]
