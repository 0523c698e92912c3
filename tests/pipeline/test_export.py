"""Export: a store as files any other tool reads, and what stands in the way said in one sentence."""

import base64
import csv
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow.parquet
import pytest

from sandbox.message.compression import ZLIB_FLAGS, compress, decompress
from sandbox.pipeline.jobs.all_jobs import JOBS
from sandbox.pipeline.runs.results import NAME, manifest_of
from sandbox.pipeline.sources.records import SCHEMA, rows_of
from sandbox.store.reader import StoreReader
from tests.golden.golden_stores import rows
from tests.pipeline.conftest import Run
from tests.pipeline.store_reads import written
from tests.unit.store.stores import Stores, message

pytestmark = pytest.mark.pipeline


def lines(out: Path, ending: str) -> list[str]:
    [table] = out.glob("run-*/messages")
    return [line for path in sorted(table.glob(f"*.{ending}")) for line in path.read_text("utf-8").splitlines()]


def test_ndjson_has_a_line_a_message_with_all_columns_and_the_body_as_base64(
    run: Run, golden: Path, tmp_path: Path
) -> None:
    *_, last = run("export", store=golden, format="ndjson")
    assert (last["state"], last["tables"]) == ("done", {"messages": 153})
    found = [json.loads(line) for line in lines(tmp_path / "out", "json")]
    assert [list(row) for row in found] == [SCHEMA.names] * 153
    client = {(row["topic"], row["queueId"], row["queueOffset"]): row for row in rows("messages")}
    for row in found:
        read = client.get((row["topic"], row["queueId"], row["queueOffset"]))
        if read is not None and read.get("body") is not None:
            assert base64.b64decode(row["body"]) == base64.b64decode(read["body"])
            assert row["properties"] == read["properties"]


EVERY_BYTE = bytes(range(256))
BODIES = [
    b"x",
    *(EVERY_BYTE[:length] for length in (56, 57, 58, 114, 115)),
    EVERY_BYTE * 6,
    "价格 €".encode(),
    b'"a",\r\n b ',
    b"",
]
PACKED = [EVERY_BYTE * 20, b"\0" * 50_000]
ODD_KEYS = (" a b ", 'k"1,', "line\rend", "two\nlines", "back\\slash", "plain", "值", "\ttab", "'", "empty")


def exact_store(root: Path) -> Path:
    """Messages that a careless format would spoil: those of `BODIES`, then the compressed ones."""
    stores = Stores()
    store = stores.opened()
    for number, (body, keys) in enumerate(zip(BODIES, ODD_KEYS, strict=True)):
        stores.put(store, message(number, body=body, KEYS=keys, region=keys))
    for number, body in enumerate(PACKED, len(BODIES)):
        stores.put(store, message(number, body=compress(body), flags=ZLIB_FLAGS))
    store.close()
    return written(stores.sim_disk.image(), root)


Row = tuple[int, bytes, str, dict[str, str]]


def by_python(path: Path, kind: str) -> list[Row]:
    """The strict decoder of the standard library."""
    with path.open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file)) if kind == "csv" else [json.loads(line) for line in file]
    return [
        (
            int(row["queueOffset"]),
            base64.b64decode(row["body"], validate=True),
            row["keys"],
            json.loads(row["properties"]) if kind == "csv" else row["properties"],
        )
        for row in found
    ]


def by_jq(path: Path, kind: str) -> list[Row]:
    """Decode with jq, whose output is text: bodies that are not UTF-8 stay encoded."""
    asked = "[.queueOffset, .body, .keys, .properties, (.body | @base64d)]"
    done = subprocess.run(["jq", "-c", asked, path], check=True, capture_output=True)
    rows: list[Row] = []
    for offset, encoded, keys, properties, text in map(json.loads, done.stdout.splitlines()):
        body = base64.b64decode(encoded, validate=True)
        rows.append((offset, body if "\ufffd" in text else text.encode(), keys, properties))
    return rows


def by_duckdb(path: Path, kind: str) -> list[Row]:
    read = (
        "read_csv(?, header = true, all_varchar = true, allow_quoted_nulls = false)"
        if kind == "csv"
        else "read_json(?, columns = {queueOffset: 'BIGINT', body: 'VARCHAR', keys: 'VARCHAR', properties: 'JSON'})"
    )
    found = duckdb.sql(
        f"SELECT queueOffset::BIGINT, from_base64(body), keys, properties FROM {read} ORDER BY 1", params=[str(path)]
    ).fetchall()
    return [(offset, body, keys, json.loads(properties)) for offset, body, keys, properties in found]


READERS: dict[str, list[Callable[[Path, str], list[Row]]]] = {
    "ndjson": [by_python, by_duckdb, *([by_jq] if shutil.which("jq") else [])],
    "csv": [by_python, by_duckdb],
}


@pytest.mark.parametrize("kind", READERS)
def test_whatever_reads_the_files_finds_every_byte_of_the_store(run: Run, tmp_path: Path, kind: str) -> None:
    root = exact_store(tmp_path / "store")
    *_, last = run("export", store=root, format=kind, topic="orders")
    assert last["state"] == "done", last
    [path] = (tmp_path / "out").glob("run-*/messages/part-*")
    with StoreReader(root) as reader:
        stored = [
            (one.queue_offset, decompress(one.body, one.sys_flag), one.properties["KEYS"], one.properties)
            for one in reader.records()
        ]
    assert [body for _, body, *_ in stored] == [*BODIES, *PACKED]
    for read in READERS[kind]:
        assert read(path, kind) == stored, read.__name__


def test_csv_and_parquet_hold_the_same_messages(run: Run, golden: Path, tmp_path: Path) -> None:
    run("export", store=golden, format="parquet", topic="GoldenOrder")
    [table] = (tmp_path / "out").glob("run-*/messages")
    found = pyarrow.parquet.read_table(table).to_pylist()
    assert found == [row for batch in rows_of(golden) for row in batch.to_pylist() if row["topic"] == "GoldenOrder"]
    run("export", store=golden, format="csv", topic="GoldenOrder", out=tmp_path / "csv")
    reported = list(csv.DictReader(lines(tmp_path / "csv", "csv")))
    assert [row["queueOffset"] for row in reported] == [str(row["queueOffset"]) for row in found]


def test_several_stores_are_one_table_with_their_names_first(run: Run, golden: Path, tmp_path: Path) -> None:
    *_, last = run("export", stores={"s-1/broker-a": golden, "s-2/broker-a": golden}, topic="GoldenOrder")
    found = [json.loads(line) for line in lines(tmp_path / "out", "json")]
    assert [list(row) for row in found] == [["store", *SCHEMA.names]] * last["tables"]["messages"]
    ones, twos = ([{**row, "store": ""} for row in found if row["store"] == f"s-{n}/broker-a"] for n in (1, 2))
    assert len(ones) == len(found) / 2
    assert sorted(ones, key=str) == sorted(twos, key=str)
    *_, last = run("export", out=tmp_path / "none")
    assert last["why"] == "No store to export. Choose one with --store, or a sandbox with stored messages."


@pytest.mark.parametrize(
    ("job", "options", "why"),
    [
        ("exprot", {}, f"No job exprot. Jobs are: {', '.join(sorted(JOBS))}."),
        ("export", {"format": "xml"}, "Unknown value --format xml. Choose ndjson, csv, parquet, iceberg."),
        (
            "export",
            {"colour": "red"},
            "export has no option colour. Options are: format, topic, "
            "queueId, failOnDataLoss, body, bodySchema, append, "
            "partition_by.",
        ),
    ],
)
def test_a_wrong_wish_is_answered_with_what_would_be_right(
    run: Run, golden: Path, job: str, options: dict[str, str], why: str
) -> None:
    [*_, last] = run(job, store=golden, **options)
    assert (last["state"], last["why"]) == ("failed", why)


def test_a_missing_store_ends_in_a_sentence_and_leaves_the_last_good_result(
    run: Run, golden: Path, tmp_path: Path
) -> None:
    run("export", store=golden, topic="GoldenOrder")
    out = tmp_path / "out"
    before = manifest_of(out)
    *_, last = run("export", store=tmp_path / "nowhere")
    assert last["why"].startswith(f"{tmp_path}/nowhere is not a store: it has no directory commitlog.")
    assert manifest_of(out) == before
    assert sorted(path.name for path in out.iterdir()) == sorted([NAME, f"run-{before.run if before else ''}"])
