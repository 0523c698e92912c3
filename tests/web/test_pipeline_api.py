"""The pipeline by JSON: runs are asked for, watched and cancelled, and what they found out is read."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from queueviz.models import PipelineRun, Sandbox
from queueviz.runs import directories
from queueviz.runs.heartbeat import Heartbeat
from queueviz.runs.tables import Result
from tests.web.pipeline_results import leave
from tests.web.test_api import JSON, bearer, make

State = PipelineRun.State
pytestmark = pytest.mark.usefixtures("jobs")


@pytest.fixture
def made(visitor: Client) -> dict[str, Any]:
    return make(visitor, template="orders")


@pytest.fixture
def runs(made: dict[str, Any]) -> str:
    return f"/api/sandboxes/{made['slug']}/runs"


def ask(client: Client, runs: str, job: str = "delivery_audit", **options: str) -> Any:
    return client.post(runs, {"job": job, "options": options}, content_type=JSON)


def test_a_run_is_asked_for_and_waits(visitor: Client, runs: str) -> None:
    answer = ask(visitor, runs, "hot_keys", topic="orders")
    assert answer.status_code == 201
    reported = answer.json()
    assert (reported["job"], reported["state"], reported["who"]) == ("hot_keys", "queued", "anonymous")
    assert reported["options"] == {"topic": "orders"}
    assert (reported["stage"], reported["started_ms"], reported["why"], reported["true_to"]) == (None, None, "", None)
    assert visitor.get(f"{runs}/{reported['run']}").json() == reported
    listed = visitor.get(runs).json()
    assert (listed["worker"], listed["runs"]) == (False, [reported])
    assert listed["jobs"]["hot_keys"] == ["topic"]


def test_a_living_worker_is_reported(visitor: Client, runs: str) -> None:
    heartbeat = Heartbeat(directories.home() / directories.FOLDER)
    assert heartbeat.take()
    assert visitor.get(runs).json()["worker"] is True
    heartbeat.stop()
    assert visitor.get(runs).json()["worker"] is False


def test_a_waiting_run_is_cancelled_at_once_and_one_at_work_is_asked_to_end(visitor: Client, runs: str) -> None:
    waiting, at_work = ask(visitor, runs).json()["run"], ask(visitor, runs, "latency").json()["run"]
    PipelineRun.objects.filter(run=at_work).update(state=State.RUNNING)
    assert visitor.delete(f"{runs}/{waiting}").json()["state"] == "cancelled"
    ending = visitor.delete(f"{runs}/{at_work}").json()
    assert (ending["state"], ending["cancelling"]) == ("running", True)
    PipelineRun.objects.filter(run=at_work).update(state=State.DONE)
    assert visitor.delete(f"{runs}/{at_work}").json()["state"] == "done", "what is over stays as it is"


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({"job": "grep"}, 422, "Job grep does not exist."),
        ({"job": "export"}, 422, "Job export does not exist."),
        ({"job": "hot_keys", "options": {"colour": "red"}}, 422, "hot_keys has no option colour."),
        ({"job": "hot_keys", "options": {"topic": "x" * 201}}, 422, "The option topic is longer than 200 characters."),
        ({"job": "hot_keys", "options": {"topic": 7}}, 422, "options.topic: Input should be a valid string."),
        ({"options": {}}, 422, "job: Field required."),
    ],
)
def test_a_wrong_wish_is_refused_with_a_sentence(
    visitor: Client, runs: str, body: dict[str, Any], status: int, error: str
) -> None:
    answer = visitor.post(runs, body, content_type=JSON)
    assert (answer.status_code, answer.json()["error"]) == (status, error)
    assert answer.json()["hint"]
    assert not PipelineRun.objects.exists()


def test_a_visitor_has_two_runs_at_a_time(visitor: Client, runs: str) -> None:
    ask(visitor, runs)
    ask(visitor, runs, "latency")
    answer = ask(visitor, runs, "hot_keys")
    assert (answer.status_code, answer.json()["error"]) == (
        429,
        "You have 2 runs waiting or in progress; 2 are allowed.",
    )
    PipelineRun.objects.filter(job="latency").update(state=State.FAILED)
    assert ask(visitor, runs, "hot_keys").status_code == 201


def test_twenty_runs_wait_on_a_server_and_no_more(visitor: Client, runs: str) -> None:
    other = Sandbox.objects.create(slug="other", name="Other", template="orders", visited_at=timezone.now())
    for _ in range(20):
        PipelineRun.objects.create(sandbox=other, job="latency", who="token", visitor="somebody else")
    answer = ask(visitor, runs)
    assert (answer.status_code, answer.json()["error"]) == (
        429,
        "20 runs are waiting on this server. It accepts no more.",
    )


def test_fifty_runs_of_a_sandbox_are_kept(visitor: Client, runs: str, made: dict[str, Any]) -> None:
    sandbox = Sandbox.objects.get(slug=made["slug"])
    for _ in range(60):
        PipelineRun.objects.create(sandbox=sandbox, job="latency", who="ada", visitor="v", state=State.DONE)
    newest = ask(visitor, runs).json()["run"]
    listed = visitor.get(runs).json()["runs"]
    assert (PipelineRun.objects.count(), len(listed), listed[0]["run"]) == (50, 50, newest)


def test_a_job_that_is_on_already_is_not_asked_for_twice(visitor: Client, runs: str) -> None:
    assert ask(visitor, runs).status_code == 201
    again = ask(visitor, runs)
    assert (again.status_code, again.json()["error"]) == (409, "This job is already waiting or in progress.")


def test_who_may_only_look_asks_for_nothing_and_cancels_nothing(visitor: Client, anonymous: Client, runs: str) -> None:
    run = ask(visitor, runs).json()["run"]
    assert anonymous.get(runs).status_code == 200
    assert ask(anonymous, runs, "latency").status_code == 403
    assert anonymous.delete(f"{runs}/{run}").status_code == 403
    assert PipelineRun.objects.get().state == State.QUEUED


def test_a_private_sandbox_shows_visitors_without_rights_neither_runs_nor_results(
    visitor: Client, anonymous: Client, runs: str, made: dict[str, Any]
) -> None:
    Sandbox.objects.update(visibility=Sandbox.Visibility.PRIVATE)
    leave("delivery_audit", made["slug"], {"summary": []})
    for address in (
        runs,
        f"/api/sandboxes/{made['slug']}/pipeline/delivery_audit",
        f"/api/sandboxes/{made['slug']}/pipeline/delivery_audit/summary",
    ):
        assert anonymous.get(address).status_code == 404
        assert anonymous.get(address, headers=bearer(made["token"])).status_code == 200


def test_a_run_of_another_sandbox_is_not_found_here(visitor: Client, runs: str) -> None:
    run = ask(visitor, runs).json()["run"]
    elsewhere = make(visitor, template="orders")["slug"]
    assert visitor.get(f"/api/sandboxes/{elsewhere}/runs/{run}").status_code == 404


def test_a_result_is_reported_with_what_it_is_true_to_and_read_in_pieces(visitor: Client, made: dict[str, Any]) -> None:
    address = f"/api/sandboxes/{made['slug']}/pipeline/delivery_audit"
    missing = visitor.get(address)
    assert (missing.status_code, missing.json()["error"]) == (404, "delivery_audit has not run on this sandbox yet.")
    rows = [{"group": "g", "topic": "t", "verdict": "once", "messages": n, "example_seq": 2**60 + n} for n in range(5)]
    leave("delivery_audit", made["slug"], {"summary": rows})
    assert visitor.get(address).json() == {
        "job": "delivery_audit",
        "run": "r1",
        "made_ms": 1_795_142_525_350,
        "true_to": "18390",
        "tables": {"summary": 5},
    }
    lines = visitor.get(f"{address}/summary?after=1&most=2").content.splitlines()
    assert lines == [
        b'{"sandbox":"%s","group":"g","topic":"t","verdict":"once","cause":null,"messages":%d,'
        b'"example_seq":"%d"}' % (made["slug"].encode(), n, 2**60 + n)
        for n in (1, 2)
    ]
    wrong = visitor.get(f"{address}/../summary")
    assert wrong.status_code == 404
    assert visitor.get(f"{address}/nothing").json()["error"] == "delivery_audit has no table nothing."


def test_a_result_that_is_replaced_while_it_is_read_is_read_anew(visitor: Client, made: dict[str, Any]) -> None:
    row = {"group": "g", "topic": "t", "verdict": "once", "example_seq": 1}
    leave("delivery_audit", made["slug"], {"summary": [{**row, "messages": 1}]}, run="old")
    result = Result("delivery_audit", made["slug"])
    leave("delivery_audit", made["slug"], {"summary": [{**row, "messages": 2}]}, run="new")  # the old files are gone
    assert [found["messages"] for found in result.rows("summary", dict, most=10).rows] == [2]
    assert result.manifest is not None
    assert result.manifest.run == "new"


def test_a_manifest_no_one_can_read_is_as_none(visitor: Client, made: dict[str, Any]) -> None:
    out = leave("delivery_audit", made["slug"], {"summary": []})
    (out / "manifest.json").write_text("{")
    assert visitor.get(f"/api/sandboxes/{made['slug']}/pipeline/delivery_audit").status_code == 404


def test_the_first_rows_of_an_order_are_found_whatever_lies_before_them(made: dict[str, Any]) -> None:
    rows = [{"group": "g", "topic": "t", "verdict": "once", "messages": n, "example_seq": 100 - n} for n in range(50)]
    leave("delivery_audit", made["slug"], {"summary": rows})
    found = Result("delivery_audit", made["slug"]).first("summary", dict, ["example_seq"], most=3)
    assert ([row["example_seq"] for row in found.rows], found.is_cut) == ([51, 52, 53], True)


def test_the_openapi_page_names_every_address_of_the_pipeline(visitor: Client) -> None:
    paths = visitor.get("/api/openapi.json").json()["paths"]
    assert {
        "/api/sandboxes/{slug}/runs",
        "/api/sandboxes/{slug}/runs/{run}",
        "/api/sandboxes/{slug}/pipeline/{job}",
        "/api/sandboxes/{slug}/pipeline/{job}/{table}",
    } <= set(paths)
