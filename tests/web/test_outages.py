"""A deadline moves by the time that the server was away, once, and the pages of the course say so."""

from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from queueviz import engine
from queueviz.courses import deadlines, outages
from queueviz.live import hubs
from queueviz.models import Course, Enrolment, Heartbeat
from queueviz.operations import upkeep
from sandbox.kernel.errors import EngineBusy
from tests.web.courses import LAB, begun, course_of, joined
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)
course = course_of(LAB)


@pytest.fixture
def now() -> datetime:
    return timezone.now().replace(second=0, microsecond=0)


def due(course: Course, at: datetime) -> None:
    Course.objects.filter(pk=course.pk).update(due_at=at)
    outages.beat(at - 60 * MINUTE)


def due_at(course: Course) -> datetime | None:
    course.refresh_from_db()
    return course.due_at


def test_a_deadline_moves_by_the_time_away_in_whole_minutes(course: Course, now: datetime) -> None:
    due(course, now)
    outages.beat(now - 60 * MINUTE + timedelta(minutes=11, seconds=20))
    assert due_at(course) == now + 12 * MINUTE
    assert course.moved_min == 12


def test_a_second_server_and_a_second_start_do_not_move_it_again(course: Course, now: datetime) -> None:
    due(course, now)
    back = now - 48 * MINUTE
    for seconds in (0, 0, 1, 30):
        outages.beat(back + timedelta(seconds=seconds))
    assert due_at(course) == now + 12 * MINUTE


def test_a_start_that_fails_half_way_moves_it_once(
    course: Course, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    due(course, now)
    with monkeypatch.context() as patched:
        patched.setattr(Heartbeat, "save", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            outages.beat(now - 48 * MINUTE)
    assert due_at(course) == now
    outages.beat(now - 47 * MINUTE)
    assert due_at(course) == now + 13 * MINUTE


def test_two_outages_add_up(course: Course, now: datetime) -> None:
    due(course, now)
    outages.beat(now - 50 * MINUTE)
    outages.beat(now - 45 * MINUTE)
    assert due_at(course) == now + 15 * MINUTE
    assert course.moved_min == 15


def test_a_restart_of_seconds_moves_nothing(course: Course, now: datetime) -> None:
    due(course, now)
    outages.beat(now - 60 * MINUTE + outages.SHORTEST - timedelta(seconds=1))
    assert (due_at(course), course.moved_min) == (now, 0)


def test_a_deadline_that_fell_into_the_outage_moves_and_one_before_it_stays(course: Course, now: datetime) -> None:
    due(course, now)
    outages.beat(now + 30 * MINUTE)
    assert due_at(course) == now + 90 * MINUTE
    Heartbeat.objects.update(alive_at=now + 91 * MINUTE)
    outages.beat(now + 120 * MINUTE)
    assert due_at(course) == now + 90 * MINUTE


def test_a_course_without_a_deadline_has_none_after_an_outage(course: Course, now: datetime) -> None:
    outages.beat(now - 60 * MINUTE)
    outages.beat(now)
    assert (due_at(course), course.moved_min) == (None, 0)


def test_a_long_time_away_moves_it_by_a_week_at_most(course: Course, now: datetime) -> None:
    due(course, now)
    outages.beat(now + timedelta(days=400))
    assert due_at(course) == now + outages.LONGEST


def test_a_clock_that_was_set_back_moves_nothing_now_or_later(course: Course, now: datetime) -> None:
    due(course, now)
    outages.beat(now - timedelta(days=3))
    outages.beat(now - timedelta(days=3) + timedelta(seconds=10))
    assert due_at(course) == now


def test_extra_time_is_that_of_the_first_date_and_the_outage_is_added_once(course: Course, now: datetime) -> None:
    joined(course)
    due(course, now)
    Enrolment.objects.update(joined_at=now - 70 * MINUTE, time_factor=2.0)
    assert deadlines.due_of(Enrolment.objects.get()) == now + 70 * MINUTE
    outages.beat(now - 50 * MINUTE)
    assert deadlines.due_of(Enrolment.objects.get()) == now + 80 * MINUTE


def test_who_joins_in_the_time_given_back_has_all_of_it(course: Course, now: datetime) -> None:
    joined(course)
    due(course, now)
    outages.beat(now - 30 * MINUTE)
    Enrolment.objects.update(joined_at=now + 10 * MINUTE, time_factor=2.0)
    assert deadlines.due_of(Enrolment.objects.get()) == now + 30 * MINUTE


def test_extra_time_after_the_date_of_the_course_is_given_back_to_its_student_alone(
    course: Course, now: datetime
) -> None:
    joined(course, "Slow")
    joined(course, "Swift one")
    due(course, now)
    Enrolment.objects.update(joined_at=now - 60 * MINUTE)
    Enrolment.objects.filter(pseudonym="Slow").update(time_factor=1.5)
    Heartbeat.objects.update(alive_at=now + 10 * MINUTE)
    outages.beat(now + 25 * MINUTE)
    assert due_at(course) == now
    ends = {one.pseudonym: deadlines.due_of(one) for one in Enrolment.objects.all()}
    assert ends == {"Slow": now + 45 * MINUTE, "Swift one": now}


def test_a_new_date_of_the_teacher_is_not_a_moved_one(course: Course, teacher: Client, now: datetime) -> None:
    joined(course)
    due(course, now + 300 * MINUTE)
    outages.beat(now + 252 * MINUTE)
    Enrolment.objects.update(moved_min=3)
    form = {"title": "New", "labs": LAB, "most_students": "30", "feedback": "at_once"}
    change = f"/c/{course.slug}/change/"
    kept = (now + 312 * MINUTE).strftime("%Y-%m-%dT%H:%M")
    teacher.post(change, form | {"due_at": kept})
    assert (due_at(course), course.moved_min) == (now + 312 * MINUTE, 12), "the other settings were saved"
    teacher.post(change, form | {"due_at": (now + 400 * MINUTE).strftime("%Y-%m-%dT%H:%M")})
    assert (due_at(course), course.moved_min) == (now + 400 * MINUTE, 0)
    assert Enrolment.objects.get().moved_min == 0


def test_the_page_of_the_course_says_so_to_teacher_and_student(course: Course, teacher: Client, now: datetime) -> None:
    student = joined(course)
    page = f"/c/{course.slug}/"
    due(course, now)
    assert "was away" not in student.get(page).content.decode()
    outages.beat(now - 48 * MINUTE)
    day = (now + 12 * MINUTE).strftime("%Y-%m-%d %H:%M")
    sentence = f"The server was away for 12 min; the deadline moved to {day} UTC."
    assert sentence in student.get(page).content.decode()
    assert sentence in teacher.get(page).content.decode()
    assert sentence in teacher.get(f"{page}live/").content.decode()


def test_a_student_with_extra_time_reads_the_own_deadline(course: Course, now: datetime) -> None:
    student = joined(course)
    due(course, now)
    Enrolment.objects.update(joined_at=now - 60 * MINUTE, time_factor=1.5)
    Heartbeat.objects.update(alive_at=now + 10 * MINUTE)
    outages.beat(now + 25 * MINUTE)
    day = (now + 45 * MINUTE).strftime("%Y-%m-%d %H:%M")
    page = student.get(f"/c/{course.slug}/").content.decode()
    assert f"The server was away for 15 min; the deadline moved to {day} UTC." in page


def test_an_engine_that_does_not_answer_is_an_outage(
    course: Course, port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "figures", lambda: {"late_ms": 0})
    upkeep.beat()
    [first] = Heartbeat.objects.all()

    def away() -> FakePort:
        raise EngineBusy("The engine did not answer in time.")

    with monkeypatch.context() as patched:
        patched.setattr(engine, "port", away)
        upkeep.beat()
    assert Heartbeat.objects.get().alive_at == first.alive_at
    upkeep.beat()
    assert Heartbeat.objects.get().alive_at > first.alive_at


def test_after_a_restart_a_student_goes_on_from_the_page_of_the_course(course: Course, port: FakePort) -> None:
    student = joined(course)
    sandbox = begun(course, student)
    port.sandboxes[sandbox.slug] = "asleep"
    assert begun(course, student) == sandbox
    assert port.sandboxes[sandbox.slug] == "live"
