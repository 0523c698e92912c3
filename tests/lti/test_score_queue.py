"""Scores on their way: none is lost, none is sent before its time, and a student can ask for one again."""

from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from queueviz.lti import scores
from queueviz.models import Course, Enrolment, LtiContext, LtiPlatform, LtiScore, Submission
from queueviz.operations import periodic, upkeep
from tests.lti.lms import LINE_ITEM, Lms
from tests.web.courses import LAB

pytestmark = pytest.mark.django_db


@pytest.fixture
def student(lms: Lms, linked: LtiContext) -> Client:
    browser = Client()
    assert browser.get(lms.open(browser, lab=LAB)["Location"]).status_code == 302
    return browser


class Watch:
    """Virtual time, from now on."""

    def __init__(self) -> None:
        self.at = timezone.now()

    def __call__(self) -> datetime:
        return self.at

    def pass_(self, span: timedelta) -> None:
        self.at += span


@pytest.fixture
def watch() -> Watch:
    return Watch()


def scored(score: int, *, finished: bool = False) -> None:
    Submission.objects.update(score=score, finished_at=timezone.now() if finished else None)


def given(lms: Lms) -> list[tuple[int, str]]:
    return [(score["scoreGiven"], score["activityProgress"]) for _, score in lms.scores]


def page(student: Client) -> str:
    return str(student.get(f"/c/{Course.objects.get().slug}/").content.decode())


def test_each_change_is_sent_once_and_its_time_rises(student: Client, lms: Lms, watch: Watch) -> None:
    for score, finished in ((20, False), (20, False), (60, False), (60, True), (60, True)):
        scored(score, finished=finished)
        watch.pass_(timedelta(seconds=5))
        scores.turn(watch)
    assert given(lms) == [(20, "InProgress"), (60, "InProgress"), (60, "Completed")]
    times = [score["timestamp"] for _, score in lms.scores]
    assert times == sorted(set(times))


def test_a_corrected_score_is_sent_also_when_it_is_lower(student: Client, lms: Lms, watch: Watch) -> None:
    for score in (80, 0):
        scored(score, finished=True)
        scores.turn(watch)
    assert given(lms) == [(80, "Completed"), (0, "Completed")]


def test_a_lost_platform_is_tried_at_longer_intervals_until_it_is_back(student: Client, lms: Lms, watch: Watch) -> None:
    lms.lost = True
    scored(70, finished=True)
    tried: list[float] = []
    began = watch()
    while len(tried) < 6:
        before = len(lms.asked)
        assert scores.turn(watch) == 0
        if len(lms.asked) > before:
            tried.append((watch() - began).total_seconds())
        watch.pass_(timedelta(seconds=10))
    assert tried == [0, 30, 90, 210, 450, 930]
    assert "could not be reached" in page(student)
    lms.lost = False
    watch.pass_(scores.MOST_PAUSE)
    assert scores.turn(watch) == 1
    assert given(lms) == [(70, "Completed")]
    row = LtiScore.objects.get()
    assert (row.tries, row.why) == (0, "")


def test_after_the_last_try_only_the_student_sends_it_again(student: Client, lms: Lms, watch: Watch) -> None:
    lms.broken = True
    scored(70)
    for _ in range(scores.MOST_TRIES + 5):
        scores.turn(watch)
        watch.pass_(scores.MOST_PAUSE)
    assert len(lms.asked) - 1 == scores.MOST_TRIES, "and one for the keys"
    said = page(student)
    assert "is not resent automatically" in said
    assert "status 502" in said
    assert "Resend" in said
    lms.broken = False
    slug = Course.objects.get().slug
    assert student.post(f"/c/{slug}/lti/resend/", {"lab": LAB}).status_code == 302
    assert scores.turn(watch) == 1
    assert "Your LMS has had 70 of 100" in page(student)


def test_a_student_sends_again_what_the_platform_has_lost_but_not_without_number(student: Client, lms: Lms) -> None:
    scored(70)
    scores.turn()
    slug = Course.objects.get().slug
    answers = [student.post(f"/c/{slug}/lti/resend/", {"lab": LAB}).status_code for _ in range(6)]
    assert answers == [302] * 4 + [429] * 2
    assert scores.turn() == 1
    assert given(lms) == [(70, "InProgress")] * 2
    assert student.post(f"/c/{slug}/lti/resend/", {"lab": "pinned-offset"}).status_code == 404
    assert Client().post(f"/c/{slug}/lti/resend/", {"lab": LAB}).status_code == 404


def test_a_refused_score_waits_with_its_status(student: Client, lms: Lms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lms.conf, "validate_token", lambda *given: False)
    scored(70)
    assert scores.turn() == 0
    row = LtiScore.objects.get()
    assert (row.why, row.status, row.tries) == ("refused", 401, 1)


def test_a_course_that_shows_scores_later_sends_them_later(student: Client, lms: Lms, watch: Watch) -> None:
    scored(70)
    Course.objects.update(feedback="on_release")
    assert scores.turn(watch) == 0
    assert "when the course releases it" in page(student)
    Course.objects.update(feedback="at_end", due_at=watch() + timedelta(hours=1))
    assert scores.turn(watch) == 0
    watch.pass_(timedelta(hours=2))
    assert scores.turn(watch) == 1
    scored(80)
    Course.objects.update(feedback="on_release", released_at=watch())
    assert scores.turn(watch) == 1


def test_one_lost_platform_does_not_hold_up_another(lms: Lms, student: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """And it is asked once a turn, however many scores wait for it."""
    other = LtiPlatform.objects.create(
        name="Other",
        issuer="https://b.example",
        client_id="b",
        auth_url="https://b.example/a",
        token_url="https://b.example/token",
        key_set_url="https://b.example/k",
    )
    seat = LtiScore.objects.get().seat
    for number in range(3):
        LtiScore.objects.create(seat=seat, lab=LAB, line_item=f"{LINE_ITEM}{number}", due_at=timezone.now())
    LtiPlatform.objects.filter(pk=seat.platform_id).update(token_url="https://lost.example/token")
    scored(70)
    lost = lms.send

    def send(request: Any, **more: Any) -> Any:
        lms.lost = "lost.example" in request.url
        return lost(request, **more)

    monkeypatch.setattr(lms, "send", send)
    assert scores.turn() == 0
    assert lms.asked.count("https://lost.example/token") == 1
    second = Enrolment.objects.create(course=Course.objects.get(), pseudonym="Okapi", digest="d")
    Submission.objects.create(enrolment=second, lab=LAB, steps=1, score=50)
    from queueviz.lti import sealed_secrets
    from queueviz.models import LtiSeat

    theirs = LtiSeat.objects.create(
        platform=other, enrolment=second, user_digest="u", user_sealed=sealed_secrets.seal("9")
    )
    LtiScore.objects.create(seat=theirs, lab=LAB, line_item="https://b.example/lineitems/4", due_at=timezone.now())
    assert scores.turn() == 1
    assert [score["userId"] for _, score in lms.scores] == ["9"]


def test_two_processes_do_not_send_the_same_score_twice(
    student: Client, lms: Lms, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored(70)
    alone = lms.send

    def send(request: Any, **more: Any) -> Any:
        assert scores.turn() == 0, "the other one, while this one sends"
        return alone(request, **more)

    monkeypatch.setattr(lms, "send", send)
    assert scores.turn() == 1
    assert given(lms) == [(70, "InProgress")]


def test_a_process_that_ends_while_it_sends_loses_nothing(
    student: Client, lms: Lms, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored(70)

    def killed(request: Any, **more: Any) -> Any:
        raise SystemExit

    with monkeypatch.context() as dying:
        dying.setattr(lms, "send", killed)
        with pytest.raises(SystemExit):
            scores.turn(watch)
    assert scores.turn(watch) == 0
    watch.pass_(scores.LEASE)
    assert scores.turn(watch) == 1


def test_who_was_removed_has_no_scores_sent(student: Client, lms: Lms) -> None:
    scored(70)
    Enrolment.objects.update(removed_at=timezone.now())
    assert scores.turn() == 0


def test_a_platform_whose_hosts_changed_is_not_asked_elsewhere(student: Client, lms: Lms) -> None:
    scored(70)
    for name in ("auth_url", "token_url", "key_set_url"):
        LtiPlatform.objects.update(**{name: "https://moved.example/x"})
    asked = len(lms.asked)
    assert scores.turn() == 0
    assert LtiScore.objects.get().why == "address"
    assert len(lms.asked) == asked


def test_a_mistake_of_ours_ends_no_thread(
    student: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> int:
        raise RuntimeError("of ours")

    monkeypatch.setattr(scores, "turn", broken)
    monkeypatch.setattr(periodic, "close_old_connections", lambda: None)
    [sender] = [timer for timer in upkeep.timers() if timer.what == "lti scores"]
    sender.once()
    assert "lti scores: not done" in caplog.text


def test_the_command_says_what_came_of_it(student: Client, lms: Lms) -> None:
    scored(70)
    lms.lost = True
    for _ in range(2):
        said = StringIO()
        call_command("ltiscores", stdout=said)
        lms.lost = False
        LtiScore.objects.update(due_at=timezone.now())
    assert "1 arrived, 0 pending, 0 failed" in said.getvalue()
