"""Limits of started sandboxes per hour: per visitor, per address, and per course."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from queueviz.access import creation_limits
from queueviz.access.rate_limits import Rate
from queueviz.models import AuditRecord, Course, Sandbox
from tests.web.clusters import account, browser_of
from tests.web.courses import LAB, begun, joined
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db
ROOM = 60


def starts(browser: Client, lab: str = LAB) -> Any:
    return browser.post(f"/labs/{lab}/")


def limited(monkeypatch: pytest.MonkeyPatch, **limits: int) -> None:
    monkeypatch.setattr(creation_limits, "LIMITS", replace(creation_limits.LIMITS, **limits))


def made_before(minutes: float) -> None:
    """All that was started until now."""
    AuditRecord.objects.update(at=timezone.now() - timedelta(minutes=minutes))


def test_a_room_of_sixty_behind_one_address_starts_its_labs(port: FakePort) -> None:
    room = [Client() for _ in range(ROOM)]
    assert {starts(browser).status_code for browser in room} == {302}
    assert creation_limits.LIMITS.creations_per_hour_per_address > ROOM * creation_limits.LIMITS.sandboxes_per_visitor


def test_one_visitor_is_refused_after_twenty_and_the_others_of_the_room_are_not(
    port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, creations_per_hour_per_visitor=3)
    busy, other = Client(), Client()
    answers = []
    for _ in range(5):  # the first comes before the browser is known
        answers.append(starts(busy).status_code)
        Sandbox.objects.all().delete()
    assert answers == [302] * 4 + [429]
    assert starts(other).status_code == 302


def test_the_refusal_says_in_how_many_minutes_it_is_possible_again(
    port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, creations_per_hour_per_visitor=2)
    browser = Client()
    starts(browser)
    for minutes in (41.5, 12):
        starts(browser)
        made_before(minutes)
    page = starts(browser)
    assert page.status_code == 429
    text = page.content.decode()
    assert "You started 2 sandboxes within an hour." in text
    assert "You can start the next one in 48 min, or now if you sign in." in text
    made_before(60.1)
    assert starts(browser).status_code == 302


def test_without_cookies_the_address_counts(port: FakePort, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, creations_per_hour_per_address=4)
    assert [starts(Client()).status_code for _ in range(6)] == [302] * 4 + [429] * 2
    made_before(59.5)
    refused = Client().post("/api/sandboxes", {"template": "empty"}, "application/json").json()
    assert refused == {
        "error": "Your address started 4 sandboxes within an hour.",
        "hint": "You can start the next one in 1 min, or now if you sign in.",
    }
    assert starts(Client(REMOTE_ADDR="192.0.2.7")).status_code == 302, "of another address"
    assert starts(browser_of(account("ada"))).status_code == 302, "if you sign in"


def test_a_flood_of_newcomers_is_slowed_down_and_a_known_browser_of_the_room_is_not(
    port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = Client()
    starts(known)
    monkeypatch.setattr(creation_limits, "NEWCOMERS", Rate(0.5, 3, what="sandbox starts", now=lambda: 0.0))
    assert [starts(Client()).status_code for _ in range(5)] == [302] * 3 + [429] * 2
    assert starts(known).status_code == 302


def test_a_class_is_counted_by_its_course_and_not_by_its_address(
    course: Course, port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, creations_per_hour_per_address=1)
    students = [joined(course) for _ in range(5)]
    for student in students:
        begun(course, student)
    assert [starts(student).status_code for student in students] == [302] * 5, "labs of their own, too"
    assert [starts(Client()).status_code for _ in range(2)] == [302, 429], "others beside the class"


def test_a_course_has_a_ceiling_of_its_own(course: Course, port: FakePort, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, creations_per_hour_per_course=3)
    students = [joined(course) for _ in range(3)]
    for student in students:
        begun(course, student)
    refused = starts(students[0])
    assert (
        refused.status_code,
        "Your course started 3 sandboxes within an hour." in refused.content.decode(),
    ) == (429, True)
    refused = students[0].post(f"/c/{course.slug}/labs/pinned-offset/")
    assert (refused.status_code, "the next one in 60 min" in refused.content.decode()) == (429, True)
    assert starts(Client()).status_code == 302


def test_what_is_counted_names_no_session_and_no_course(course: Course, port: FakePort) -> None:
    student = joined(course)
    starts(student)
    [record] = AuditRecord.objects.filter(what="create")
    session = student.cookies["sessionid"].value
    kept = f"{record.visitor} {record.origin}"
    assert session not in kept
    assert course.slug not in kept
    assert len(kept) == 2 * 64 + 1
