"""Written by tests/house/test_few_places.py into a copy of the tree that has the recipes of docs/adding-*.md."""

from types import SimpleNamespace

import pytest
from django.test import Client

from queueviz.boards.action_texts import ACTIONS
from queueviz.boards.fact_texts import FACTS
from sandbox.control.actions import parse_action
from sandbox.journal.events import MomentMarked
from sandbox.kernel.errors import ActionRefused
from sandbox.pipeline.jobs.all_jobs import JOBS
from sandbox.pipeline.jobs.job import Given, Source
from sandbox.simulation.world import World

JSON = "application/json"


def test_the_action_writes_the_event_which_the_question_counts(tmp_path):
    assert parse_action({"action": "MarkMoment", "note": "Look"}).verb == "act"
    with World(tmp_path) as world:
        with pytest.raises(ActionRefused):
            world.act("MarkMoment", note="look")
        world.act("MarkMoment", note="Look")
        assert [entry.event for entry in world.entries(MomentMarked)] == [MomentMarked("Look")]
        assert world.ask("count-moments", note="Look") == {"count": 1}
        assert world.read("moments").data == {"notes": {"0": {"note": "Look"}}}


def test_the_journal_has_their_sentences():
    assert str(ACTIONS["MarkMoment"]) == "moment {note} marked"
    assert str(FACTS["MomentMarked"].text) == "noted: {note}"


@pytest.mark.django_db(transaction=True)
def test_the_page_shows_what_its_channel_reads(real_engine):
    client = Client()
    slug = client.post("/api/sandboxes", {"template": "empty"}, content_type=JSON).json()["slug"]
    dialog = client.get(f"/s/{slug}/part/ask/?form=moment")
    assert 'value="MarkMoment"' in dialog.content.decode()
    assert client.post(f"/s/{slug}/actions/", {"action": "MarkMoment", "note": "Look"}).status_code == 204
    page = client.get(f"/s/{slug}/moments/")
    assert page.status_code == 200
    assert "<li>Look</li>" in page.content.decode()
    assert f'href="/s/{slug}/moments/"' in page.content.decode(), "it stands in the navigation"
    assert page.context["live"]["first"][f"moments/{slug}"]["data"] == {"notes": {"0": {"note": "Look"}}}


def test_the_job_is_listed_and_runs(monkeypatch, tmp_path):
    """Without Spark: what it asks of the journal's entries."""
    job = JOBS["moments"]
    entries = SimpleNamespace(select=lambda *columns: columns)
    monkeypatch.setattr("sandbox.pipeline.jobs.moments.entries_of", lambda given, event: entries)
    assert job.run(Given(None, Source({}, {}), {}, tmp_path)) == {"moments": ("sandbox", "at_ms", "note")}
