"""Findings at a past event, read from the journal, are those that were open at that event."""

from collections.abc import Callable

import pytest

from sandbox.findings.finding import MEMBER
from sandbox.findings.recorded import open_findings
from sandbox.journal.schema import Row, from_row, to_row
from tests.sim.finding_stage import FindingStage
from tests.sim.incident_stage import played


@pytest.fixture
def stage(staged: Callable[..., FindingStage]) -> FindingStage:
    return staged(queues=4)


def facts_of(stage: FindingStage) -> list[Row]:
    """The facts as a browser receives them, through a file and back."""
    written = [to_row(entry, longs_as_text=False) for entry in stage.world.entries()]
    return [to_row(from_row(row), longs_as_text=True) for row in written if row["type"].startswith("Finding")]


def test_the_journal_has_the_open_findings_with_their_causes(stage: FindingStage) -> None:
    for actor in ("A", "B"):
        stage.member(actor, threads=1, work_ms=[400, 500])
    stage.producer(12)
    for action, fields in (
        ("HangActor", {"actor": "A"}),
        ("KillBroker", {"broker": "broker-a"}),
        ("StartBroker", {"broker": "broker-a"}),
        ("ResumeActor", {"actor": "A"}),
    ):
        stage.run(70)
        stage.act(action, **fields)
        stage.run(40)
        live = stage.world.sandbox.findings.watch.tracker.open
        recorded = open_findings(facts_of(stage)).findings
        assert {(row["code"], row["because_of"] is None) for row in recorded} == {
            (each.finding.code, each.because_of is None) for each in live
        }
        assert all(row["text"] for row in recorded)
    assert len({fact["code"] for fact in facts_of(stage)}) >= 3


def test_a_fact_has_the_sentences_and_the_marks_of_its_opening(stage: FindingStage) -> None:
    stage.member("A")
    stage.producer(5)
    stage.run(30)
    stage.act("HangActor", actor="A")
    stage.run(20)
    opened = next(each for each in stage.opened if each.code == "member_hung")
    row = next(row for row in open_findings(facts_of(stage)).findings if row["code"] == "member_hung")
    assert (row["kind"], row["subject"]) == (MEMBER, "A")
    assert row["text"] == opened.text
    assert row["marks"][0].startswith("member/")


def test_members_that_differ_keep_a_sentence_each(stage: FindingStage) -> None:
    stage.member("A", expression="a")
    stage.member("B", expression="b")
    stage.run(20)
    [row] = open_findings(facts_of(stage)).findings
    assert [each["sentence"] for each in row["says"][:2]] == ["expression", "expression"]


def test_no_finding_outlives_a_sleep_that_wrote_no_end() -> None:
    rows = [row for row in played("lag-after-a-deploy").rows if row["type"] == "FindingOpened"]
    assert open_findings(rows).findings
    assert open_findings([*rows, {"type": "SandboxWoken", "reason": "visit"}]).findings == []


def test_a_fact_of_an_earlier_version_has_a_subject_and_no_sentence() -> None:
    [fact] = [row for row in played("lag-after-a-deploy").rows if row["type"] == "FindingOpened"]
    earlier = {name: value for name, value in fact.items() if name not in ("says", "marks", "touches")}
    [row] = open_findings([earlier]).findings
    assert (row["subject"], row["says"], row["marks"]) == ("billing", [], [])


def test_a_sentence_that_this_version_does_not_have_is_left_out() -> None:
    [fact] = [row for row in played("lag-after-a-deploy").rows if row["type"] == "FindingOpened"]
    [row] = open_findings([{**fact, "says": [["of_later", {}], ["one_busy", {"who": "A"}], *fact["says"]]}]).findings
    assert [each["sentence"] for each in row["says"]] == [name for name, _ in fact["says"]]
