"""Reports of a run about unrelated failures and time; pytest is simulated."""

import pytest

from tests import plan, stages
from tests.stages import Result, Step

NEAR, FAR, CHEAP = "tests/browser/test_near.py", "tests/sim/test_far.py", "tests/web/test_cheap.py"
CHOSEN = plan.Plan((NEAR,), (FAR,), ())


def judged(
    monkeypatch: pytest.MonkeyPatch, *failed: str, before: tuple[str, ...] = (), code: int = 1, base: str = "abc123"
) -> int:
    monkeypatch.setattr(stages, "failed_on", lambda base, stage, tests: set(before) & set(tests))
    monkeypatch.setattr(stages, "last_green", lambda test, number: 3)
    return stages.judge({"tests": Result(code, [f"{path}::test_a" for path in failed], {})}, CHOSEN, base, 7)


def test_a_red_of_the_ring_is_red_when_it_was_green_before(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(monkeypatch, FAR) == 1


def test_a_red_of_the_ring_that_was_red_before_does_not_block_and_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judged(monkeypatch, FAR, before=(f"{FAR}::test_a",)) == 0
    assert (
        f"Red before this landing, too (abc123), not blocking; last green 3 landings ago: {FAR}::test_a"
        in capsys.readouterr().out
    )


def test_before_a_release_no_red_is_excused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(monkeypatch, FAR, before=(f"{FAR}::test_a",), base="") == 1


@pytest.mark.parametrize("path", [NEAR, CHEAP])
def test_what_is_near_or_cheap_is_red_whatever_it_was_before(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    assert judged(monkeypatch, path, FAR, before=(f"{path}::test_a", f"{FAR}::test_a")) == 1


@pytest.mark.parametrize("code", [2, 3, 4, 5])
def test_a_stage_that_ends_otherwise_is_red(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    assert judged(monkeypatch, code=code) == 1


def test_the_table_adds_up_what_came_before_and_the_stages() -> None:
    lines = stages.table([Step("set-up", 61.0, 30.0), Step("tests", 300.4, 590.0)], 0.5)
    assert [line.split() for line in lines[2:5]] == [
        ["set-up", "1:01", "30", "s"],
        ["tests", "5:00", "590", "s"],
        ["all", "6:01", "620", "s"],
    ]
    assert lines[-1].startswith("machine: 0.50 times")
