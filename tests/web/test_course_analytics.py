"""Class analytics: what a class found hard, as bars with a table each, for its teacher alone."""

import json
import re
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from django.test import Client

from queueviz.models import Course
from queueviz.runs import places
from sandbox.pipeline.results import Manifest, Table, publish
from tests.web.clusters import account, browser_of
from tests.web.fake_port import FakePort
from tests.web.test_courses import LAB, joined

pytestmark = pytest.mark.django_db
COLUMNS = ("lab", "step", "met", "median_ms", "p90_ms", "hints", "hinted", "predicted", "wrong")
STEPS = [dict(zip(COLUMNS, row, strict=True)) for row in (
    (LAB, 1, 4, 90_000, 240_000, 3, 2, 4, 1), (LAB, 2, 2, 30_000, 31_000, 0, 0, 0, 0),
    ("orderly-lock", 1, 9, 1, 1, 0, 0, 1, 1))]  # fmt: skip
TABLES: dict[str, list[dict[str, Any]]] = {
    "steps": STEPS,
    "predictions": [{"lab": LAB, "step": 1, "given": "<b>0</b>", "truth": "2", "count": 1}],
    "mistakes": [{"lab": LAB, "step": 1, "text": text, "said": said, "count": count, "sandboxes": 1}
                 for text, said, count in (("You {given}.", "You wrote 0.", 5), ("Look again.", "Look again.", 1))],
    "dead_ends": [{"lab": LAB, "step": 2, "phase": "do", "count": 2, "sandboxes": 2}],
}  # fmt: skip


@pytest.fixture
def teacher(port: FakePort) -> Client:
    return browser_of(account("teacher"))


@pytest.fixture
def course(teacher: Client) -> Course:
    teacher.post("/c/new/", {"title": "Messaging 101", "labs": [LAB]})
    return Course.objects.get()


def left(course: Course, tables: dict[str, list[dict[str, Any]]]) -> None:
    out = places.result_of("class_analytics", course.slug)
    made = {}
    for name, rows in tables.items():
        path = out / "run-r" / name
        path.mkdir(parents=True)
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path / "part-0.parquet")
        made[name] = Table(f"run-r/{name}", len(rows))
    publish(out, Manifest("class_analytics", "r", made, {}, 1_795_142_537_350, {}))


def page_of(browser: Client, course: Course) -> str:
    answer = browser.get(f"/c/{course.slug}/analytics/")
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_before_the_job_has_run_the_page_says_how_to_run_it(course: Course, teacher: Client) -> None:
    assert f"manage.py pipeline class_analytics --course {course.slug}" in page_of(teacher, course)


def test_each_question_has_bars_and_a_table_with_the_same_numbers(course: Course, teacher: Client) -> None:
    left(course, TABLES)
    page = page_of(teacher, course)
    bars = json.loads(re.search(r'<script id="bars"[^>]*>(.*?)</script>', page, re.DOTALL)[1])  # type: ignore[index]
    assert {name: (one["labels"], one["values"]) for name, one in bars.items()} == {
        "time": (["4.1", "4.2"], [1.5, 0.5]), "predictions": (["4.1"], [25]), "mistakes": (["4.1"], [6]),
        "hints": (["4.1", "4.2"], [3, 0]), "dead_ends": (["4.2"], [2])}
    assert page.count('role="img"') == page.count("<details>") == 5
    for said in ("<td>1.5</td><td>4.0</td>", "You wrote 0.", "Look again.", "Do and see", "Highest: 4.1 with 1.5."):
        assert said in page
    assert "<b>0</b>" not in page


def test_labs_that_the_course_has_not_are_left_out(course: Course, teacher: Client) -> None:
    left(course, {**TABLES, "mistakes": [], "dead_ends": [], "predictions": []})
    page = page_of(teacher, course)
    assert page.count("There is none.") == 3
    assert ">9<" not in page


def test_analytics_are_the_teacher_s_alone(course: Course, teacher: Client) -> None:
    left(course, TABLES)
    address = f"/c/{course.slug}/analytics/"
    student, other = joined(course), browser_of(account("other"))
    assert [who.get(address).status_code for who in (teacher, student, other, Client())] == [200, 403, 404, 404]
