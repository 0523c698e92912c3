"""Class analytics: what a class found hard, as bars with a table each, for its teacher alone."""

import json
import re
from pathlib import Path

import pytest
from django.test import Client

from queueviz.models import Course
from queueviz.runs import directories
from tests.web.analytics_results import TABLES, leave_analytics
from tests.web.clusters import account, browser_of
from tests.web.courses import LAB, course_of, joined

pytestmark = pytest.mark.django_db
course = course_of(LAB)


def result(course: Course) -> Path:
    return directories.result_of("class_analytics", course.slug)


def page_of(browser: Client, course: Course) -> str:
    answer = browser.get(f"/c/{course.slug}/analytics/")
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_each_question_has_bars_and_a_table_with_the_same_numbers(course: Course, teacher: Client) -> None:
    leave_analytics(result(course), TABLES)
    page = page_of(teacher, course)
    bars = json.loads(re.search(r'<script id="bars"[^>]*>(.*?)</script>', page, re.DOTALL)[1])  # type: ignore[index]
    assert {name: (one["labels"], one["values"]) for name, one in bars.items()} == {
        "time": (["4.1", "4.2"], [1.5, 0.5]),
        "predictions": (["4.1"], [25]),
        "mistakes": (["4.1"], [6]),
        "hints": (["4.1", "4.2"], [3, 0]),
        "dead_ends": (["4.2"], [2]),
    }
    assert page.count('role="img"') == page.count("<details>") == 5
    for said in (
        "<td>1.5</td><td>4.0</td>",
        "You wrote 0.",
        "Look again.",
        "Act and observe",
        "Highest: 4.1 with 1.5.",
    ):
        assert said in page
    assert "<b>0</b>" not in page


def test_labs_that_the_course_has_not_are_left_out(course: Course, teacher: Client) -> None:
    leave_analytics(result(course), {**TABLES, "mistakes": [], "dead_ends": [], "predictions": []})
    page = page_of(teacher, course)
    assert page.count("No data.") == 3
    assert ">9<" not in page


def test_analytics_are_the_teacher_s_alone(course: Course, teacher: Client) -> None:
    leave_analytics(result(course), TABLES)
    address = f"/c/{course.slug}/analytics/"
    student, other = joined(course), browser_of(account("other"))
    assert [who.get(address).status_code for who in (teacher, student, other, Client())] == [200, 403, 404, 404]
