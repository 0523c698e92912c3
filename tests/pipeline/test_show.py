"""`manage.py pipeline show JOB` prints what the last run found, and runs nothing."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.management import CommandError, call_command

from queueviz.management.commands import pipeline
from queueviz.runs.last_results import directories_of
from tests.pipeline.test_command_answers import result

OF = ("show", "store_audit", "--store", "payments-1")


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any) -> Path:
    settings.QUEUEVIZ_HOME = tmp_path
    monkeypatch.setattr(pipeline, "Child", None)
    return tmp_path


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


@pytest.mark.parametrize(("words", "why"), [
    (("show",), "Name the job whose result it is. Jobs are: class_analytics, "),
    (("show", "exprot", "--store", "payments-1"), "There is no job exprot. Jobs are: class_analytics, "),
    (("show", "latency", "--store", "payments-1"),
     "There is no result of latency in {home}/pipeline/latency/payments-1. Run the job first: pipeline latency."),
    ((*OF, "--table", "finding"), "store_audit has no table finding. Tables are: findings."),
    (("show", "store_audit"), "Name what to read: --store DIR, "),
    (("sql", "--store", "payments-1"), "Write the query after sql: pipeline sql "),
    (("latency", "payments-1"), "latency takes no payments-1: its own options are written --option KEY=VALUE."),
])  # fmt: skip
def test_what_is_not_there_is_said(home: Path, out: Path, words: tuple[str, ...], why: str) -> None:
    with pytest.raises(CommandError) as said:
        call_command("pipeline", *words)
    assert str(said.value).startswith(why.format(home=home))
