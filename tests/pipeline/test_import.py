"""Import: exported files are restored exactly, other files by options, and bad rows are refused."""

import base64
import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from sandbox.pipeline.sinks.rows import SET_BY_OTHERS
from sandbox.pipeline.sources.records import rows_of
from tests.pipeline.broker_process import broker_with
from tests.pipeline.conftest import Run
from tests.pipeline.store_reads import written
from tests.server.test_headless_broker import free_ports
from tests.unit.store.stores import Stores, message

pytestmark = pytest.mark.pipeline

Said = tuple[bytes, str, str, tuple[tuple[str, str], ...]]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """An address, and the store behind it; topics In, Csv, Parquet, Ndjson, Again."""
    home = tmp_path_factory.mktemp("broker")
    with broker_with(dict.fromkeys(("In", "Csv", "Parquet", "Ndjson", "Again"), 2), home) as address:
        yield address, home / "store"


def said(row: dict[str, Any]) -> Said:
    """The application's part of a message: body, keys, tags and its own properties."""
    pairs = sorted((key, value) for key, value in dict(row["properties"]).items() if key not in SET_BY_OTHERS)
    return row["body"], row["keys"] or "", row["tags"] or "", tuple(pairs)


def stored(store: Path, topic: str) -> Counter[Said]:
    return Counter(said(row) for batch in rows_of(store) for row in batch.to_pylist() if row["topic"] == topic)


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A store of messages that a careless format would spoil."""
    stores = Stores()
    store = stores.opened()
    bodies = [b"plain", b'"quoted", and\nmore', bytes(range(256)), "价格 €".encode(), b"\\", b"same", b"same"]
    for number, body in enumerate(bodies):
        stores.put(
            store,
            message(
                number,
                body=body,
                queue_id=number % 2,
                KEYS=("a b", "", 'k"1,')[number % 3],
                TAGS=("red", "", "标签")[number % 3],
                region='eu "1", a\\b',
                näme="值\n2",
            ),
        )
    store.close()
    return written(stores.sim_disk.image(), tmp_path / "odd")


@pytest.mark.parametrize(("kind", "topic"), [("ndjson", "Ndjson"), ("csv", "Csv"), ("parquet", "Parquet")])
def test_what_was_exported_and_imported_is_exported_again_as_it_was(
    run: Run, odd: Path, broker: tuple[str, Path], tmp_path: Path, kind: str, topic: str
) -> None:
    address, store = broker
    run("export", store=odd, format=kind, topic="orders", out=tmp_path / "first")
    [messages] = (tmp_path / "first").glob("run-*/messages")
    *_, last = run("import", format=kind, path=str(messages), names=address, topic=topic)
    before = stored(odd, "orders")
    assert last["state"] == "done", last
    assert stored(store, topic) == before
    [table] = (tmp_path / "out").glob("run-*/sent")
    [row] = pyarrow.parquet.read_table(table).to_pylist()
    assert (row["topic"], row["rows"]) == (topic, before.total())
    run("export", store=store, format=kind, topic=topic, out=tmp_path / "second")
    assert Counter(map(said, exported(tmp_path / "second", kind))) == before


def exported(out: Path, kind: str) -> list[dict[str, Any]]:
    """Read with what other people have."""
    [table] = out.glob("run-*/messages")
    if kind == "parquet":
        return list(pyarrow.parquet.read_table(table).to_pylist())
    rows: list[dict[str, Any]] = []
    for path in sorted(table.glob("part-*")):
        with path.open(encoding="utf-8", newline="") as lines:
            found = list(csv.DictReader(lines)) if kind == "csv" else [json.loads(line) for line in lines]
        for row in found:
            pairs = json.loads(row["properties"] or "{}") if kind == "csv" else row["properties"]
            rows.append({**row, "body": base64.b64decode(row["body"]), "properties": pairs})
    return rows


def test_options_map_the_columns_of_a_foreign_file(run: Run, broker: tuple[str, Path], tmp_path: Path) -> None:
    address, store = broker
    path = tmp_path / "flights.csv"
    path.write_text('tail,carrier,text\nN1,UA,"on ""time"", they say"\nN2,AA,"two\nlines"\nN3,,ü\n', encoding="utf-8")
    *_, last = run(
        "import",
        format="csv",
        path=str(path),
        names=address,
        topic="In",
        body="text",
        keys="tail",
        tags="carrier",
        body_as="text",
    )
    assert (last["state"], last.get("why")) == ("done", None)
    assert stored(store, "In") == Counter(
        [(b'on "time", they say', "N1", "UA", ()), (b"two\nlines", "N2", "AA", ()), ("ü".encode(), "N3", "", ())]
    )


def test_an_import_that_is_run_again_under_its_name_sends_nothing_twice(
    run: Run, broker: tuple[str, Path], tmp_path: Path
) -> None:
    address, store = broker
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"body": [b"a", b"b", b"b"], "keys": ["1", "2", "2"]}), path)
    for _ in range(2):
        *_, last = run("import", format="parquet", path=str(path), names=address, topic="Again", run="r1")
        assert last["state"] == "done", last
    assert stored(store, "Again") == Counter([(b"a", "1", "", ()), (b"b", "2", "", ()), (b"b", "2", "", ())])


GOOD = json.dumps({"body": "YQ==", "keys": "k"})
BAD_ROWS = [
    ("ndjson", [GOOD, "{no json", GOOD], {}, "Row 2 of {path}: it is not a JSON object. Nothing was sent."),
    (
        "ndjson",
        [GOOD, GOOD, '{"keys": "k"}'],
        {},
        "Row 3 of {path}: it has no body for the body. Nothing was sent.",
    ),
    (
        "ndjson",
        [GOOD, '{"body": "no base64!"}'],
        {},
        "Row 2 of {path}: body is not base64; set --option body_as=text for plain text. Nothing was sent.",
    ),
    (
        "ndjson",
        [GOOD, GOOD, '{"body": ""}'],
        {},
        "Row 3 of {path}: body is empty, and brokers refuse a message without a body. Nothing was sent.",
    ),
    (
        "csv",
        ["body,properties", "YQ==,", 'YQ==,"{"'],
        {},
        "Row 2 of {path}: properties is not a JSON object of names and values. Nothing was sent.",
    ),
    (
        "csv",
        ["body,keys", "YQ==,k", "YQ=="],
        {},
        "Row 2 of {path}: its number of columns differs from the header. Nothing was sent.",
    ),
    ("csv", ["text,keys", "a,k"], {}, "{path} has no column body for the body. Columns are: text, keys."),
]


@pytest.mark.parametrize(("kind", "lines", "options", "why"), BAD_ROWS)
def test_a_row_that_is_none_is_named_and_nothing_is_sent(
    run: Run, broker: tuple[str, Path], tmp_path: Path, kind: str, lines: list[str], options: dict[str, str], why: str
) -> None:
    address, store = broker
    before = stored(store, "In")
    path = tmp_path / "rows"
    path.write_text("\n".join(lines) + "\n")
    *_, last = run("import", format=kind, path=str(path), names=address, topic="In", **options)
    assert (last["state"], last["why"]) == ("failed", why.format(path=path))
    assert stored(store, "In") == before


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "Choose the rows to send: --option path=FILE, or a directory of files."),
        ({"path": "/nowhere/at.all"}, "No file /nowhere/at.all."),
        ({"path": __file__, "body_as": "hex"}, "Unknown value --body_as hex. Choose base64, text."),
        ({"path": __file__}, "The option names is missing. Set it to the name servers, such as 127.0.0.1:9876."),
    ],
)
def test_a_wrong_wish_is_answered_with_what_would_be_right(run: Run, options: dict[str, str], why: str) -> None:
    *_, last = run("import", format="ndjson", topic="In", **options)
    assert (last["state"], last["why"]) == ("failed", why)


def test_a_broker_that_is_away_is_said_and_how_to_go_on(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(GOOD + "\n")
    *_, last = run("import", format="ndjson", path=str(path), names=f"127.0.0.1:{free_ports()}", topic="In", run="r2")
    assert last["why"].startswith("No name server answers at 127.0.0.1:")
    assert last["why"].endswith(
        "Some rows may have been sent. With --option run=r2 the same import sends only the others."
    )
