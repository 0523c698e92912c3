"""Options and schemas of bodies as columns, and Avro bodies as Arrow arrays."""

import json
from typing import Any

import pyarrow as pa
import pytest

from sandbox.pipeline.sources.avro_bodies import WrongBodies, avro_schema, fields_of, records
from sandbox.pipeline.sources.bodies import Bodies, bodies_of

SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Flight",
    "namespace": "air",
    "fields": [
        {"name": "carrier", "type": {"type": "enum", "name": "Carrier", "symbols": ["UA", "AA"]}},
        {"name": "other", "type": ["null", "Carrier"]},
        {"name": "miles", "type": ["null", "int"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}},
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {
            "name": "stops",
            "type": {
                "type": "array",
                "items": {"type": "record", "name": "Stop", "fields": [{"name": "place", "type": "string"}]},
            },
        },
        {"name": "keys", "type": {"type": "map", "values": "double"}},
    ],
}


def test_a_value_that_no_column_can_hold_is_one_malformed_body() -> None:
    schema = avro_schema(
        json.dumps(
            {
                "type": "record",
                "name": "R",
                "fields": [{"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 3}}],
            }
        )
    )
    wide = b"\x08\x7f\xff\xff\xff"
    [prices], is_read = records([b"\x02\x07", wide, b"\x02\x09"], schema)
    assert (prices.to_pylist(), is_read) == ([7, None, 9], [True, False, True])


def test_types_of_avro_are_types_of_columns() -> None:
    assert fields_of(avro_schema(json.dumps(SCHEMA))) == {
        "carrier": pa.string(),
        "other": pa.string(),
        "miles": pa.int32(),
        "at": pa.timestamp("us", "UTC"),
        "day": pa.date32(),
        "price": pa.decimal128(6, 2),
        "id": pa.string(),
        "stops": pa.list_(pa.struct([("place", pa.string())])),
        "keys": pa.map_(pa.string(), pa.float64()),
    }


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ('"string"', "bodySchema must be the schema of a record with at least one field. Its fields become columns."),
        ("{", "bodySchema is not JSON ("),
        (
            '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "strng"}]}',
            "bodySchema is not an Avro schema: ",
        ),
        (
            '{"type": "record", "name": "R", "fields": [{"name": "a", "type": ["int", "string"]}]}',
            "R.a is a union of several types. A column can only be a union of null and one type.",
        ),
        (
            '{"type": "record", "name": "R", "fields": [{"name": "a", "type": ["null", "R"]}]}',
            "R.a has the type R, which no column can have.",
        ),
        (
            '{"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "array", "items": "null"}}]}',
            "R.a has the type null, which no column can have.",
        ),
        ("[]", "bodySchema must be the schema of a record "),
        (
            '{"type": "record", "name": "R", "fields": [{"name": "a",'
            ' "type": {"type": "bytes", "logicalType": "decimal"}}]}',
            "R.a is not a valid decimal: the precision is 1 to 38, and the scale is not larger.",
        ),
    ],
)
def test_a_schema_that_has_no_columns_is_refused(kind: str, why: str) -> None:
    with pytest.raises(WrongBodies) as said:
        avro_schema(kind)
    assert str(said.value).startswith(why)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"body": "xml"}, "Unknown value --option body=xml. Choose json, variant, avro, text."),
        ({"body": "avro"}, "Avro bodies need a schema. Set --option bodySchema=JSON."),
        (
            {"body": "text", "bodySchema": "a INT"},
            "Text bodies have no columns. Remove bodySchema, or set --option body=json.",
        ),
        ({"bodySchema": "a INT"}, "bodySchema needs the format of bodies. Set --option body=json|variant|avro|text."),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, str], why: str) -> None:
    with pytest.raises(WrongBodies) as said:
        bodies_of(options)
    assert str(said.value) == why
    assert bodies_of({}) is None
    assert bodies_of({"body": "json"}) == Bodies("json")
