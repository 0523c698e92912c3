"""Every lab played in virtual time: the right script solves it, every other is answered by a sentence of its own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.utils.translation import gettext, override

from sandbox.control.actions import (
    AgeFiles,
    ChangeActor,
    CleanFiles,
    RestartLab,
    SendMessages,
    SetRate,
    StartLab,
    StopActor,
    TakeHint,
)
from sandbox.journal.events import (
    ActionTaken,
    HintTaken,
    LabFinished,
    LabStarted,
    PredictionGiven,
    StepMet,
)
from sandbox.journal.schema import from_row
from sandbox.journal.segments import rows_since
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.catalogue import LABS
from sandbox.labs.evidence import SETUP
from sandbox.labs.grade import grade
from sandbox.labs.lab import Lab
from sandbox.labs.verdict import Verdict
from sandbox.simulation.lab_check import EMPTY, SOLVE, check_lab, is_whole, judge, scripts_of
from sandbox.simulation.lab_player import LabPlayer, play
from sandbox.simulation.replay import replay
from sandbox.simulation.world import World
from tests.sim.recorded_stage import SLUG, Recorded

LAB = LABS["members-and-queues"]
EVERY = [pytest.param(lab, script, id=f"{lab.number} {script}") for lab in LABS.values() for script in scripts_of(lab)]


@pytest.mark.parametrize(("lab", "script"), EVERY)
def test_the_solving_script_solves_and_every_other_gets_its_own_sentence(lab: Lab, script: str) -> None:
    found = judge(lab, script, seed=1)
    assert found.solved is (script == SOLVE)
    assert found.same, "graded live and from the journal alone it is the same"
    own = {wrong.name: wrong.sentence for wrong in lab.wrong}
    text = found.verdict.text
    assert text == own.get(script, text)
    assert list(own.values()).count(text) == (script in own)
    if script in own:
        assert is_said_in_chinese(found.verdict)


def is_said_in_chinese(verdict: Verdict) -> bool:
    with override("zh-hans"):
        chinese = gettext(verdict.text).format(**verdict.values)
    return chinese != verdict.sentence() and "{" not in chinese


@pytest.mark.wide
@pytest.mark.parametrize("lab", LABS.values(), ids=LABS)
def test_four_more_seeds_of_every_lab_are_whole(lab: Lab) -> None:
    """Twenty are played before a release: `manage.py lab check --all --seeds 20`."""
    assert is_whole(check_lab(lab, range(2, 6)))


@pytest.mark.parametrize("lab", LABS.values(), ids=LABS)
def test_a_lab_says_how_long_it_takes_and_names_three_mistakes_at_least(lab: Lab) -> None:
    assert 8 <= lab.minutes <= 12
    assert len(lab.wrong) >= 3
    assert len({wrong.sentence for wrong in lab.wrong}) == len(lab.wrong)
    assert {SOLVE, EMPTY}.isdisjoint(wrong.name for wrong in lab.wrong)


@pytest.mark.parametrize("lab", LABS.values(), ids=LABS)
def test_every_text_of_a_lab_can_be_filled_in(lab: Lab) -> None:
    numbers = lab.numbers("7", 1)
    for step in lab.steps:
        for text in (step.title, step.do, step.watch, step.mark, *step.hints):
            text.format(**numbers)
        for question in (step.predict, step.say, step.why):
            if question is not None:
                question.text.format(**numbers)
                for text in (question.again, *(misreading.text for misreading in question.misreadings)):
                    text.format(**numbers, given="7")


@pytest.mark.parametrize("lab", LABS.values(), ids=LABS)
def test_neighbours_have_other_numbers_and_a_reload_has_the_same(lab: Lab) -> None:
    drawn = [tuple(sorted(lab.numbers(str(seed), 1).items())) for seed in range(20)]
    assert len(set(drawn)) > 5
    assert drawn == [tuple(sorted(lab.numbers(str(seed), 1).items())) for seed in range(20)]


def answer(world: World, lab: Lab, part: str, value: str, step: int = 1) -> int:
    return world.act("AnswerStep", lab=lab.slug, step=step, part=part, value=value)


def refusal(do: Callable[[], object]) -> ActionRefused:
    with pytest.raises(ActionRefused) as caught:
        do()
    return caught.value


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path, seed=3) as made:
        made.act(StartLab(lab=LAB.slug))
        made.run(0.5)
        yield made
        made.run(0.5)


def test_the_setup_is_part_of_the_start(world: World) -> None:
    [started] = world.entries(LabStarted)
    first, *setup = world.entries(ActionTaken)
    assert started.event == LabStarted(LAB.slug, 1, "3")
    assert (started.cause, first.event.action) == (first.seq, "StartLab")
    assert {entry.event.by for entry in setup} == {SETUP}


def test_a_prediction_is_in_the_journal_before_anything_is_revealed(world: World) -> None:
    seq = answer(world, LAB, "predict", "2")
    [given] = world.entries(PredictionGiven)
    assert (given.event, given.cause) == (PredictionGiven(LAB.slug, 1, "2"), seq)


def test_a_sealed_prediction_stays_and_later_steps_stay_shut(world: World) -> None:
    assert refusal(lambda: answer(world, LAB, "say", "2")).status == 409
    assert refusal(lambda: answer(world, LAB, "predict", "2", step=2)).status == 409
    answer(world, LAB, "predict", "2")
    again = refusal(lambda: answer(world, LAB, "predict", "3"))
    assert (again.status, again.message) == (409, "The prediction of step {step} is sealed.")
    assert len(world.entries(PredictionGiven)) == 1


def test_an_answer_that_cannot_be_read_is_refused_and_not_written(world: World) -> None:
    why = refusal(lambda: answer(world, LAB, "predict", "two"))
    assert (why.status, why.field, str(why)) == (422, "value", "'two' is not a number.")
    assert world.entries(PredictionGiven) == []


def test_what_was_done_before_the_prediction_does_not_count(tmp_path: Path) -> None:
    lab = LABS["lag-and-throughput"]
    with World(tmp_path, seed=3) as world:
        player = LabPlayer(world, lab)
        player.act(ChangeActor(actor="shop", rate_per_s=player.numbers["rate"]))
        player.wait(70)
        player.predict(100)
        player.wait(5)
        assert (player.attempt.phase, player.attempt.verdict.sentence()) == ("do", "shop is not sending yet.")


def test_a_lab_allows_its_own_actions_only(world: World) -> None:
    why = refusal(lambda: world.act("CrashActor", actor="A"))
    assert (why.status, str(why)) == (403, "Lab 4 does not use CrashActor.")
    world.act(StopActor(actor="A"))
    world.act(SetRate(rate=20))


def test_hints_cost_nothing_and_are_recorded(world: World) -> None:
    for _ in range(2):
        world.act(TakeHint(lab=LAB.slug, step=1))
    assert [entry.event.value for entry in world.entries(HintTaken)] == ["1", "2"]
    assert refusal(lambda: world.act(TakeHint(lab=LAB.slug, step=1))).status == 409


def test_its_state_shows_the_open_phase_and_nothing_sealed(world: World) -> None:
    shown = world.ask("lab-state")["lab"]
    assert (shown["lab"], shown["attempt"], [step["state"] for step in shown["steps"]]) == (
        LAB.slug,
        1,
        ["open", "later"],
    )
    assert (shown["open"]["phase"], shown["open"]["prediction"], shown["open"]["hints"]) == ("predict", None, [])
    assert (shown["open"]["predict"]["kind"], shown["open"]["why"]["kind"]) == ("number", "choice")
    assert "right" not in str(shown)
    answer(world, LAB, "predict", "2")
    world.act(TakeHint(lab=LAB.slug, step=1))
    world.run(2)
    shown = world.ask("lab-state")["lab"]
    assert (shown["open"]["phase"], shown["open"]["prediction"], len(shown["open"]["hints"])) == ("do", "2", 1)
    assert shown["open"]["verdict"]["text"] == "The group has {now} of {members} members."
    assert [(receipt["step"], receipt["part"]) for receipt in shown["receipts"]] == [(1, "predict")]
    assert shown["steps"][0]["met"] is None


def test_the_state_of_a_finished_lab_opens_its_predictions(tmp_path: Path) -> None:
    with World(tmp_path, seed=5) as world:
        assert world.ask("lab-state")["lab"] is None
        LAB.solve(LabPlayer(world, LAB))
        shown = world.ask("lab-state")["lab"]
    assert (shown["finished"], shown["score"], shown["open"]) == (True, 100, None)
    met = shown["steps"][0]["met"]
    assert (met["given"], met["truth"], met["accurate"]) == (*[str(LAB.numbers("5", 1)["idle"])] * 2, True)
    assert met["rests_on"]


def test_a_lab_begins_in_an_empty_sandbox(world: World, tmp_path: Path) -> None:
    assert refusal(lambda: world.act(StartLab(lab=LAB.slug))).status == 409
    assert refusal(lambda: world.act(StartLab(lab="no-such-lab"))).status == 404
    with World(tmp_path / "other", "orders") as busy:
        assert refusal(lambda: busy.act(StartLab(lab=LAB.slug))).status == 409


def test_starting_over_has_other_names_and_counts_as_another_attempt(world: World) -> None:
    before = world.cluster.record.lab["began"]
    world.run(5)
    world.act(RestartLab(lab=LAB.slug))
    world.run(5)
    first, second = (entry.event for entry in world.entries(LabStarted))
    assert (first.attempt, second.attempt) == (1, 2)
    assert world.cluster.record.lab["began"] > before
    numbers = LAB.numbers("3", 2)
    assert numbers["topic"].endswith("-2")
    assert {actor.group for actor in world.cluster.actors.consumers()} == {numbers["group"]}
    answer(world, LAB, "predict", "2")


def test_starting_over_ends_the_faults_and_settings_of_the_attempt_before(tmp_path: Path) -> None:
    lab = LABS["flush-and-replicate"]
    with World(tmp_path, lab.template, seed=3) as world:
        player = LabPlayer(world, lab)
        player.predict("some")
        world.act("ChangeBroker", broker="broker-a", changes={"flush": "SYNC_FLUSH"})
        world.act("PowerCut", broker="broker-a")
        world.act(RestartLab(lab=lab.slug))
        world.run(1)
        assert {node.node: node.state for node in world.cluster.nodes.brokers} == {
            "broker-a": "running",
            "broker-a.1": "stopped",
            "broker-b": "running",
        }
        assert world.cluster.preset.flush == "ASYNC_FLUSH"


@pytest.mark.parametrize("cut", ["sleep", "kill"])
def test_sleep_and_a_killed_server_lose_no_answer(tmp_path: Path, cut: str) -> None:
    with World(tmp_path, seed=3) as world:
        world.act(StartLab(lab=LAB.slug))
        answer(world, LAB, "predict", "2")
        world.act(TakeHint(lab=LAB.slug, step=1))
        world.run(1)
        getattr(world, cut)()
        world.wake()
        assert refusal(lambda: answer(world, LAB, "predict", "3")).message == "The prediction of step {step} is sealed."
        world.act(TakeHint(lab=LAB.slug, step=1))
        assert refusal(lambda: world.act(TakeHint(lab=LAB.slug, step=1))).status == 409


def test_the_journal_files_alone_give_the_same_grade(tmp_path: Path) -> None:
    """The receipts' hashes cover the journal up to each answer."""
    with World(tmp_path, seed=5) as world:
        player = LabPlayer(world, LAB)
        LAB.solve(player)
        live = player.attempt
        world.sleep()
        rows = list(rows_since(tmp_path / "sandboxes" / "world" / "journal", 0))
    [graded] = grade(map(from_row, rows))
    assert graded.replayed == graded.live
    assert [type(event) for event in graded.live] == [StepMet] * len(LAB.steps) + [LabFinished]
    assert graded.attempt.met == live.met
    assert graded.attempt.receipts.kept == live.receipts.kept
    assert {receipt.part for receipt in live.receipts.kept} == {"predict", "say", "why"}


def test_a_changed_line_of_the_journal_changes_every_later_receipt() -> None:
    played = play(LAB, LAB.solve, 1)
    changed = [
        entry._replace(event=PredictionGiven(LAB.slug, 1, "999"))
        if isinstance(entry.event, PredictionGiven) and entry.event.step == 1
        else entry
        for entry in played.entries
    ]
    [graded] = grade(changed)
    ours, theirs = (attempt.receipts.kept for attempt in (played.attempt, graded.attempt))
    assert [one.seq for one in ours] == [other.seq for other in theirs]
    assert not any(one.digest == other.digest for one, other in zip(ours, theirs, strict=True))


def test_an_attempt_executed_again_writes_the_same_journal(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, "empty", seed=4, luck=1)
    numbers = LAB.numbers("4", 1)
    assert recorded.act("StartLab", lab=LAB.slug)
    recorded.run(2)
    assert recorded.act("AnswerStep", lab=LAB.slug, step=1, part="predict", value="2")
    assert recorded.act("StartConsumer", group=numbers["group"], copies=numbers["members"] - numbers["at_first"])
    recorded.run(30)
    assert recorded.act("AnswerStep", lab=LAB.slug, step=1, part="say", value=str(numbers["idle"]))
    assert recorded.act("AnswerStep", lab=LAB.slug, step=1, part="why", value="one_owner")
    recorded.run(2)
    recorded.sleep()
    recorded.wake()
    recorded.run(2)
    assert not recorded.act("AnswerStep", lab=LAB.slug, step=1, part="why", value="one_owner")
    recorded.close()
    rows = list(rows_since(recorded.directory / "journal", 0))
    assert [row["step"] for row in rows if row["type"] == "StepMet"] == [1]
    found = replay(recorded.directory)
    assert (found.first_difference, found.events) == (None, len(rows))


def test_ports_stay_closed_while_a_lab_is_in_progress(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, "empty", seed=4, luck=1)
    assert recorded.act("StartLab", lab=LAB.slug)
    why = refusal(lambda: recorded.machine.sim.run(recorded.host.open_listener(SLUG)))
    assert (why.status, why.values["lab"]) == (409, "4")
    assert recorded.act("AnswerStep", lab=LAB.slug, step=1, part="predict", value="2"), "and the sandbox stays awake"
    recorded.close()


def deletes(world: World, *, aged: bool) -> LabPlayer:
    """Lab 8 up to the deletion, and not a millisecond further; everything that runs is stopped before."""
    player = LabPlayer(world, LABS["retention"])
    n = player.numbers
    player.wait(10)
    player.predict("deletes")
    player.act(StopActor(actor=n["reader"]))
    player.act(SendMessages(topic=n["topic"], count=n["burst"], body_bytes=n["body"]))
    player.wait(20)
    if aged:
        player.act(AgeFiles(broker=n["broker"], hours=2))
    world.act(CleanFiles(broker=n["broker"]))
    return player


def test_what_follows_an_action_in_its_millisecond_is_looked_at_at_once(tmp_path: Path) -> None:
    """The next entry of a quiet sandbox may be half a minute away."""
    with World(tmp_path, seed=3, preset="teaching") as world:
        player = deletes(world, aged=True)
        assert player.attempt.phase == "say"


def test_what_an_action_did_not_do_is_said_without_another_entry(tmp_path: Path) -> None:
    with World(tmp_path, seed=3, preset="teaching") as world:
        player = deletes(world, aged=False)
        entries = len(world.entries())
        world.run(2)
        shown = world.read("lab").data["lab"]["open"]["verdict"]
        assert (shown["state"], len(world.entries())) == ("wrong", entries)
        assert shown["text"].startswith("Nothing was deleted: files are kept for one hour")
        assert player.attempt.verdict.sentence() == "The deletion has not run yet.", "entries alone are folded"
