"""The run of the tests behind the ledger, and a list of the ledger's faults.

pytest runs in a process of its own, so that its settings, warnings and exit do not affect this one.  It writes to
stderr.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, TypedDict

from queueviz.fidelity.ledger import Claim

HOUSE = Path(__file__).resolve().parents[2]
WORKERS = "2"
STDERR = 2
FINISHED = (0, 1, 5)  # exit codes of a run that came to its end: all passed, some failed, none there


class Outcome(NamedTuple):
    id: str  # pytest's own, with parameters
    rows: tuple[str, ...]
    outcome: str  # passed, failed, skipped


class Run(NamedTuple):
    outcomes: list[Outcome]
    unread: list[str]  # modules pytest could not import: whatever they show is not shown


class RunBroken(RuntimeError):
    """The error if pytest did not finish, or is not installed."""


def run(tests: Path, *, root: Path, rows: Iterable[str] = ()) -> Run:
    """Run every marked test below `tests` (only those of `rows`, if any are given); pytest works in `root`."""
    if find_spec("pytest") is None:
        raise RunBroken("pytest is not installed: the tests behind the ledger need `pip install queueviz[dev]`.")
    with tempfile.TemporaryDirectory(prefix="fidelity-") as folder:
        out = Path(folder) / "outcomes.json"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-m",
            "seed",
            "-p",
            "queueviz.fidelity.collector",
            "-p",
            "no:cacheprovider",
            "--continue-on-collection-errors",
            f"--fidelity-out={out}",
            f"--fidelity-rows={','.join(rows)}",
            *_in_parallel(),
            str(tests),
        ]
        done = subprocess.run(command, cwd=root, env=_environment(), stdout=STDERR, check=False)
        if done.returncode not in FINISHED or not out.exists():
            raise RunBroken(f"pytest ended with exit code {done.returncode} before all tests had run.")
        read = json.loads(out.read_text("utf-8"))
        return Run(
            [Outcome(outcome["id"], tuple(outcome["rows"]), outcome["outcome"]) for outcome in read["tests"]],
            read["unread"],
        )


class ShowingTest(TypedDict):
    """A test that shows a row."""

    id: str
    outcome: str


class RowTests(TypedDict):
    """A row of the ledger with its tests."""

    row: str
    claim: str
    tests: list[ShowingTest]


def by_row(claims: Sequence[Claim], outcomes: Iterable[Outcome]) -> list[RowTests]:
    """Return each row with its tests, a row without a test included."""
    tests: dict[str, list[ShowingTest]] = {claim.row: [] for claim in claims}
    for outcome in outcomes:
        for row in dict.fromkeys(outcome.rows):
            if row in tests:
                tests[row].append({"id": outcome.id, "outcome": outcome.outcome})
    return [{"row": claim.row, "claim": claim.claim, "tests": tests[claim.row]} for claim in claims]


def faults(listed: Iterable[RowTests], known: Mapping[str, Claim], ended: Run) -> list[str]:
    """Return the ledger's faults: rows no test shows, marks of unknown rows, tests that did not pass."""
    sentences = [f"{module} could not be collected: whatever it shows is not counted." for module in ended.unread]
    for entry in listed:
        if not entry["tests"]:
            sentences.append(f"{entry['row']}: no test shows this row.")
        sentences += [
            f"{entry['row']}: {test['id']} {_became(test['outcome'])}."
            for test in entry["tests"]
            if test["outcome"] != "passed"
        ]
    sentences += [
        f"{outcome.id} is marked with {row}, which is no row."
        for outcome in ended.outcomes
        for row in outcome.rows
        if row not in known
    ]
    return sentences


def _became(outcome: str) -> str:
    return {"failed": "failed", "skipped": "was skipped"}.get(outcome, f"ended as {outcome}")


def _in_parallel() -> list[str]:
    return ["-n", WORKERS] if find_spec("xdist") else []


def _environment() -> dict[str, str]:
    """Return the environment of pytest's process, in which the plugin can be imported from any directory."""
    paths = [str(HOUSE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
