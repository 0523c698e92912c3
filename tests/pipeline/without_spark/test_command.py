"""`manage.py pipeline` without Spark: what it reads, refuses and prints, and what it keeps of a run that failed."""

import re
from pathlib import Path
from typing import Any

import orjson
import pyarrow
import pyarrow.parquet
import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command

from queueviz.management.commands.pipeline import options_of, source_of
from queueviz.models import Course
from queueviz.runs import command_run
from queueviz.runs.last_results import directories_of
from queueviz.runs.text_tables import lines_of
from sandbox.pipeline.runs.launch import Order
from sandbox.pipeline.runs.results import Manifest, Table, publish

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
        f"findings: 3 rows, 2 of them shown (--show 3 shows all), in {tmp_path}",
    ]
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
    monkeypatch.setattr(command_run, "Child", Child)
    return tmp_path


def test_the_command_prints_the_answer(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Child, "said", {"state": "done", "tables": {"findings": 3}})
    monkeypatch.setattr(Child, "words", b"WARN many\n")
    call_command("pipeline", "store_audit", "--store", str(home), "--show", "1")
    out = home / "pipeline" / "store_audit" / home.name
    assert capsys.readouterr().out.splitlines() == [
        "kind  queue_offset  says",
        "      0             body·is",
        f"findings: 3 rows, 1 of them shown (--show 3 shows all), in {out}",
    ]
    assert list((home / "pipeline" / ".spark").iterdir()) == []


@pytest.mark.parametrize("words", [b"", b"ERROR Executor: lost\n"])
def test_what_spark_said_of_a_run_that_failed_is_kept(
    home: Path, monkeypatch: pytest.MonkeyPatch, words: bytes
) -> None:
    monkeypatch.setattr(Child, "said", {"state": "failed", "why": "It broke."})
    monkeypatch.setattr(Child, "words", words)
    with pytest.raises(CommandError) as said:
        call_command("pipeline", "store_audit", "--store", str(home))
    logs = list((home / "pipeline" / ".spark").iterdir())
    assert [log.read_bytes() for log in logs] == ([words] if words else [])
    assert str(said.value) == "It broke." + (f" Spark's output is in {logs[0]}." if words else "")


def test_of_a_sentence_of_ours_nothing_is_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Child, "said", {"state": "failed", "why": "No table a.", "is_ours": True})
    monkeypatch.setattr(Child, "words", b"WARN many\n")
    with pytest.raises(CommandError, match=r"^No table a\.$"):
        call_command("pipeline", "sql", "select * from a", "--store", str(home))
    assert list((home / "pipeline" / ".spark").iterdir()) == []


def test_sealed_files_go_to_the_chosen_directory_and_never_into_the_store(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Child, "said", {"state": "done", "tables": {"findings": 3}})
    monkeypatch.setattr(Child, "orders", [])
    store = home / "broker-a"
    call_command("pipeline", "seal", "--store", str(store), "--sealed", str(home / "files"), "--out", str(home / "o"))
    call_command("pipeline", "seal", "--store", str(store))
    reported, default = (order.sealed["broker-a"] for order in Child.orders)
    assert reported == str(home / "files")
    assert Path(default).parent == home / "pipeline" / "seal" / "broker-a" / "files"
    for inside in (store, store / "sealed"):
        with pytest.raises(CommandError, match="is in the store, and only its broker may write there"):
            call_command("pipeline", "seal", "--store", str(store), "--sealed", str(inside))
    with pytest.raises(CommandError, match="--sealed needs --store"):
        call_command("pipeline", "import", "--sealed", str(home / "files"))


# The last result, without a run.

OF = ("show", "store_audit", "--store", "payments-1")


@pytest.fixture
def out(home: Path) -> Path:
    made = home / "pipeline" / "store_audit" / "payments-1"
    result(made)
    return made


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    call_command("pipeline", *words)
    return capsys.readouterr().out


def test_the_last_result_of_a_job_is_printed_again(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = shown(capsys, *OF, "--show", "1").splitlines()
    assert printed[-1] == f"findings: 3 rows, 1 of them shown (--show 3 shows all), in {out}"
    assert len(printed) == 3
    assert shown(capsys, *OF, "--table", "findings", "--show", "1").splitlines() == printed
    assert shown(capsys, "show", "store_audit", "--out", str(out), "--show", "1").splitlines() == printed
    assert orjson.loads(shown(capsys, *OF, "--json"))["tables"] == {"findings": 3}


def test_a_query_is_given_the_results_that_there_are(out: Path) -> None:
    assert directories_of("payments-1") == {"store_audit": str(out)}
    assert directories_of("other") == {}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("show",), "Name a job. Jobs are: class_analytics, "),
        (("show", "exprot", "--store", "payments-1"), "No job exprot. Jobs are: class_analytics, "),
        (
            ("show", "latency", "--store", "payments-1"),
            "No result of latency in {home}/pipeline/latency/payments-1. Run the job first: pipeline latency.",
        ),
        ((*OF, "--table", "finding"), "store_audit has no table finding. Tables are: findings."),
        (("show", "store_audit"), "Choose a source: --store DIR, "),
        (("sql", "--store", "payments-1"), "Write the query after sql: pipeline sql "),
        (("latency", "payments-1"), "latency takes no argument payments-1. Write its options as --option KEY=VALUE."),
    ],
)
def test_what_is_not_there_is_said(home: Path, out: Path, words: tuple[str, ...], why: str) -> None:
    with pytest.raises(CommandError) as said:
        call_command("pipeline", *words)
    assert str(said.value).startswith(why.format(home=home))


# What it reads.

NOTHING: dict[str, Any] = {
    "store": None,
    "sandbox": None,
    "students": None,
    "option": [],
    "format": None,
    "follow": False,
    "append": False,
}


def test_an_import_reads_files_and_no_store(tmp_path: Path) -> None:
    assert source_of({**NOTHING, "job": "import"}, tmp_path) == ({}, {}, "files")


def test_every_other_job_needs_a_source(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="Choose a source: --store DIR") as refused:
        source_of({**NOTHING, "job": "export"}, tmp_path)
    assert refused.value.returncode == 1


def test_a_path_is_relative_to_who_asks_and_not_to_the_process_with_spark(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert options_of({**NOTHING, "option": ["path=rows.csv", "topic=T"]}) == {
        "path": str(tmp_path / "rows.csv"),
        "topic": "T",
    }


@pytest.fixture
def course(db: None) -> Course:
    teacher = get_user_model().objects.create_user("teacher")
    return Course.objects.create(slug="quiet-otter-hqnzrp", title="101", teacher=teacher)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("grading", "--course", "no-such"), "No course no-such."),
        (("grading", "--sandbox", "x", "--publish"), "--publish and --rerun need a course"),
        (("latency", "--course", "quiet-otter-hqnzrp", "--publish"), "--publish and --rerun need the job grading"),
        (("grading", "--course", "quiet-otter-hqnzrp", "--out", "x"), "Remove --out"),
    ],
)
def test_what_cannot_be_asked_is_said_before_spark_starts(
    course: Course, home: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(CommandError, match=re.escape(sentence)):
        call_command("pipeline", *arguments)
