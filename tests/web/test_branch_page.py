"""Branches: the button, the page of their progress, and the engine itself by the API."""

from typing import Any

import pytest
from django.test import Client

from queueviz import engine
from queueviz.models import Course, Sandbox
from sandbox.cluster.config import HostConfig
from sandbox.control.actions import CrashActor
from sandbox.kernel.errors import ActionRefused
from tests.web.courses import begun, joined
from tests.web.engine_calls import act, events, start
from tests.web.fake_port import CRASH_TAKEN, FakePort

JSON = "application/json"


def test_the_button_makes_a_branch_that_names_its_parent(visitor: Client, mine: str, port: FakePort) -> None:
    answer = visitor.post(f"/s/{mine}/branch/", {"at": "8"})
    made = Sandbox.objects.get(branch_of=mine)
    assert (answer.status_code, answer["Location"]) == (302, f"/s/{made.slug}/branching/")
    assert (made.branch_at, made.template, port.branched[0].changes) == (8, "orders", {})
    assert b"re-executed up to event" in visitor.get(f"/s/{made.slug}/branching/").content
    port.sandboxes[made.slug] = "live"
    answer = visitor.get(f"/s/{made.slug}/branching/", headers={"HX-Request": "true"})
    assert answer["HX-Redirect"] == f"/s/{made.slug}/"
    assert f"branch of {mine} at #8" in visitor.get(f"/s/{made.slug}/").content.decode()


def test_a_branch_is_as_private_as_its_parent(visitor: Client, mine: str) -> None:
    Sandbox.objects.filter(slug=mine).update(visibility="private")
    visitor.post(f"/s/{mine}/branch/", {"at": "8"})
    made = Sandbox.objects.get(branch_of=mine)
    assert [one.get(f"/s/{made.slug}/").status_code for one in (visitor, Client())] == [200, 404]


def test_a_teacher_branches_a_lab_in_progress(teacher: Client, course: Course, port: FakePort) -> None:
    sandbox = begun(course, joined(course))
    port.answers["lab"] = {"lab": "members-and-queues", "exam": False, "finished": False}
    assert teacher.post(f"/s/{sandbox.slug}/branch/", {"at": "8"}).status_code == 302


@pytest.mark.parametrize(
    ("exam", "of_course", "finished", "status"),
    [(True, False, False, 409), (False, True, False, 409), (False, False, False, 302), (True, True, True, 302)],
)
def test_no_run_is_played_again_while_a_lab_of_a_course_or_an_exam_is_in_progress(
    visitor: Client, mine: str, port: FakePort, course: Course, exam: bool, of_course: bool, finished: bool, status: int
) -> None:
    port.answers["lab"] = {"lab": "members-and-queues", "exam": exam, "finished": finished}
    Sandbox.objects.filter(slug=mine).update(course=course if of_course else None)
    port.rows = [CRASH_TAKEN]
    port.refuse["ask"] = ActionRefused(503, "The sandbox is asleep.")
    assert visitor.post(f"/s/{mine}/branch/", {"at": "8"}).status_code == status
    if status == 409:
        assert visitor.post(f"/s/{mine}/what-if/", {"mode": "leave-out", "seq": "7"}).status_code == 409


def test_a_branch_that_is_cancelled_leaves_nothing(visitor: Client, mine: str) -> None:
    visitor.post(f"/s/{mine}/branch/", {"at": "8"})
    made = Sandbox.objects.get(branch_of=mine).slug
    assert visitor.post(f"/s/{made}/branching/")["Location"] == f"/s/{mine}/journal/"
    assert not Sandbox.objects.filter(slug=made).exists()


def test_what_the_engine_refuses_leaves_no_row_and_a_sentence(visitor: Client, mine: str, port: FakePort) -> None:
    port.refuse["branch"] = ActionRefused(
        409, "At event {seq} this run cannot be replayed.", "Branch before it.", seq=8
    )
    answer = visitor.post(f"/s/{mine}/branch/", {"at": "8"})
    assert (answer.status_code, Sandbox.objects.filter(branch_of=mine).count()) == (409, 0)
    assert b"At event 8 this run cannot be replayed." in answer.content


@pytest.mark.parametrize("at", ["", "x", "-1", "\u0663", "9" * 19])
def test_what_is_no_event_is_a_sentence(visitor: Client, mine: str, at: str) -> None:
    assert visitor.post(f"/s/{mine}/branch/", {"at": at}).status_code == 422


def test_a_program_leaves_out_and_replaces_actions(visitor: Client, mine: str, port: FakePort) -> None:
    body = {"at": 8, "without": [5], "instead": [{"seq": 7, "action": {"action": "CrashActor", "actor": "B"}}]}
    answer = visitor.post(f"/api/sandboxes/{mine}/branch", body, content_type=JSON)
    assert (answer.status_code, set(answer.json())) == (201, {"slug", "url", "token"})
    assert port.branched[0].changes == {5: None, 7: CrashActor(actor="B")}
    body["instead"] = [{"seq": 7, "action": {"action": "Nonsense"}}]
    assert visitor.post(f"/api/sandboxes/{mine}/branch", body, content_type=JSON).status_code == 422


@pytest.mark.django_db(transaction=True)
def test_a_branch_on_the_engine_has_its_parent_s_events(real_engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HostConfig, "__init__", _repeatable(HostConfig.__init__))
    engine.stop()
    client = Client()
    slug = start(client, "orders")
    seq = act(client, slug, action="CrashActor", actor="A")
    answer = client.post(f"/api/sandboxes/{slug}/branch", {"at": seq}, content_type=JSON)
    assert answer.status_code == 201, answer.content
    made = answer.json()["slug"]
    while client.get(f"/s/{made}/branching/").status_code == 200:
        pass
    parent, child = ([row for row in events(client, of) if int(row["seq"]) <= seq] for of in (slug, made))
    assert child == parent
    assert client.get(f"/s/{made}/").status_code == 200


def _repeatable(made: Any) -> Any:
    def init(self: HostConfig, **values: Any) -> None:
        made(self, **{**values, "repeatable": True})

    return init
