"""A branch: a sandbox made by executing another one's run again up to an event, which goes on from there."""

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sandbox.control.actions import Action, parse_action
from sandbox.control.branch_orders import BranchOrder
from sandbox.kernel.errors import ActionRefused
from sandbox.simulation.replay import replay
from tests.sim.recorded_stage import SLUG, Recorded, drawn_action

TEN_MINUTES_S = 600


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Recorded]:
    stage = Recorded(tmp_path, "payments", seed=5, luck=3)
    yield stage
    stage.close()


def branch(stage: Recorded, at: int, slug: str = "branch", **changes: Any) -> None:
    """To its end."""
    stage.make(slug, BranchOrder(parent=SLUG, at=at, **changes))


def some_life(stage: Recorded, *, seed: int, actions: int = 8) -> None:
    chance = random.Random(seed)
    for _ in range(actions):
        stage.run(chance.random() * 6)
        name, fields = drawn_action(chance, stage.host.snapshot(SLUG))
        if name not in ("SetRate", "Step", "Pause"):
            stage.act(name, **fields)
    stage.run(2)


def seq_of(stage: Recorded, action: str) -> int:
    return next(row["seq"] for row in stage.rows() if row["type"] == "ActionTaken" and row["action"] == action)


def while_awake(found: list[dict[str, Any]]) -> list[int]:
    """Places of rows, without those of falling asleep: halfway there nothing can go on, and a branch is refused."""
    slept = next(place for place, row in enumerate(found) if row["type"] == "SandboxSlept")
    began = next(place for place in range(slept - 80, slept) if found[place].get("state") == "stopping")
    return [*range(began), *range(slept, len(found))]


def test_up_to_any_event_a_branch_is_its_parent(stage: Recorded) -> None:
    some_life(stage, seed=1)
    stage.sleep()
    stage.wake()
    some_life(stage, seed=2, actions=4)
    written = stage.journal()
    chance = random.Random(7)
    places = while_awake(stage.rows())
    for number in range(20):
        place = chance.choice(places)
        at = stage.rows()[place]["seq"]
        branch(stage, at, f"branch-{number}")
        assert stage.journal(f"branch-{number}")[: place + 1] == written[: place + 1]
        with suppress(ActionRefused):
            stage.machine.sim.run(stage.host.delete(f"branch-{number}"))


def test_an_untouched_branch_goes_on_as_its_parent_for_ten_minutes(stage: Recorded) -> None:
    stage.watch()
    stage.run(5)
    stage.act("CrashActor", actor="A")
    stage.run(5)
    branch(stage, stage.rows()[-1]["seq"])
    stage.watch("branch")
    stage.run(TEN_MINUTES_S)
    parent, child = stage.journal(), stage.journal("branch")
    same = min(len(parent), len(child))
    assert stage.rows()[same - 1]["at_ms"] - stage.rows()[0]["at_ms"] > (TEN_MINUTES_S - 5) * 1000
    assert child[:same] == parent[:same]


def test_a_branch_can_be_executed_again_itself_over_its_own_actions_and_sleep(stage: Recorded) -> None:
    some_life(stage, seed=4)
    branch(stage, stage.rows()[-1]["seq"])
    stage.run(3)
    action = parse_action({"action": "SetRate", "rate": 2})
    stage._on_loop(lambda: stage.host.awake("branch").act(action, "owner test"))
    stage.run(3)
    stage.machine.sim.run(stage.host.sleep("branch", "test"))
    stage.machine.sim.run(stage.host.wake("branch"))
    stage.run(12)
    stage.machine.sim.run(stage.host.sleep("branch", "test"))
    found = replay(stage.directory.with_name("branch"))
    assert (found.first_difference, [stretch.why for stretch in found.stretches]) == (None, [None])
    assert found.events == len(stage.journal("branch"))


def test_a_branch_of_a_branch_is_executed_from_the_first_event_too(stage: Recorded) -> None:
    stage.run(6)
    branch(stage, stage.rows()[-1]["seq"])
    stage.run(4)
    order = BranchOrder(parent="branch", at=stage.rows("branch")[-1]["seq"])
    stage.make("second", order)
    assert stage.journal("second")[: len(stage.journal("branch"))][:200] == stage.journal("branch")[:200]
    assert stage.host._registry.get("second").sandbox is not None


@pytest.mark.parametrize("instead", [None, {"action": "CrashActor", "actor": "B"}])
def test_one_action_left_out_or_changed_is_the_same_run_up_to_it(
    stage: Recorded, instead: dict[str, Any] | None
) -> None:
    stage.run(4)
    stage.act("CrashActor", actor="A")
    stage.run(4)
    stage.act("CreateTopic", topic="later")
    stage.run(4)
    seq, last = seq_of(stage, "CrashActor"), stage.rows()[-1]
    change: Action | None = parse_action(instead) if instead is not None else None
    branch(stage, last["seq"], changes={seq: change})
    parent, child = stage.rows(), stage.rows("branch")
    place = next(place for place, row in enumerate(parent) if row["seq"] == seq)
    assert child[:place] == parent[:place]
    done = [(row["action"], row["fields"].get("actor")) for row in child[place:] if row["type"] == "ActionTaken"]
    assert done == [*([("CrashActor", "B")] if instead else []), ("CreateTopic", None)]
    assert stage.host.awake("branch").cluster.clock.now_ms() >= last["at_ms"]
    stage.machine.sim.run(stage.host.sleep("branch", "test"))
    assert replay(stage.directory.with_name("branch")).first_difference is None


def test_what_cannot_be_branched_is_refused_with_a_sentence(stage: Recorded) -> None:
    stage.run(3)
    last = stage.rows()[-1]["seq"]
    template = seq_of(stage, "CreateTopic")
    for at, changes, sentence in (
        (last + 10_000, {}, "Event [0-9]+ does not exist"),
        (last, {last + 1: None}, "is not an action"),
        (last, {template: None}, "is not an action"),
        (last, dict.fromkeys(range(51)), "changes at most 50"),
    ):
        with pytest.raises(ActionRefused, match=sentence):
            branch(stage, at, changes=changes)
    stage.kill()
    stage.wake()
    with pytest.raises(ActionRefused, match="cannot be replayed"):
        branch(stage, stage.rows()[-1]["seq"])
    assert stage.host.status()["known"] == 1


def test_a_branch_that_was_cancelled_or_interrupted_is_not_opened(stage: Recorded) -> None:
    stage.run(20)
    order = BranchOrder(parent=SLUG, at=stage.rows()[-1]["seq"])
    stage.machine.sim.run(stage.host.branches.begin("branch", order))
    with pytest.raises(ActionRefused, match="is being created"):
        stage.machine.sim.run(stage.host.wake("branch"))
    stage._on_loop(lambda: stage.host.branches.cancel("branch"))
    stage.run(1)
    row = stage.host.status()["sandboxes"]["branch"]
    assert (row["state"], row["failed"]) == ("failed", "This branch was cancelled.")
    with pytest.raises(ActionRefused, match="was not completed"):
        stage.machine.sim.run(stage.host.wake("branch"))
    stage.machine.sim.run(stage.host.delete("branch"))
    assert not stage.directory.with_name("branch").exists()
