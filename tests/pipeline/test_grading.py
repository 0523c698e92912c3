"""Labs graded on Spark: as they were graded live, by `lab play`, and when the run is executed again."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.management import call_command

from sandbox.journal.events import Entry, LabFinished, PredictionGiven, StepMet
from sandbox.journal.schema import from_row
from sandbox.journal.segments import SegmentWriter, rows_since
from sandbox.labs.catalogue import LABS
from sandbox.simulation.lab_player import play
from sandbox.simulation.replay import replay
from tests.pipeline.audits import table
from tests.pipeline.conftest import Run
from tests.sim.recorded_stage import Recorded

pytestmark = pytest.mark.pipeline

LAB = LABS["members-and-queues"]


def journal_of(entries: list[Entry], directory: Path) -> str:
    writer = SegmentWriter(directory)
    for entry in entries:
        writer.append(entry)
    writer.close()
    return str(directory)


@pytest.fixture(scope="module")
def attempt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sandbox's directory with an attempt whose first observation is wrong."""
    home = tmp_path_factory.mktemp("attempt")
    recorded = Recorded(home, "empty", seed=4, luck=1)
    numbers = LAB.numbers("4", 1)
    answers = [("predict", "2"), None, ("say", "0"), ("say", str(numbers["idle"])), ("why", "one_owner")]
    assert recorded.act("StartLab", lab=LAB.slug)
    recorded.run(2)
    for answer in answers:
        if answer is None:
            recorded.act("StartConsumer", group=numbers["group"], copies=numbers["members"] - numbers["at_first"])
            recorded.run(30)
        else:
            assert recorded.act("AnswerStep", lab=LAB.slug, step=1, part=answer[0], value=answer[1])
            recorded.run(1)
    recorded.close()
    return recorded.directory


def test_spark_grades_as_it_was_graded_live_and_by_the_command_and_executed_again(
    run: Run, attempt: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = attempt / "journal"
    live = [
        entry.event for entry in map(from_row, rows_since(journal, 0)) if isinstance(entry.event, StepMet | LabFinished)
    ]
    assert replay(attempt).first_difference is None, "executed again it writes the same lines, the grade's too"
    capsys.readouterr()
    call_command("lab", "play", str(attempt), "--json")
    [played] = orjson.loads(capsys.readouterr().out)

    *_, last = run("grading", journals={"one": str(journal)})
    assert last["state"] == "done", last
    rows = {
        name: table(tmp_path / "out", name)
        for name in ("attempts", "steps", "mistakes", "receipts", "differences", "unread")
    }
    [step] = rows["steps"]
    assert [StepMet(LAB.slug, 1, str(step["said"]), tuple(step["rests_on"]))] == live
    assert (step["given"], step["truth"]) == ("2", str(LAB.numbers("4", 1)["idle"]))
    assert step["rests_on"] == played["steps"][0]["rests_on"]
    [mistake], [graded] = rows["mistakes"], rows["attempts"]
    assert mistake["said"] == played["mistakes"][0]["sentence"]
    assert (graded["score"], graded["met"], graded["finished"]) == (played["score"], 1, played["finished"])
    assert [row["digest"] for row in rows["receipts"]] == [row["digest"] for row in played["receipts"]]
    assert rows["differences"] == rows["unread"] == []


def test_a_forged_grade_a_changed_answer_and_a_torn_journal_are_named_and_the_others_graded(
    run: Run, tmp_path: Path
) -> None:
    honest = list(play(LAB, LAB.solve, 1).entries)
    wrong = play(LAB, LAB.wrong[0].play, 1).entries
    boast = Entry(wrong[-1].seq + 1, wrong[-1].at_ms, None, LabFinished(LAB.slug, 1, 100))
    praised = [
        entry._replace(event=entry.event._replace(why="Well done.", evidence=(7,)))
        if isinstance(entry.event, StepMet)
        else entry
        for entry in honest
    ]
    edited = [
        entry._replace(event=entry.event._replace(value="999")) if isinstance(entry.event, PredictionGiven) else entry
        for entry in honest
    ]
    journals = {
        name: journal_of(entries, tmp_path / name / "journal")
        for name, entries in (
            ("honest", honest),
            ("boasting", [*wrong, boast]),
            ("praised", praised),
            ("edited", edited),
            ("torn", honest),
        )
    }
    [segment, *_] = sorted(Path(journals["torn"]).iterdir())
    segment.write_bytes(segment.read_bytes().replace(b'"type":"LabStarted"', b'"type":"Laboratory"', 1))

    *_, last = run("grading", journals=journals)
    assert last["state"] == "done", last
    out = tmp_path / "out"
    assert {row["sandbox"] for row in table(out, "unread")} == {"torn"}
    assert {row["sandbox"]: row["live"] for row in table(out, "differences")} == {
        "boasting": "finished with 100",
        "praised": "Well done. (events 7)",
    }
    digests: dict[object, Any] = {row["sandbox"]: row["digest"] for row in table(out, "attempts")}
    assert set(digests) == {"honest", "boasting", "praised", "edited"}
    assert digests["edited"] != digests["honest"], "the receipt a student has is not that of a changed journal"
