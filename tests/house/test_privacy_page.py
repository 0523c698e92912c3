"""`docs/privacy.md` names every field in which something of a person can stand."""

import re
from pathlib import Path

import pytest
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


@pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.__name__)
def test_every_table_has_its_section_with_every_field(kind: type[models.Model]) -> None:
    if f"`{kind.__name__}`" in OF_NO_STUDENT:
        assert not refers_to_a_student(kind), "it is about a student after all"
        return
    said = section_of(kind)
    assert said, f"docs/privacy.md has no section {kind.__name__}"
    missing = [field.name for field in kind._meta.concrete_fields if f"`{field.name}`" not in said]
    assert missing == [], f"docs/privacy.md says nothing of these fields of {kind.__name__}"


@pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.__name__)
def test_no_field_is_described_that_is_no_more(kind: type[models.Model]) -> None:
    cells = re.findall(r"^\| (`[^|]*`) \|", section_of(kind), re.M)
    named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert named <= {field.name for field in kind._meta.concrete_fields}


def test_the_numbers_it_says_are_those_of_the_code() -> None:
    assert f"one ZIP file of {MOST_BYTES // 2**20} MiB at most" in PAGE
    assert f"for {SESSION_COOKIE_AGE // 86_400} days from the last use" in PAGE
    assert f"| `--students N` | 1 to {MOST_STUDENTS}; default 12 |" in (DOCS / "demo.md").read_text("utf-8")


def refers_to_a_student(kind: type[models.Model]) -> bool:
    ours = {"Enrolment", "Submission", "Sandbox", "Grant"}
    return any(field.related_model is not None and field.related_model.__name__ in ours
               for field in kind._meta.concrete_fields)
