"""Bodies as columns: what reads as JSON, Avro or text is typed, all else is kept whole, and counted."""

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pytest

from sandbox.message.compression import ZLIB_FLAGS, compress
from sandbox.pipeline.runs.results import manifest_of
from tests.pipeline.audits import table
from tests.pipeline.conftest import Reports, Run
from tests.pipeline.store_reads import written
from tests.pipeline.without_spark.test_bodies_decoded import SCHEMA
from tests.unit.store.stores import Stores, message

pytestmark = pytest.mark.pipeline


def store_of(root: Path, bodies: list[bytes]) -> Path:
    """One message a body, in order; the first one compressed."""
    stores = Stores()
    store = stores.opened()
    for number, body in enumerate(bodies):
        flags, content = (0, body) if number else (ZLIB_FLAGS, compress(body))
        stores.put(store, message(number, body=content, flags=flags))
    store.close()
    return written(stores.sim_disk.image(), root)


def exported(run: Run, tmp_path: Path, bodies: list[bytes], **options: str) -> tuple[Reports, list[dict[str, Any]]]:
    reported = run("export", store=store_of(tmp_path / "store", bodies), format="parquet", **options)
    assert reported[-1]["state"] == "done", reported[-1]
    return reported, sorted(table(tmp_path / "out", "messages"), key=lambda row: int(row["queueOffset"]))


ODD = [
    b'{"miles": 1}x',
    b'[{"miles": 1}]',
    b"",
    b"null",
    b"7",
    b'{"miles": "\xff"}',
    b'{"miles": 1}\n{"miles": 2}',
    b"{'miles': 1}",
    b'{"miles": 1}, "x": 2',
    b'{"miles": 1}}',
    b'{"miles": 1}], "x": [2',
]


def test_json_bodies_become_the_columns_that_they_have(run: Run, tmp_path: Path) -> None:
    good = [
        b'{"carrier": "UA", "miles": 1400, "delay": {"a.b c": 2.5}, "keys": ["a"]}',
        b' {"carrier": null} ',
        b'{"gate, if": 1}',
    ]
    (*_, last), rows = exported(run, tmp_path, [*good, *ODD], body="json")
    assert last["malformed"] == {"messages": len(ODD)}
    found = manifest_of(tmp_path / "out")
    assert found is not None
    assert (found.tables["messages"].rows, found.tables["messages"].malformed) == (3 + len(ODD), len(ODD))
    assert list(rows[0])[-6:] == ["carrier", "delay", "gate, if", "body_keys", "miles", "_malformed"]
    first = rows[0]
    assert [first[name] for name in ("carrier", "miles", "delay", "keys", "body_keys")] == [
        "UA",
        1400,
        {"a.b c": 2.5},
        "k0",
        ["a"],
    ]
    assert [row["carrier"] for row in rows[1:]] == [None] * (2 + len(ODD))
    assert [row["miles"] for row in rows[1:]] == [None] * (2 + len(ODD))
    assert [row["_malformed"] for row in rows] == [None] * 3 + ODD


def test_columns_that_are_named_are_read_as_that_or_not_at_all(run: Run, tmp_path: Path) -> None:
    bodies = [b'{"miles": 7, "carrier": "UA"}', b'{"miles": "far", "carrier": "UA"}', b'{"miles": 1.5}', b"{}"]
    (*_, last), rows = exported(run, tmp_path, bodies, body="json", bodySchema="carrier STRING, miles INT NOT NULL")
    assert last["malformed"] == {"messages": 2}
    assert [(row["carrier"], row["miles"], row["_malformed"]) for row in rows] == [
        ("UA", 7, None),
        (None, None, bodies[1]),
        (None, None, bodies[2]),
        (None, None, None),
    ]


def test_variant_bodies_are_any_json_value_that_a_query_takes_apart(run: Run, tmp_path: Path) -> None:
    values = [b'{"carrier": "UA", "miles": 1400}', b"[7]", b"null", b' "x" ']
    bad = [b"", b"{", b'{"a": 1} x', b'{"a": 1}, "x": 2', b'{"a": 1}}', b'{"a": 1}], "x": [2', b"'x'", b"\xff", b"NaN"]
    store = store_of(tmp_path / "store", [*values, *bad])
    query = (
        "select queueOffset o, to_json(body) body, body:carrier::string carrier, body:miles::int miles, _malformed bad "
        "from messages order by o"
    )
    *_, last = run("sql", store=store, query=query, body="variant")
    assert last["state"] == "done", last
    rows = table(tmp_path / "out", "result")
    assert [row["body"] for row in rows] == ['{"carrier":"UA","miles":1400}', "[7]", "null", '"x"'] + [None] * len(bad)
    assert [row["bad"] for row in rows] == [None] * 4 + bad
    assert (rows[0]["carrier"], rows[0]["miles"]) == ("UA", 1400)


def test_text_bodies_are_text_where_they_are_utf8(run: Run, tmp_path: Path) -> None:
    (*_, last), rows = exported(run, tmp_path, ["价格 €".encode(), b"\xff", b""], body="text")
    assert last["malformed"] == {"messages": 1}
    assert [(row["body"], row["_malformed"]) for row in rows] == [("价格 €", None), (None, b"\xff"), ("", None)]


FLIGHT = {
    "carrier": "UA",
    "other": None,
    "miles": 1400,
    "at": datetime(2013, 1, 1, 5, tzinfo=UTC),
    "day": date(2013, 1, 1),
    "price": Decimal("99.50"),
    "id": "7",
    "stops": [{"place": "ORD"}],
    "keys": {"a": 0.5},
}


def avro(schema: dict[str, Any], value: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def test_avro_bodies_become_the_columns_of_their_schema(run: Run, tmp_path: Path) -> None:
    body = avro(SCHEMA, FLIGHT)
    bodies = [body, body[:-1], body + b"x", b"", b"{}"]
    (*_, last), rows = exported(run, tmp_path, bodies, body="avro", bodySchema=json.dumps(SCHEMA))
    assert last["malformed"] == {"messages": 4}
    first = rows[0]
    assert {name: first[f"body_{name}" if name == "keys" else name] for name in FLIGHT} == {
        **FLIGHT,
        "keys": [("a", 0.5)],
    }
    assert [row["_malformed"] for row in rows] == [None, *bodies[1:]]
    assert {row["carrier"] for row in rows[1:]} == {None}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (
            "",
            "None of the first 10000 bodies is a JSON object with a field. Name the columns with --option ",
        ),
        ("a INT,", "Line 1, character 7 of bodySchema: Syntax error at "),
        ("a INT, A INT", "Bodies have two fields for the column a. Name one of them in bodySchema."),
    ],
)
def test_columns_that_cannot_be_are_said(run: Run, tmp_path: Path, schema: str, why: str) -> None:
    *_, last = run("export", store=store_of(tmp_path / "store", [b"7", b"[]"]), body="json", bodySchema=schema)
    assert last["why"].startswith(why)
