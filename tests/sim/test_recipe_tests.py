"""A range of a recorded run as a test in Python: it passes as it is, and fails where the run is another one."""

from pathlib import Path
from typing import Any

import pytest

from sandbox import Sandbox
from sandbox.control.recipe_program import program_of
from sandbox.control.recipe_text import pack
from sandbox.journal.segments import rows_since
from sandbox.kernel.errors import ActionRefused
from tests.sim.recorded_stage import SLUG, Recorded
from tests.sim.test_recipes import LIMITS, lived, recipe


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], str]:
    """Rows of a run, and its recipe."""
    stage = Recorded(tmp_path_factory.mktemp("run"), "payments", seed=5, luck=3)
    stage.run(20)
    stage.act("CrashActor", actor="B")
    stage.run(15)
    rows = stage.rows()
    text = recipe(stage, rows[-1]["seq"])
    stage.close()
    return rows, text


def executed(program: str) -> None:
    known: dict[str, Any] = {}
    exec(program, known)
    next(value for name, value in known.items() if name.startswith("test_"))()


def program(run: tuple[list[dict[str, Any]], str], first: int) -> str:
    rows, text = run
    return program_of(text, [row for row in rows if row["seq"] >= first], first, rows[-1]["seq"])


@pytest.mark.parametrize("back", [50, 500])
def test_it_passes_as_it_is(run: tuple[list[dict[str, Any]], str], back: int) -> None:
    text = program(run, run[0][-1]["seq"] - back)
    assert '"OffsetCommitted"' in text
    executed(text)


def test_it_fails_where_anything_else_happened(run: tuple[list[dict[str, Any]], str]) -> None:
    rows, text = run
    first = rows[-1]["seq"] - 300
    seen = [row for row in rows if row["seq"] >= first]
    commit = next(row for row in reversed(seen) if row["type"] == "OffsetCommitted")
    for wrong in (seen[:-1], [row | {"offset": 10**6} if row is commit else row for row in seen]):
        with pytest.raises(AssertionError):
            executed(program_of(text, wrong, first, rows[-1]["seq"]))


def test_a_recipe_goes_on_in_a_notebook(run: tuple[list[dict[str, Any]], str]) -> None:
    rows, text = run
    with Sandbox(recipe=text) as box:
        assert [row["type"] for row in box.events()][: len(rows)] == [row["type"] for row in rows]
        before_ms = box.now_ms
        box.run(5)
        assert box.now_ms >= before_ms + 5_000
        assert box.act("CutLink", a="A", b="broker-a") > rows[-1]["seq"]
        assert box.ask("plan-crash", actor="B")


def test_what_is_no_recipe_or_ends_asleep_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ActionRefused, match="not a reproducible link"):
        Sandbox(recipe="nonsense")
    stage = lived(tmp_path, "orders", 13, actions=2)
    stage.sleep()
    slept = list(rows_since(stage.directory / "journal", 0))[-1]["seq"]
    text = pack(stage.machine.sim.run(stage.host.branches.recipe(SLUG, slept)), LIMITS)
    stage.close()
    with pytest.raises(ActionRefused, match="ends while the sandbox is asleep"):
        Sandbox(recipe=text)
