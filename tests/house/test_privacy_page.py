"""`docs/privacy.md` names every field in which something of a person can stand."""

import re
from pathlib import Path

from django.apps import apps
from django.db import models

from queueviz.courses.exporting import MOST_BYTES
from queueviz.management.commands.demo_course import MOST_STUDENTS
from queueviz.settings import SESSION_COOKIE_AGE

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "privacy.md").read_text("utf-8")
MODELS = list(apps.get_app_config("queueviz").get_models())
[OF_NO_STUDENT] = re.findall(r"^About no student: (.*)", PAGE, re.M)


def section_of(kind: type[models.Model]) -> str:
    found = re.search(rf"^### {kind.__name__}\n(.*?)(?=^#)", PAGE, re.M | re.S)
    return found[1] if found else ""


def about_no_student(kind: type[models.Model]) -> bool:
    return f"`{kind.__name__}`" in OF_NO_STUDENT


def test_every_table_has_its_section_with_every_field() -> None:
    missing = [
        f"{kind.__name__}.{field.name}"
        for kind in MODELS
        if not about_no_student(kind)
        for field in kind._meta.concrete_fields
        if f"`{field.name}`" not in section_of(kind)
    ]
    assert missing == [], "docs/privacy.md has nothing about these fields"


def test_a_table_about_no_student_refers_to_none() -> None:
    assert [kind.__name__ for kind in MODELS if about_no_student(kind) and refers_to_a_student(kind)] == []


def test_no_field_is_described_that_is_no_more() -> None:
    unknown = []
    for kind in MODELS:
        cells = re.findall(r"^\| (`[^|]*`) \|", section_of(kind), re.M)
        named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
        unknown += [f"{kind.__name__}.{name}" for name in named - {field.name for field in kind._meta.concrete_fields}]
    assert unknown == []


def test_the_numbers_it_says_are_those_of_the_code() -> None:
    assert f"one ZIP file of {MOST_BYTES // 2**20} MiB at most" in (DOCS / "student-data.md").read_text("utf-8")
    assert f"for {SESSION_COOKIE_AGE // 86_400} days from the last use" in PAGE
    assert f"| `--students N` | 1 to {MOST_STUDENTS}; default 12 |" in (DOCS / "demo.md").read_text("utf-8")


def refers_to_a_student(kind: type[models.Model]) -> bool:
    ours = {"Enrolment", "Submission", "Sandbox", "Grant"}
    return any(
        field.related_model is not None and field.related_model.__name__ in ours for field in kind._meta.concrete_fields
    )
