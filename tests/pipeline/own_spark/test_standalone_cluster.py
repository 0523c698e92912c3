"""Jobs on a standalone cluster that knows nothing of us, and whose executors are killed at work: results are whole."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.pipeline.runs.launch import Child, Order, Where
from sandbox.store.disk import FileDisk
from tests.pipeline.audits import rows_of_tables, table
from tests.pipeline.broker_process import broker_with
from tests.pipeline.executor_kills import Moment, Sparks
from tests.pipeline.growing import sealed_and_appended
from tests.pipeline.sealed_reads import rows_alone, rows_through
from tests.pipeline.standalone import Executor, standalone
from tests.pipeline.test_import import stored
from tests.pipeline.test_lag_history import TABLES, expected, in_order
from tests.pipeline.test_rebalance_history import hung
from tests.pipeline.worlds import Recorded
from tests.server.server import until
from tests.unit.store.stores import Stores, message

pytestmark = pytest.mark.pipeline

FILE_BYTES, FILES, BODY_BYTES = 16 << 20, 5, 8 << 10  # of a log; the last one is not full
Start = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def sparks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sparks]:
    home = tmp_path_factory.mktemp("sparks")
    with (
        standalone(home / "cluster") as cluster,
        (home / "words").open("wb") as errors,
        Child(Where(cluster.address), home / "spark", os.environ, errors=errors) as child,
    ):
        yield Sparks(cluster, child, home / "words")


@pytest.fixture
def on_cluster(sparks: Sparks, tmp_path: Path) -> Start:
    """Runs a job into `tmp_path / "out"`; with a moment into `killed`, and kills an executor then."""

    def start(
        job: str,
        *,
        moment: Moment | None = None,
        stores: dict[str, Path] | None = None,
        journals: dict[str, str] | None = None,
        sealed: dict[str, Path] | None = None,
        **options: str,
    ) -> dict[str, Any]:
        out = tmp_path / ("out" if moment is None else "killed")
        order = Order(
            f"{tmp_path.name}-{out.name}",
            job,
            {key: str(root) for key, root in (stores or {}).items()},
            journals or {},
            str(out),
            options,
            {key: str(path) for key, path in (sealed or {}).items()},
        )
        last = sparks.run(order) if moment is None else sparks.run_killed(order, moment)
        assert last["state"] == "done", last
        until(lambda: not list(out.glob(".kept-*")), what="what it kept is removed")
        return last

    return start


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store of several log files, each of which is a task's work."""
    root = tmp_path_factory.mktemp("large") / "store"
    stores = Stores(
        FileDisk(root),
        commit_log_file_bytes=FILE_BYTES,
        consume_queue_file_entries=2_000,
        index_slots=1_000,
        index_entries=20_000,
        max_message_bytes=BODY_BYTES,
        memory_bytes=1 << 28,
    )
    store = stores.opened()
    body = bytes(range(256)) * (BODY_BYTES // 256)
    for number in range(FILE_BYTES * FILES // (BODY_BYTES + 200)):
        stores.put(store, message(number, queue_id=number % 4, body=body, KEYS=f"k{number % 50}"))
    store.close()
    return root


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def assert_alike(home: Path) -> None:
    """The tables of the quiet run have rows, and are those of the run whose executor was killed."""
    assert any(rows_of_tables(home / "out").values())
    assert rows_of_tables(home / "killed") == rows_of_tables(home / "out")


def files_of(out: Path) -> list[tuple[str, bytes]]:
    """Number and content of the files of messages; nothing else may lie beside them."""
    [directory] = out.glob("run-*/messages")
    return sorted(
        (file.name.partition("-")[2][:5], file.read_bytes()) for file in directory.iterdir() if file.name != "_SUCCESS"
    )


def test_executors_seal_make_columns_of_bodies_and_append_with_our_code_sent_to_them(
    sparks: Sparks, tmp_path: Path
) -> None:
    alone = subprocess.run(
        [sys.executable, "-c", "import sandbox"],
        cwd=sparks.cluster.home,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"]},
        check=False,
    )
    assert "No module named 'sandbox'" in alone.stderr, "what executors know without us"
    sealed_and_appended(sparks.child, tmp_path)


def test_an_export_has_each_message_once(on_cluster: Start, large: Path, tmp_path: Path) -> None:
    """It is killed while it writes a file."""
    last = on_cluster(
        "export",
        stores={"s": large},
        format="ndjson",
        moment=lambda _: any((tmp_path / "killed").glob("run-*/messages/_temporary/0/_temporary/*/part-*")),
    )
    quiet = on_cluster("export", stores={"s": large}, format="ndjson")
    assert last["tables"] == quiet["tables"]
    assert last["tables"]["messages"] > 0
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "out")


@pytest.mark.wide
def test_sealed_files_are_whole_and_no_draft_is_left(on_cluster: Start, large: Path, tmp_path: Path) -> None:
    """It is killed while its worker has written a part of a file."""
    directory = tmp_path / "sealed"

    def writes(executor: Executor) -> bool:
        workers = [int(draft.name.rpartition(".")[2]) for draft in directory.glob(".*.parquet.*")]
        try:
            return any(parent(parent(worker)) == executor.process for worker in workers)
        except FileNotFoundError:  # it has ended
            return False

    on_cluster("seal", stores={"s": large}, sealed={"s": directory}, moment=writes)
    on_cluster("seal", stores={"s": large}, sealed={"s": tmp_path / "quiet"})
    assert_alike(tmp_path)
    assert {row["state"] for row in table(tmp_path / "killed", "sealed")} == {"sealed"}
    files, expected_files = (
        {file.name: file.read_bytes() for file in path.iterdir()} for path in (directory, tmp_path / "quiet")
    )
    assert files.keys() == expected_files.keys()
    assert files == expected_files
    assert rows_through(large, directory) == rows_alone(large)


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A sandbox one of whose members hung."""
    return hung(tmp_path_factory.mktemp("hung"))


@pytest.mark.wide
def test_what_an_audit_keeps_between_its_stages_outlives_the_executor(
    on_cluster: Start, troubled: Recorded, tmp_path: Path
) -> None:
    """It is killed when the first table is written, and others are to come."""
    given: dict[str, Any] = {
        "journals": {"s": str(troubled.journal)},
        "stores": {f"s/{node}": root for node, root in troubled.stores.items()},
    }
    on_cluster("delivery_audit", **given, moment=lambda _: any((tmp_path / "killed").glob("run-*/*/_SUCCESS")))
    on_cluster("delivery_audit", **given)
    assert_alike(tmp_path)


@pytest.mark.wide
def test_a_history_has_each_second_once(on_cluster: Start, troubled: Recorded, tmp_path: Path) -> None:
    journals = {"s": str(troubled.journal)}
    on_cluster("lag_history", journals=journals, moment=lambda _: True)
    wanted = expected(journals)
    for name in TABLES:
        assert in_order(table(tmp_path / "killed", name)) == in_order(wanted[name])


@pytest.mark.wide
def test_an_import_sends_each_row_once(on_cluster: Start, tmp_path: Path) -> None:
    """It is killed when some of the rows are in the topic."""
    path, count, store = tmp_path / "rows.ndjson", 10_000, tmp_path / "store"
    path.write_text(
        "".join(json.dumps({"body": f"{number:06}", "keys": f"k{number}"}) + "\n" for number in range(count))
    )
    with broker_with({"In": 2}, tmp_path) as address:
        last = on_cluster(
            "import",
            format="ndjson",
            path=str(path),
            names=address,
            topic="In",
            body_as="text",
            moment=lambda _: stored(store, "In").total() > 0,
        )
    assert last["tables"] == {"sent": 1}
    assert stored(store, "In") == Counter((f"{number:06}".encode(), f"k{number}", "", ()) for number in range(count))
    assert [row["rows"] for row in table(tmp_path / "killed", "sent")] == [count]
