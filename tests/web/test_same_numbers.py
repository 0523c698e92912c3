"""A course may give all students the same numbers in a lab, so that those on the projector are theirs."""

import pytest
from django.test import Client

from queueviz.models import Course
from sandbox.labs.catalogue import LABS
from tests.web.courses import LAB, begun, course_of, joined
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db
OTHER = "pinned-offset"
course = course_of(LAB, OTHER)


def seeds(course: Course, port: FakePort, *labs: str) -> list[object]:
    return [port.seeds[begun(course, joined(course), lab).slug] for lab in labs]


def save(teacher: Client, course: Course, **more: str) -> None:
    form = {"title": "New", "labs": [LAB, OTHER], "most_students": "30", "feedback": "at_once"}
    assert teacher.post(f"/c/{course.slug}/change/", form | more).status_code == 302
    course.refresh_from_db()


def test_without_the_option_each_sandbox_draws_a_seed_of_its_own(course: Course, port: FakePort) -> None:
    assert seeds(course, port, LAB, LAB) == [None, None]


def test_with_the_option_all_students_have_one_seed_a_lab(course: Course, teacher: Client, port: FakePort) -> None:
    save(teacher, course, same_numbers="on")
    first, second, other = map(str, seeds(course, port, LAB, LAB, OTHER))
    assert first == second != other
    assert LABS[LAB].numbers(first, 1) == LABS[LAB].numbers(second, 1)
    assert course.slug not in first, "journals and links contain it"


def test_another_course_has_other_numbers(course: Course, teacher: Client, port: FakePort) -> None:
    save(teacher, course, same_numbers="on")
    teacher.post("/c/new/", {"title": "Next year", "labs": [LAB], "same_numbers": "on"})
    later = Course.objects.exclude(pk=course.pk).get()
    assert len({*seeds(course, port, LAB), *seeds(later, port, LAB)}) == 2


def test_the_forms_say_it_in_words_and_can_take_it_back(course: Course, teacher: Client) -> None:
    for page in ("/c/new/", f"/c/{course.slug}/"):
        assert "The same numbers for all students" in teacher.get(page).content.decode()
    save(teacher, course, same_numbers="on")
    assert course.same_numbers
    assert 'name="same_numbers" checked' in teacher.get(f"/c/{course.slug}/").content.decode()
    save(teacher, course)
    assert not course.same_numbers


def test_one_click_on_a_pack_takes_the_option_along(teacher: Client, port: FakePort) -> None:
    teacher.post("/c/new/", {"title": "101", "pack": "first-hour", "same_numbers": "on"})
    assert Course.objects.get().same_numbers
