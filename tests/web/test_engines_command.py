"""`manage.py engines`: the table of engines for a person, or for a program."""

import io
import json
from types import SimpleNamespace

import pytest
from django.core.management import call_command

from queueviz.management.commands import engines
from sandbox.hosting.lease import Figures, Listed


def printed(*options: str) -> str:
    out = io.StringIO()
    call_command("engines", *options, stdout=out)
    return out.getvalue()


def test_without_an_engine_a_person_reads_why_and_a_program_an_empty_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "lease_table", lambda: SimpleNamespace(engines=list))
    assert "On one machine `manage.py serve` needs none." in printed()
    assert json.loads(printed("--json")) == json.loads(printed("list", "--json")) == {"engines": []}


def test_an_engine_is_a_line_for_a_person_and_an_object_for_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Listed("one", "engine-1", "host-a", False, 9.0, 2, Figures())
    monkeypatch.setattr(engines, "lease_table", lambda: SimpleNamespace(engines=lambda: [row]))
    assert [line.split()[0] for line in printed().splitlines()][-1] == "engine-1"
    [found] = json.loads(printed("--json"))["engines"]
    assert (found["name"], found["host"]) == ("engine-1", "host-a")
    assert found["figures"] == {"awake": None, "cap": None, "frame_age_ms": None}, "it has not reported any"
