"""The worked example of docs/notebook.md: lab 4 as a task in nbgrader and in Otter, done and handed in empty."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from tests.graders.environment import Unavailable, make, run
from tests.server.server import ROOT

EXAMPLES = ROOT / "docs" / "examples"
POINTS = 5.0

pytestmark = pytest.mark.wide


@pytest.fixture(scope="module")
def programs() -> Path:
    try:
        return make()
    except Unavailable as why:
        pytest.skip(str(why))


def test_nbgrader_gives_full_points_for_the_solution_and_none_for_an_empty_task(programs: Path, tmp_path: Path) -> None:
    source = tmp_path / "source" / "lab"
    source.mkdir(parents=True)
    shutil.copy(EXAMPLES / "lab-4-nbgrader.ipynb", source)
    run(programs, tmp_path, "nbgrader", "generate_assignment", "lab")
    released = (tmp_path / "release" / "lab" / "lab-4-nbgrader.ipynb").read_text()
    assert "one_owner" not in released, "the solution stays with the teacher"
    for student, handed_in in (("done", source), ("empty", tmp_path / "release" / "lab")):
        shutil.copytree(handed_in, tmp_path / "submitted" / student / "lab")
    run(programs, tmp_path, "nbgrader", "autograde", "lab")
    run(programs, tmp_path, "nbgrader", "export", "--to", "grades.csv")
    with (tmp_path / "grades.csv").open() as file:
        assert {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)} == {"done": POINTS, "empty": 0}


def test_otter_gives_full_points_for_the_solution_and_none_for_an_empty_task(programs: Path, tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "lab-4-otter.ipynb", tmp_path)
    run(programs, tmp_path, "otter", "assign", "lab-4-otter.ipynb", "made")
    assert "one_owner" not in (tmp_path / "made" / "student" / "lab-4-otter.ipynb").read_text()
    [tests] = (tmp_path / "made" / "autograder").glob("*.zip")
    scores = {}
    for handed_in in ("autograder", "student"):
        (tmp_path / handed_in).mkdir()
        run(
            programs, tmp_path, "otter", "run", "-a", str(tests), "-o", handed_in, f"made/{handed_in}/lab-4-otter.ipynb"
        )
        results = json.loads((tmp_path / handed_in / "results.json").read_text())
        scores[handed_in] = sum(test.get("score") or 0 for test in results["tests"])
    assert scores == {"autograder": POINTS, "student": 0}
