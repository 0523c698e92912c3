"""Scores of a course: the teacher's alone before their release, and the student's too after it, wherever they are."""

import io
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from queueviz import engine
from queueviz.access.digests import digest
from queueviz.courses import releases
from queueviz.models import Course, Grade, Grant, Sandbox, Submission
from sandbox.control.questions import LabState
from sandbox.journal.events import Entry, LabFinished
from sandbox.labs.catalogue import LABS
from sandbox.pipeline.jobs.all_jobs import JOBS
from sandbox.queries.snapshot.lab import lab_row
from sandbox.simulation.lab_player import Played, play
from tests.attacks import routes
from tests.attacks.people import SUBMISSION, World
from tests.attacks.test_rights_matrix import everyone, sent
from tests.attacks.test_share_links import drained
from tests.web.conftest import jobs
from tests.web.fake_port import FakePort
from tests.web.graded_course import leave_graded, write_journal
from tests.web.tabs import OWN, hear, opened, say

__all__ = ["everyone", "jobs"]

LAB = "pinned-offset"
SCORE = 32_749  # in no other number of a page or journal
WORN = str(SCORE).encode()
TEACHER, STUDENT = "the teacher of the course", "the student whose lab it is"
LINKED = "a reader with a live link"
OTHERS = ("another student of the course", "a student who was removed", "an administrator", "nobody", LINKED)


@pytest.fixture(scope="module")
def solved() -> Played:
    return play(LABS[LAB], LABS[LAB].solve, 1)


@pytest.fixture
def finished(everyone: World, port: FakePort, solved: Played, monkeypatch: pytest.MonkeyPatch) -> World:
    """The student's lab is done, with that score, and open to viewers; the course shows scores when it is released."""
    Course.objects.update(feedback="on_release")
    sandbox = Sandbox.objects.get(slug=everyone.slugs[SUBMISSION])
    Sandbox.objects.filter(pk=sandbox.pk).update(visibility="link")
    Grant.objects.create(sandbox=sandbox, kind="live", role="viewer", digest=digest("live-link-of-it"))
    everyone.people[LINKED].links[SUBMISSION] = "live-link-of-it"
    monkeypatch.setitem(JOBS, "grading", SimpleNamespace(options=()))
    slug = everyone.slugs[SUBMISSION]
    row = {**lab_row(solved.attempt, solved.attempt.evidence.now_ms), "score": SCORE}
    port.answers_to[LabState] = {"lab": row, "hold": {"frozen": False, "acts": None, "coming": []}}
    port.show(f"lab/{slug}", {"lab": row}, seq=1)
    port.rows = [
        {"seq": "1", "at_ms": 1, "type": "LabFinished", "cause": None, "lab": LAB, "attempt": 1, "score": SCORE}
    ]
    entries = [
        entry._replace(event=entry.event._replace(score=SCORE)) if isinstance(entry.event, LabFinished) else entry
        for entry in solved.entries
    ]
    leave(slug, entries)
    submission = Submission.objects.get(sandbox__slug=slug)
    Grade.objects.create(submission=submission, attempt=1, score=SCORE, steps=[], changed_at=timezone.now())
    Submission.objects.update(score=SCORE, finished_at=timezone.now())
    return everyone


def leave(slug: str, entries: list[Entry]) -> None:
    """As journal and as a result of grading."""
    directory: Path = engine.directory_of(slug)
    directory.mkdir(parents=True)
    write_journal(directory / "journal", entries)
    leave_graded(SimpleNamespace(slug=slug), {slug: str(directory / "journal")})  # type: ignore[arg-type]


def shown(answer: Any) -> bytes:
    """All that it says; of an archive, what is in it."""
    content = b"".join(drained(answer)) if answer.streaming else answer.content
    if answer.headers["Content-Type"] != "application/zip":
        return bytes(content)
    with zipfile.ZipFile(io.BytesIO(content)) as pack:
        return b"".join(pack.read(name) for name in pack.namelist())


def looks(world: World) -> Iterator[tuple[str, str, Any]]:
    """Every request of the matrix that changes nothing, with those that are about scores."""
    about = {
        "api/sandboxes/<slug:slug>/ask/<name>": [{"name": "lab-state"}],
        "s/<slug:slug>/ask/<slug:name>/": [{"name": "lab-state"}],
        "s/<slug:slug>/labs/<slug:lab>/": [{"lab": LAB}],
        "s/<slug:slug>/labs/<slug:lab>/progress/": [{"lab": LAB}],
        "api/sandboxes/<slug:slug>/pipeline/<job>/<table>": [
            {"job": "grading", "table": table} for table in ("attempts", "differences")
        ],
    }
    for route, asks in routes.NEEDS.items():
        if not route.startswith(("k/", "api/clusters/")):
            place = SUBMISSION if "<slug:slug>" in route and not route.startswith("c/") else "course"
            looked = [ask for ask in asks if ask.method == "GET" or route.endswith("/progress/")]
            for ask in [*looked, *(looked[0]._replace(path=path, body=None) for path in about.get(route, ()))]:
                yield place, route, ask


def routes_with_score(world: World, name: str) -> set[str]:
    """Routes whose answer to this visitor has the score."""
    who = world.people[name]
    return {route for place, route, ask in looks(world) if WORN in shown(sent(who, world, route, place, ask))}


def test_before_the_release_no_route_shows_a_score_to_who_may_not_grade(
    finished: World, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {name: routes_with_score(finished, name) for name in (TEACHER, STUDENT, *OTHERS)}
    crossings = {name: routes for name, routes in found.items() if routes and name != TEACHER}
    with capsys.disabled():
        print(
            f"\nscores: {len(list(looks(finished)))} requests × {len(found)} visitors; the teacher has them "
            f"from {len(found[TEACHER])}, crossings {len(crossings)}"
        )
    assert crossings == {}
    assert len(found[TEACHER]) == 9


def test_after_the_release_the_student_has_the_scores_that_are_not_of_the_whole_course(finished: World) -> None:
    releases.release(Course.objects.get())
    assert routes_with_score(finished, STUDENT) == {
        "c/<slug:slug>/",
        "c/<slug:slug>/data/export.zip",
        "s/<slug:slug>/labs/<slug:lab>/",
        "s/<slug:slug>/labs/<slug:lab>/progress/",
        "api/sandboxes/<slug:slug>/ask/<name>",
        "api/sandboxes/<slug:slug>/events",
        "api/sandboxes/<slug:slug>/journal",
        "api/sandboxes/<slug:slug>/pipeline/<job>/<table>",
    }


def test_a_withheld_score_is_not_found_by_search_and_grading_is_refused_in_words(finished: World) -> None:
    slug, student = finished.slugs[SUBMISSION], finished.people[STUDENT].client
    teacher = finished.people[TEACHER].client
    journal = f"/api/sandboxes/{slug}/journal?show=all&search={SCORE}"
    assert [len(who.get(journal).json()["rows"]) for who in (student, teacher)] == [0, 1]
    asked = student.post(f"/api/sandboxes/{slug}/runs", {"job": "grading"}, "application/json")
    assert (asked.status_code, asked.json()["error"]) == (409, "The scores of this course are not released yet.")
    assert "grading" not in student.get(f"/api/sandboxes/{slug}/runs").json()["jobs"]
    assert student.get(f"/s/{slug}/pipeline/?job=grading").status_code == 409
    assert WORN in teacher.get(f"/s/{slug}/pipeline/?job=grading&table=differences").content


def test_a_run_with_a_withheld_score_is_not_played_again(finished: World) -> None:
    slug, student = finished.slugs[SUBMISSION], finished.people[STUDENT].client
    branch = f"/api/sandboxes/{slug}/branch"
    assert student.post(branch, {"at": 1}, "application/json").status_code == 409
    releases.release(Course.objects.get())
    assert student.post(branch, {"at": 1}, "application/json").status_code == 201


def test_recordings_have_scores_for_those_who_are_shown_them(finished: World, port: FakePort) -> None:
    address = f"/api/sandboxes/{finished.slugs[SUBMISSION]}/recording"
    for name in (STUDENT, TEACHER):
        assert finished.people[name].client.get(address).status_code == 202
    assert port.recorded_scores == [False, True]


def test_an_export_before_the_release_says_what_is_missing_and_has_the_rest(finished: World, solved: Played) -> None:
    slug, student = finished.slugs[SUBMISSION], finished.people[STUDENT].client
    answer = student.get(f"/c/{finished.slugs['course']}/data/export.zip")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as pack:
        files = {name: pack.read(name) for name in pack.namelist()}
    assert b"Scores are null" in files["README.txt"]
    lines = b"".join(content for name, content in sorted(files.items()) if "/journal/" in name).splitlines()
    assert len(lines) == len(solved.entries)
    assert [row["score"] for row in map(orjson.loads, lines) if row["type"] == "LabFinished"] == [None]
    [attempt] = orjson.loads(files[f"sandboxes/{slug}/attempts.json"])
    assert (attempt["score"], len(attempt["met"])) == (None, len(LABS[LAB].steps))
    tables = orjson.loads(files["student.json"])["tables"]
    assert [tables[f"queueviz.{name}"][0]["score"] for name in ("grade", "submission")] == [None, None]


@pytest.mark.django_db(transaction=True)
def test_no_live_channel_shows_a_withheld_score(finished: World) -> None:
    slug = finished.slugs[SUBMISSION]
    kinds = (f"lab/{slug}", f"facts/{slug}")
    seen = {name: async_to_sync(scores_heard)(finished.people[name].client, kinds) for name in (STUDENT, TEACHER)}
    assert seen == {STUDENT: [None, None], TEACHER: [SCORE, SCORE]}
    releases.release(Course.objects.get())
    assert async_to_sync(scores_heard)(finished.people[STUDENT].client, kinds) == [SCORE, SCORE]


async def scores_heard(browser: Client, kinds: tuple[str, ...]) -> list[Any]:
    tab = await opened(OWN, (b"cookie", f"sessionid={browser.cookies['sessionid'].value}".encode()))
    heard = []
    for name in kinds:
        await say(tab, k="sub", ch=name, after="0")
        frame = await hear(tab)
        heard.append((frame["data"]["lab"] if frame["k"] == "snap" else frame["rows"][0])["score"])
    await tab.disconnect()
    return heard


@pytest.mark.django_db
def test_the_rule_for_one_course_and_the_rule_for_many_agree() -> None:
    teacher, now = User.objects.create(username="t"), timezone.now()
    times = (None, now - timedelta(hours=1), now, now + timedelta(hours=1))
    for n, (feedback, due_at, released_at) in enumerate(product(Course.Feedback.values, times, times)):
        Course.objects.create(
            slug=f"c-{n}", title="x", teacher=teacher, feedback=feedback, due_at=due_at, released_at=released_at
        )
    by_rule = {course.slug for course in Course.objects.all() if releases.is_released(course, now)}
    assert by_rule == set(releases.released(now).values_list("slug", flat=True))
    assert 0 < len(by_rule) < n + 1
