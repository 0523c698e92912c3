"""Each incident opened without knowledge: the first sentence names its cause, not after the marker that reveals it."""

from pathlib import Path
from typing import NamedTuple

import pytest

from sandbox.findings.all_rules import BY_CODE
from sandbox.findings.recorded import open_findings
from sandbox.labs.incidents import INCIDENTS
from sandbox.labs.incidents.incident import BEGIN_MS, Note
from tests.sim.incident_stage import played

DOCS = Path(__file__).parents[2] / "docs" / "findings.md"
EVEN_A_NOTE = {"member-holds-back"}  # a limit protects the member: its finding is a note


class Measured(NamedTuple):
    """The event at which the finding of an incident opens, and the note that reveals the cause, with their times."""

    opened: int
    opened_s: float
    note: Note
    number: int  # of the marker
    reveals_s: float

    def row(self, slug: str) -> str:
        marker = f"{self.number} *{self.note.title}*, {self.reveals_s:.1f} s"
        lead_s = self.reveals_s - self.opened_s
        return f"| `{slug}` | `{INCIDENTS[slug].finding}` | {self.opened_s:.1f} s | {marker} | {lead_s:.1f} s |"


def measured(slug: str) -> Measured:
    run, incident = played(slug), INCIDENTS[slug]
    number, marker = next((n, each) for n, each in enumerate(incident.markers, 1) if each.reveals)
    opened = next(row for row in run.rows if row["type"] == "FindingOpened" and row["code"] == incident.finding)
    opened_s, reveals_s = ((at_ms - BEGIN_MS) / 1000 for at_ms in (opened["at_ms"], run.at_ms(marker.title)))
    return Measured(opened["seq"], opened_s, run.note(marker.title), number, reveals_s)


def test_every_incident_declares_its_finding_and_one_marker_that_reveals_its_cause() -> None:
    assert len(INCIDENTS) == 13
    for incident in INCIDENTS.values():
        assert incident.finding in BY_CODE
        assert sum(marker.reveals for marker in incident.markers) == 1


@pytest.mark.parametrize("slug", INCIDENTS)
def test_the_finding_opens_before_or_with_the_marker_that_reveals_the_cause(slug: str) -> None:
    measure = measured(slug)
    assert measure.opened <= measure.note.seq


@pytest.mark.parametrize("slug", INCIDENTS)
def test_the_first_sentence_at_that_marker_is_of_the_cause(slug: str) -> None:
    run, until = played(slug), measured(slug).note.seq
    first, *_ = open_findings(row for row in run.rows if row["seq"] <= until).findings
    assert first["code"] == INCIDENTS[slug].finding
    assert first["says"]


@pytest.mark.parametrize("slug", INCIDENTS)
def test_no_other_error_or_warning_opens_before_the_cause(slug: str) -> None:
    opened = [
        row
        for row in played(slug).rows
        if row["type"] == "FindingOpened" and (row["severity"] != "info" or slug in EVEN_A_NOTE)
    ]
    assert opened[0]["code"] == INCIDENTS[slug].finding


def test_the_table_of_incidents_has_what_is_measured() -> None:
    text = DOCS.read_text("utf-8")
    assert [row for row in (measured(slug).row(slug) for slug in INCIDENTS) if row not in text] == []
