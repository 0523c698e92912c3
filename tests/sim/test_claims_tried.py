"""Claims, tried with seeds: what holds, what falls, and the shortest run that contradicts it."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from sandbox.control.actions import parse_action
from sandbox.control.branch_orders import Done, RecipeOrder
from sandbox.control.recipe_program import counterexample_program
from sandbox.journal.segments import rows_since
from sandbox.simulation.claims import Found, came_again, out_of_order, several_owners
from sandbox.simulation.recipe import Recipe, play
from sandbox.simulation.replay import replay
from sandbox.simulation.try_claim import basis_of, shorten, try_claim, try_seed
from tests.sim.recorded_stage import SLUG, Recorded
from tests.sim.test_recipe_tests import executed

SEEDS = 6
ALL_SEEDS = 60


def consumed(
    offset: int, client_id: str, at_ms: int, *, began_ms: int = 0, key: str = "k", outcome: str = "SUCCESS"
) -> dict[str, Any]:
    return {
        "type": "MessagesConsumed",
        "group": "g",
        "topic": "t",
        "broker": "b",
        "queue_id": 0,
        "offsets": [offset],
        "sharding": [key],
        "client_id": client_id,
        "at_ms": at_ms,
        "started_ms": began_ms,
        "outcome": outcome,
    }


def said(found: Found) -> list[str]:
    return [str(case) for case in found.cases]


LAST: Any = {"groups": [{"group": "g", "model": "CLUSTERING"}]}
ENDED = {"type": "MemberStateChanged", "client_id": "A", "state": "crashed"}


def test_what_a_crashed_member_had_finished_comes_again() -> None:
    rows = [
        consumed(1, "A", 10),
        consumed(2, "A", 20, outcome="INTERRUPTED"),
        ENDED,
        consumed(1, "B", 30),
        consumed(2, "B", 40),
    ]
    found = came_again("crashed")(rows, LAST)
    assert (found.looked_at, said(found)) == (1, ["t/b/0 @1: A finished the message, B received it again"])
    assert came_again("stopped")(rows, LAST).cases == []


def test_two_owners_are_two_that_work_at_the_same_time() -> None:
    rows = [consumed(1, "A", 50, began_ms=10), consumed(2, "B", 60, began_ms=50), consumed(3, "A", 70, began_ms=55)]
    assert said(several_owners(rows, LAST)) == ["t/b/0: A started processing while B was processing"]


def test_order_is_of_first_successes_of_one_key() -> None:
    rows = [consumed(5, "A", 1), consumed(4, "A", 2, key="other"), consumed(3, "B", 3), consumed(5, "B", 4)]
    assert said(out_of_order(rows, LAST)) == ["t/b/0 @3 of k was finished after 5"]
    assert out_of_order([consumed(1, "A", 1, key="")], LAST).looked_at == 0


def test_no_duplicates_holds_after_a_stop_and_falls_after_a_crash_with_one_act() -> None:
    stage = basis_of(None, "orders", "sandbox")
    held = try_claim("no-duplicates-after-a-clean-stop", SEEDS, stage, workers=1)
    assert (held["held"], held["counterexample"], held["looked_at"] > 0) == (SEEDS, None, True)
    fallen = try_claim("no-duplicates-after-a-crash", SEEDS, stage, workers=1)
    assert fallen["broken"] > 0
    assert [act["action"] for act in fallen["counterexample"]["acts"]] == ["CrashActor"]
    assert fallen["distribution"]["low"] <= fallen["distribution"]["median"] <= fallen["distribution"]["high"]


def test_the_first_counterexample_is_reported_at_once_and_gets_shorter_while_seeds_run() -> None:
    reports: list[dict[str, Any]] = []
    result = try_claim(
        "at-most-one-owner",
        SEEDS,
        basis_of(None, "orders", "sandbox"),
        workers=1,
        progress=lambda share, partial=None: reports.append(partial),
    )
    with_one = [report for report in reports if report["counterexample"]]
    assert len(with_one[0]["tried"]) < SEEDS
    assert with_one[0]["counterexample"]["drawn"] >= len(with_one[0]["counterexample"]["acts"])
    lengths = [len(report["counterexample"]["acts"]) for report in with_one]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] == len(result["counterexample"]["acts"]) < lengths[0]
    assert (
        min(len(report["tried"]) for report in with_one if len(report["counterexample"]["acts"]) < lengths[0]) < SEEDS
    )
    assert [len(report["tried"]) for report in reports] == sorted(len(report["tried"]) for report in reports)
    assert (reports[-1]["held"] + reports[-1]["broken"], [seed for seed, _ in result["tried"]]) == (
        SEEDS,
        [*range(SEEDS)],
    )


def test_a_counterexample_is_played_again_and_has_no_act_too_many(tmp_path: Path) -> None:
    stage = Recorded(tmp_path, "orders", seed=5, luck=3)
    stage.run(5)
    stage.act("CreateTopic", topic="beside")
    stage.run(5)
    stage.close()
    seen = basis_of(stage.directory, "", "")
    assert ([act.action for act in seen.acts], seen.home) == (["CreateTopic"], tmp_path)
    tried = next(one for one in (try_seed("no-duplicates-after-a-crash", seed, seen) for seed in range(9)) if one.cases)
    assert [act.action for act in tried.recipe.acts] == ["CreateTopic", "CrashActor"]
    short = shorten("no-duplicates-after-a-crash", tried, seen)
    assert [act.action for act in short.recipe.acts] == ["CrashActor"]
    assert play(short.recipe).rows == play(short.recipe).rows
    assert len(came_again("crashed")(play(short.recipe).rows, play(short.recipe).last).cases) == short.cases


def test_a_counterexample_is_a_test_that_passes_until_the_behaviour_changes(tmp_path: Path) -> None:
    stage = Recorded(tmp_path, "orders", seed=5, luck=3)
    stage.run(5)
    stage.act("CreateTopic", topic="beside")
    stage.run(5)
    stage.close()
    claim = "no-duplicates-after-a-crash"
    result: Any = try_claim(claim, 2, basis_of(stage.directory, "", ""), workers=1)["counterexample"]
    recipe, sentence, cases = result["recipe"], result["sentence"], result["cases"]
    executed(counterexample_program(recipe, claim, sentence, cases))
    for other in (
        counterexample_program(recipe, "no-duplicates-after-a-clean-stop", sentence, cases),
        counterexample_program(recipe, claim, sentence, cases + 1),
    ):
        with pytest.raises((AssertionError, IndexError)):
            executed(other)


def test_a_run_with_settings_of_its_own_has_no_text(tmp_path: Path) -> None:
    stage = Recorded(tmp_path, "orders", seed=5, luck=3)
    stage.run(5)
    stage.close()
    basis = basis_of(stage.directory, "", "")
    assert Recipe(basis.origin, "1", basis.acts, 1_000).text()
    changed = basis.origin._replace(record={**basis.origin.record, "limits": {"actors": 3}})
    assert Recipe(changed, "1", basis.acts, 1_000).text() is None


def test_a_counterexample_is_opened_as_a_sandbox_with_the_same_journal(tmp_path: Path) -> None:
    stage = Recorded(tmp_path, "orders", seed=5, luck=3)
    stage.run(5)
    basis = basis_of(stage.directory, "", "")
    every = (try_seed("no-duplicates-after-a-crash", seed, basis) for seed in range(9))
    tried = next(one for one in every if one.cases)
    played = play(tried.recipe).rows
    order = RecipeOrder(
        parent=SLUG,
        seed=tried.recipe.seed,
        until_ms=tried.recipe.until_ms,
        done=tuple(Done(act.at_ms, parse_action({"action": act.action, **act.fields})) for act in tried.recipe.acts),
    )
    stage.machine.sim.run(stage.host.branches.begin("opened", order))
    while (change := stage.host._registry.get("opened").change) is not None:
        stage.machine.sim.run(_over(change))
    stage.run(3)
    stage.close()
    directory = stage.directory.with_name("opened")
    assert list(rows_since(directory / "journal", 0))[: len(played)] == played
    assert replay(directory).first_difference is None


async def _over(change: Any) -> None:
    await change


def test_the_command_ends_with_one_where_a_claim_falls() -> None:
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("simulate", claim="no-duplicates-after-a-crash", seeds=2, workers=2, json=True, stdout=out)
    assert (ended.value.code, json.loads(out.getvalue())["seeds"]) == (1, 2)
    words = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("simulate", claim="no-duplicates-after-a-crash", seeds=2, workers=1, stdout=words)
    assert "CrashActor" in words.getvalue()


@pytest.mark.wide
def test_the_claims_over_all_seeds() -> None:
    stage = basis_of(None, "orders", "sandbox")
    assert try_claim("no-duplicates-after-a-clean-stop", ALL_SEEDS, stage, workers=2)["broken"] == 0
    assert try_claim("no-duplicates-after-a-crash", ALL_SEEDS, stage, workers=2)["broken"] > ALL_SEEDS // 2
