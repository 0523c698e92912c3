"""`manage.py pipeline` prints what it found out, and keeps what Spark said of a run that failed."""

from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from django.core.management import CommandError, call_command

from queueviz.management.commands import pipeline
from queueviz.runs.printed import lines_of
from sandbox.pipeline.launch import Order
from sandbox.pipeline.results import Manifest, Table, publish

ROWS = [{"kind": "crc" * n * 10, "queue_offset": n, "says": "body\nis " + "x" * n * 40} for n in range(3)]


def result(out: Path) -> Table:
    path = out / "run-1" / "findings"
    path.mkdir(parents=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), path / "part-0.parquet")
    table = Table("run-1/findings", len(ROWS))
    publish(out, Manifest("store_audit", "1", {"findings": table}, {}, 0, {}))
    return table


def test_a_table_is_printed_as_columns_with_its_first_rows(tmp_path: Path) -> None:
    table = result(tmp_path)
    assert list(lines_of(tmp_path, "findings", table, 2)) == [
        f"kind{' ' * 26}  queue_offset  says",
        f"{' ' * 30}  0             body·is",
        f"{'crc' * 10}  1             body·is {'x' * 40}",
        f"findings: 3 rows, 2 of them shown (--show 3 shows all), in {tmp_path}"]
    [*_, third, last] = lines_of(tmp_path, "findings", table, 20)
    assert third == f"{'crc' * 20}  2             body·is {'x' * 80}", "a sentence is not cut"
    assert last == f"findings: 3 rows, in {tmp_path}"
    assert list(lines_of(tmp_path, "findings", table, 0)) == [last]


class Child:
    """Says one thing of its run."""

    said: dict[str, Any] = {}
    words = b""
    exit_code = 0
    orders: list[Order] = []

    def __init__(self, where: object, home: Path, environment: object, *, errors: Any, reads_few: bool) -> None:
        errors.write(self.words)
        errors.flush()

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def order(self, order: Order) -> None:
        Child.orders.append(order)
        if self.said["state"] == "done":
            result(Path(order.out))

    def reports(self) -> list[dict[str, Any]]:
        return [self.said]


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any) -> Path:
    settings.QUEUEVIZ_HOME = tmp_path
    monkeypatch.setattr(pipeline, "Child", Child)
    return tmp_path


def test_the_command_prints_the_answer(home: Path, monkeypatch: pytest.MonkeyPatch,
                                       capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(Child, "said", {"state": "done", "tables": {"findings": 3}})
    monkeypatch.setattr(Child, "words", b"WARN many\n")
    call_command("pipeline", "store_audit", "--store", str(home), "--show", "1")
    out = home / "pipeline" / "store_audit" / home.name
    assert capsys.readouterr().out.splitlines() == [
        "kind  queue_offset  says", "      0             body·is",
        f"findings: 3 rows, 1 of them shown (--show 3 shows all), in {out}"]
    assert list((home / "pipeline" / ".spark").iterdir()) == []


@pytest.mark.parametrize("words", [b"", b"ERROR Executor: lost\n"])
def test_what_spark_said_of_a_run_that_failed_is_kept(home: Path, monkeypatch: pytest.MonkeyPatch,
                                                      words: bytes) -> None:
    monkeypatch.setattr(Child, "said", {"state": "failed", "why": "It broke."})
    monkeypatch.setattr(Child, "words", words)
    with pytest.raises(CommandError) as said:
        call_command("pipeline", "store_audit", "--store", str(home))
    logs = list((home / "pipeline" / ".spark").iterdir())
    assert [log.read_bytes() for log in logs] == ([words] if words else [])
    assert str(said.value) == "It broke." + (f" What Spark said is in {logs[0]}." if words else "")


def test_of_a_sentence_of_ours_nothing_is_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Child, "said", {"state": "failed", "why": "There is no table a.", "is_ours": True})
    monkeypatch.setattr(Child, "words", b"WARN many\n")
    with pytest.raises(CommandError, match=r"^There is no table a\.$"):
        call_command("pipeline", "sql", "select * from a", "--store", str(home))
    assert list((home / "pipeline" / ".spark").iterdir()) == []


def test_sealed_files_go_where_it_is_told_and_never_into_the_store(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Child, "said", {"state": "done", "tables": {"findings": 3}})
    monkeypatch.setattr(Child, "orders", [])
    store = home / "broker-a"
    call_command("pipeline", "seal", "--store", str(store), "--sealed", str(home / "files"), "--out", str(home / "o"))
    call_command("pipeline", "seal", "--store", str(store))
    told, default = (order.sealed["broker-a"] for order in Child.orders)
    assert told == str(home / "files")
    assert Path(default).parent == home / "pipeline" / "seal" / "broker-a" / "files"
    for inside in (store, store / "sealed"):
        with pytest.raises(CommandError, match="lies in the store: its broker owns that"):
            call_command("pipeline", "seal", "--store", str(store), "--sealed", str(inside))
    with pytest.raises(CommandError, match="--sealed is of --store"):
        call_command("pipeline", "import", "--sealed", str(home / "files"))
