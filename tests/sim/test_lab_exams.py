"""A lab as an exam: no hints, one attempt, and right predictions count, however it is graded."""

import io
import json
from collections import Counter
from pathlib import Path

import pytest
from django.core.management import call_command

from sandbox.control.actions import RestartLab, StartLab, TakeHint, fields_of
from sandbox.journal.events import ActionTaken, LabFinished, LabStarted
from sandbox.journal.schema import from_row, to_row
from sandbox.journal.segments import rows_since
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.catalogue import LABS
from sandbox.labs.catalogue.packs import EXAM_LABS, PACKS, Pack, exam_of, pack_of
from sandbox.labs.grade import grade
from sandbox.labs.script import Hands
from sandbox.simulation.lab_check import graded_the_same
from sandbox.simulation.lab_player import LabPlayer, play
from sandbox.simulation.replay import replay
from sandbox.simulation.world import World
from tests.sim.recorded_stage import Recorded

LAB = LABS["members-and-queues"]


class Wrong:
    """The hands of the right script, whose predictions are all far off."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands

    def __getattr__(self, name: str) -> object:
        return getattr(self._hands, name)

    def predict(self, value: float | str) -> None:
        self._hands.predict(9_000)


@pytest.mark.parametrize(("exam", "score"), [(False, 100), (True, 70)])
def test_wrong_predictions_cost_thirty_points_in_an_exam_alone(exam: bool, score: int) -> None:
    played = play(LAB, lambda hands: LAB.solve(Wrong(hands)), 1, exam=exam)  # type: ignore[arg-type]
    assert (played.attempt.score, played.attempt.exam, played.attempt.finished) == (score, exam, True)
    assert graded_the_same(played), "live and from the journal alone"
    assert [entry.event.score for entry in played.entries if isinstance(entry.event, LabFinished)] == [score]


def test_hints_and_a_new_attempt_are_refused_with_the_reason(tmp_path: Path) -> None:
    with World(tmp_path, seed=3) as world:
        world.act(StartLab(lab=LAB.slug, exam=True))
        for action, sentence in (
            (TakeHint(lab=LAB.slug, step=1), "Exams have no hints."),
            (RestartLab(lab=LAB.slug), "Exams allow one attempt."),
        ):
            with pytest.raises(ActionRefused) as caught:
                world.act(action)
            assert (caught.value.status, str(caught.value)) == (409, sentence)
        row = world.ask("lab-state")["lab"]
        assert (row["exam"], row["open"]["hints_left"]) == (True, 0)


def test_it_is_an_exam_after_sleep_and_in_the_journal_s_files(tmp_path: Path) -> None:
    with World(tmp_path, seed=5) as world:
        player = LabPlayer(world, LAB, exam=True)
        world.sleep()
        world.wake()
        assert player.attempt.exam
        world.sleep()
    directory = tmp_path / "sandboxes" / "world"
    [graded] = grade(map(from_row, rows_since(directory / "journal", 0)))
    assert graded.attempt.exam
    out = io.StringIO()
    call_command("lab", "play", str(directory), "--json", stdout=out)
    assert json.loads(out.getvalue())[0]["exam"] is True


def test_an_exam_executed_again_writes_the_same_journal(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, "empty", seed=4, luck=1, look_s=0)
    assert recorded.act("StartLab", lab=LAB.slug, exam=True)
    recorded.run(2)
    assert recorded.act("AnswerStep", lab=LAB.slug, step=1, part="predict", value="2")
    recorded.run(2)
    recorded.sleep()
    recorded.close()
    assert replay(recorded.directory).first_difference is None


def test_journals_without_exams_are_written_as_before_there_were_any(tmp_path: Path) -> None:
    """So a lab of an older journal is read, and executed again it writes the same lines."""
    with World(tmp_path, seed=3) as world:
        world.act(StartLab(lab=LAB.slug))
        [started], [action, *_] = world.entries(LabStarted), world.entries(ActionTaken)
    row = to_row(started, longs_as_text=False)
    assert row == {
        "seq": started.seq,
        "at_ms": started.at_ms,
        "type": "LabStarted",
        "cause": started.cause,
        "lab": LAB.slug,
        "attempt": 1,
        "seed": "3",
    }
    assert from_row(row) == started
    assert action.event.fields == {"lab": LAB.slug}
    assert fields_of(StartLab(lab=LAB.slug, exam=True)) == {"lab": LAB.slug, "exam": True}


@pytest.mark.parametrize("pack", PACKS, ids=[pack.slug for pack in PACKS])
def test_an_exam_is_five_labs_of_its_pack_once_each_and_the_same_for_a_seed(pack: Pack) -> None:
    chosen = pack_of(pack.slug)
    assert chosen == pack
    drawn = [exam_of(chosen, str(seed)) for seed in range(40)]
    assert drawn == [exam_of(chosen, str(seed)) for seed in range(40)]
    assert {len(labs) for labs in drawn} == {min(EXAM_LABS, len(chosen.labs))}
    for labs in drawn:
        assert Counter(lab.slug for lab in labs) <= Counter(lab.slug for lab in chosen.labs)
    assert len({tuple(lab.slug for lab in labs) for labs in drawn}) > 5
    assert {lab.slug for labs in drawn for lab in labs} == {lab.slug for lab in chosen.labs}
