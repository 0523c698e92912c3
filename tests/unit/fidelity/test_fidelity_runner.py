"""`manage.py fidelity` on a small tree: what passes, fails, is skipped, is missing, is marked wrongly."""

import io
import json
from importlib import util
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from queueviz.fidelity import runner
from queueviz.fidelity.ledger import ledger
from queueviz.fidelity.runner import Outcome, Run, by_row, faults, run

TESTS = """
import pytest

@pytest.mark.seed("0.1", "D1")
@pytest.mark.parametrize("n", [1, 2])
def test_passes(n): pass

@pytest.mark.seed("0.2")
def test_fails(): assert 1 == 2

@pytest.mark.seed("0.3")
def test_is_skipped(): pytest.skip("no")

@pytest.mark.seed("0.4")
@pytest.mark.xfail
def test_fails_as_expected(): assert 1 == 2

@pytest.fixture
def broken():
    yield
    raise ValueError

@pytest.mark.seed("0.5")
def test_breaks_afterwards(broken): pass

def test_has_no_mark(): assert 1 == 2
"""
ENDS = {
    "test_passes[1]": "passed",
    "test_passes[2]": "passed",
    "test_fails": "failed",
    "test_is_skipped": "skipped",
    "test_fails_as_expected": "skipped",
    "test_breaks_afterwards": "failed",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "test_small.py").write_text(TESTS)
    return tmp_path


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without xdist, whose start takes longer than the tests here."""
    found = util.find_spec
    monkeypatch.setattr(runner, "find_spec", lambda name: None if name == "xdist" else found(name))


def ended(tests: Path, *options: str) -> tuple[int, str, str]:
    """Exit code, and what the command said on both channels."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("fidelity", *options, tests=tests, stdout=out, stderr=err)
    except SystemExit as left:
        return int(str(left.code)), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


def entries(**outcomes: str) -> Run:
    return Run([Outcome("t.py::t", (row.replace("_", "."),), outcome) for row, outcome in outcomes.items()], [])


def complaints(ended_run: Run, *rows: str) -> list[str]:
    claims = [ledger()[row] for row in rows]
    return faults(by_row(claims, ended_run.outcomes), ledger(), ended_run)


@pytest.mark.parametrize("in_parallel", [False, True])
def test_marked_tests_run_and_a_module_no_one_can_read_is_named(
    tree: Path, monkeypatch: pytest.MonkeyPatch, in_parallel: bool
) -> None:
    if not in_parallel:
        monkeypatch.setattr(runner, "_in_parallel", list)
    (tree / "test_broken.py").write_text("import nothing_of_that_name\n")
    found = run(tree, root=tree)
    assert {one.id.removeprefix("test_small.py::"): one.outcome for one in found.outcomes} == ENDS, "the worst moment"
    assert found.unread == ["test_broken.py"]
    assert "test_broken.py could not be collected: whatever it shows is not counted." in complaints(found, "0.1")


def test_json_lists_each_row_with_its_tests_and_nothing_else(tree: Path, alone: None) -> None:
    code, out, err = ended(tree, "--json", "--row", "0.1", "D1")
    listed = json.loads(out)
    assert [set(entry) for entry in listed] == [{"row", "claim", "tests"}] * 2
    assert [entry["row"] for entry in listed] == ["0.1", "D1"]
    assert listed[0]["claim"] == ledger()["0.1"].claim
    assert (
        listed[0]["tests"]
        == listed[1]["tests"]
        == [
            {"id": "test_small.py::test_passes[1]", "outcome": "passed"},
            {"id": "test_small.py::test_passes[2]", "outcome": "passed"},
        ]
    )
    assert (code, err) == (0, "")


def test_without_rows_all_of_them_are_listed_and_what_is_missing_is_said(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed, failed = (
        Outcome(f"test_small.py::{name}", rows, end)
        for name, rows, end in (("test_passes[1]", ("0.1", "D1"), "passed"), ("test_fails", ("0.2",), "failed"))
    )
    again = passed._replace(id="test_small.py::test_passes[2]")
    monkeypatch.setattr(runner, "run", lambda *_, **__: Run([passed, again, failed], []))
    code, out, err = ended(tree)
    assert out.splitlines()[0] == f"0.1   {ledger()['0.1'].claim}"
    assert out.splitlines()[1].strip() == "passed  test_small.py::test_passes (2)", "one line for all parameters"
    assert len([line for line in out.splitlines() if line[0] != " "]) == len(ledger())
    assert err.count("no test shows this row.") == len(ledger()) - 3
    assert "0.2: test_small.py::test_fails failed." in err
    assert code == 1


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ("failed", "0.1: t.py::t failed."),
        ("skipped", "0.1: t.py::t was skipped."),
        ("odd", "0.1: t.py::t ended as odd."),
    ],
)
def test_a_test_that_did_not_pass_is_a_fault(outcome: str, said: str) -> None:
    assert complaints(entries(**{"0_1": outcome}), "0.1") == [said]


def test_a_row_without_a_test_and_a_mark_without_a_row_are_faults() -> None:
    assert complaints(entries(**{"0_1": "passed"}), "0.1") == []
    assert complaints(entries(**{"0_1": "passed"}), "0.2") == ["0.2: no test shows this row."]
    assert complaints(entries(**{"9_9": "passed"})) == ["t.py::t is marked with 9.9, which is no row."]


def test_a_wrong_mark_is_said_before_anything_runs(tree: Path) -> None:
    (tree / "test_more.py").write_text('import pytest\n\n@pytest.mark.seed("9.9")\ndef test_odd(): pass\n')
    with pytest.raises(CommandError, match=r"test_more\.py::test_odd has the mark 9\.9, and docs/fidelity\.md has no"):
        ended(tree)


def test_an_unknown_row_is_refused(tree: Path) -> None:
    with pytest.raises(CommandError, match=r"No row 0\.99\."):
        ended(tree, "--row", "0.99")


def test_without_pytest_it_says_so_in_one_sentence(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "find_spec", lambda name: None)
    with pytest.raises(CommandError, match=r"^pytest is not installed: [^.]+\.$"):
        ended(tree)


def test_a_run_that_breaks_off_is_no_result(tree: Path, alone: None) -> None:
    (tree / "conftest.py").write_text("import nothing_of_that_name\n")
    with pytest.raises(CommandError, match="pytest ended with exit code 4 before all tests had run"):
        ended(tree, "--row", "0.1")


def test_the_suite_itself_does_not_collect_a_mark_of_no_row(tmp_path: Path, alone: None, capfd: Any) -> None:
    (tmp_path / "conftest.py").write_text((runner.HOUSE / "tests" / "conftest.py").read_text("utf-8"))
    (tmp_path / "test_odd.py").write_text('import pytest\n\n@pytest.mark.seed("9.9")\ndef test_odd(): pass\n')
    (tmp_path / "test_bare.py").write_text("import pytest\n\n@pytest.mark.seed()\ndef test_bare(): pass\n")
    assert sorted(run(tmp_path, root=tmp_path).unread) == ["test_bare.py", "test_odd.py"]
    reported = capfd.readouterr().err
    assert "test_odd.py::test_odd: '9.9' is no row" in reported
    assert "test_bare.py::test_bare: name the rows" in reported
