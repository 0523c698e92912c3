"""The page Pipeline: asking, watching, cancelling, and reading any table that was found."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone, translation

from queueviz.models import PipelineRun, Sandbox
from queueviz.runs import directories
from queueviz.runs.heartbeat import Heartbeat
from tests.web.clusters import browser_of, cluster
from tests.web.fake_port import FakePort
from tests.web.pipeline_results import leave

State = PipelineRun.State
pytestmark = pytest.mark.usefixtures("jobs")


def page(client: Client, slug: str, query: str = "") -> str:
    answer = client.get(f"/s/{slug}/pipeline/{query}")
    assert answer.status_code == 200
    return str(answer.content.decode())


def part(client: Client, slug: str, path: str = "runs/") -> Any:
    answer = client.get(f"/s/{slug}/part/{path}")
    assert answer.status_code == 200
    return answer


def run_of(slug: str, **fields: Any) -> PipelineRun:
    return PipelineRun.objects.create(
        **{"sandbox": Sandbox.objects.get(slug=slug), "job": "latency", "who": "ada", "visitor": "v", **fields}
    )


def test_every_job_is_offered_with_its_question_and_options(visitor: Client, mine: str) -> None:
    seen = page(visitor, mine)
    for said in (
        "Delivery audit",
        "What happened to each message, for each group?",
        "Lag history",
        "Latency",
        "Hot keys",
        'name="option.topic"',
    ):
        assert said in seen
    assert "No job has run on this sandbox yet." in seen


def test_a_run_is_asked_for_by_a_form_and_the_list_is_reported(visitor: Client, mine: str) -> None:
    answer = visitor.post(f"/s/{mine}/pipeline/", {"job": "hot_keys", "option.topic": " orders "})
    assert (answer.status_code, answer.content) == (200, b"")
    assert json.loads(answer["HX-Trigger"]) == {"queueviz:runs": {}}
    run = PipelineRun.objects.get()
    assert (run.job, run.options, run.state) == ("hot_keys", {"topic": "orders"}, State.QUEUED)
    assert "topic=orders" in part(visitor, mine).content.decode()


def test_a_refusal_stands_beside_the_form(visitor: Client, mine: str) -> None:
    visitor.post(f"/s/{mine}/pipeline/", {"job": "latency"})
    answer = visitor.post(f"/s/{mine}/pipeline/", {"job": "latency"})
    assert answer.status_code == 409
    assert "This job is already waiting or in progress." in answer.content.decode()
    gone = visitor.post(f"/s/{mine}/pipeline/", {"cancel": "nothing"})
    assert (gone.status_code, "Run nothing does not exist in this sandbox." in gone.content.decode()) == (422, True)


def test_the_list_asks_again_only_while_something_is_on(visitor: Client, mine: str) -> None:
    run = run_of(mine, state=State.DONE)
    assert "every 1s" not in part(visitor, mine).content.decode()
    PipelineRun.objects.filter(pk=run.pk).update(state=State.RUNNING)
    assert "every 1s" in part(visitor, mine).content.decode()


def test_a_run_shows_how_far_it_is_and_what_came_of_it(visitor: Client, mine: str) -> None:
    now = timezone.now()
    run = run_of(mine, state=State.RUNNING, started_at=now)
    assert "Spark is starting" in part(visitor, mine).content.decode()
    PipelineRun.objects.filter(pk=run.pk).update(stage=4, tasks_done=3, tasks=12)
    assert "stage 4: 3 of 12 tasks" in part(visitor, mine).content.decode()
    PipelineRun.objects.filter(pk=run.pk).update(
        state=State.DONE,
        started_at=now - timedelta(seconds=7),
        ended_at=now,
        tables={"percentiles": 12_345},
        true_to=18_390,
    )
    seen = part(visitor, mine).content.decode()
    for said in ("done", "7.0 s", "percentiles", "12\u2009345", "journal/?at=18390", f"pipeline/?job={run.job}"):
        assert said in seen


def test_why_a_run_failed_is_said_in_the_readers_language(visitor: Client, mine: str) -> None:
    run_of(
        mine,
        state=State.FAILED,
        why="It took longer than {minutes} minutes and was stopped.",
        why_values={"minutes": "10"},
    )
    assert "It took longer than 10 minutes and was stopped." in part(visitor, mine).content.decode()
    visitor.post("/language/", {"language": "zh-hans"})
    seen = part(visitor, mine).content.decode()
    translation.activate("en")
    assert "运行超过 10 分钟，已被停止。" in seen
    assert "失败" in seen


def test_a_run_at_work_is_cancelled_by_its_button(visitor: Client, mine: str) -> None:
    run = run_of(mine, state=State.RUNNING, stage=1, tasks=2)
    assert f'name="cancel" value="{run.run}"' in part(visitor, mine).content.decode()
    assert visitor.post(f"/s/{mine}/pipeline/", {"cancel": run.run}).status_code == 200
    run.refresh_from_db()
    assert run.cancel_asked
    assert "cancelling" in part(visitor, mine).content.decode()


def test_without_a_worker_the_page_says_which_command_starts_one(visitor: Client, mine: str) -> None:
    assert "manage.py pipelineworker" in page(visitor, mine)
    heartbeat = Heartbeat(directories.home() / directories.FOLDER)
    assert heartbeat.take()
    assert "manage.py pipelineworker" not in page(visitor, mine)
    heartbeat.stop()


def test_a_visitor_without_rights_sees_runs_and_may_neither_ask_nor_cancel(
    visitor: Client, anonymous: Client, mine: str
) -> None:
    run = run_of(mine, state=State.RUNNING)
    seen = page(anonymous, mine)
    assert run.run in seen
    assert 'name="cancel"' not in seen
    assert 'title="You can watch this sandbox, but not change it"' in seen
    assert anonymous.post(f"/s/{mine}/pipeline/", {"job": "latency"}).status_code == 403
    assert anonymous.post(f"/s/{mine}/pipeline/", {"cancel": run.run}).status_code == 403
    run.refresh_from_db()
    assert not run.cancel_asked


def test_any_table_that_was_found_can_be_read(visitor: Client, mine: str) -> None:
    assert "The audit has not run on this sandbox yet." in page(visitor, mine, "?job=delivery_audit")
    rows = [
        {"group": "g", "topic": "t", "verdict": "once", "messages": 1_234_567, "example_seq": n} for n in range(201)
    ]
    leave("delivery_audit", mine, {"summary": rows, "order_breaks": []})
    seen = page(visitor, mine, "?job=delivery_audit&table=summary")
    for said in (
        "1\u2009234\u2009567",
        "journal/?at=199",
        "The first 200 of 201 rows.",
        "valid up to event #18\u2009390",
        f"/api/sandboxes/{mine}/pipeline/delivery_audit/summary?most=10000",
    ):
        assert said in seen
    assert "journal/?at=200" not in seen
    assert "No rows found." in page(visitor, mine, "?job=delivery_audit&table=order_breaks")
    assert page(visitor, mine, "?job=../../etc")


def test_freshness_loads_the_page_again_when_a_new_result_has_come(visitor: Client, mine: str) -> None:
    assert "HX-Refresh" not in part(visitor, mine, "freshness/latency/?seen=")
    leave("latency", mine, {})
    assert part(visitor, mine, "freshness/latency/?seen=")["HX-Refresh"] == "true"
    again = part(visitor, mine, "freshness/latency/?seen=r1-1795142525350")
    assert "HX-Refresh" not in again
    assert "computed up to event" in again.content.decode()


def test_freshness_keeps_the_last_result_while_the_next_is_computed_or_has_failed(visitor: Client, mine: str) -> None:
    leave("latency", mine, {})
    run = run_of(mine, state=State.RUNNING, stage=2, tasks_done=1, tasks=2)
    seen = part(visitor, mine, "freshness/latency/?seen=r1-1795142525350").content.decode()
    for said in ("18\u2009390", "computing", "stage 2: 1 of 2 tasks", "every 1s"):
        assert said in seen
    PipelineRun.objects.filter(pk=run.pk).update(state=State.FAILED, why="The disk is full. Make room.")
    seen = part(visitor, mine, "freshness/latency/?seen=r1-1795142525350").content.decode()
    for said in ("18\u2009390", "The last run failed.", "The disk is full.", "Recompute"):
        assert said in seen


@pytest.mark.django_db
def test_a_real_cluster_has_no_pages_of_the_pipeline(port: FakePort) -> None:
    cluster(audience="everyone", title="Production")
    for path in ("pipeline/", "audit/", "history/"):
        assert browser_of(None).get(f"/k/prod/{path}").status_code == 404
        assert f"/k/prod/{path}" not in browser_of(None).get("/k/prod/").content.decode()
    assert browser_of(None).post("/k/prod/pipeline/", {"job": "latency"}).status_code == 405
    assert browser_of(None).get("/k/prod/part/runs/").status_code == 404
