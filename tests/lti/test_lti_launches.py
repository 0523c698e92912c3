"""From a click in an LMS into a lab, and the score back; no claim gives an account."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from queueviz.lti import scores
from queueviz.models import (
    Course,
    Enrolment,
    LtiContext,
    LtiLaunch,
    LtiPlatform,
    LtiScore,
    LtiSeat,
    Sandbox,
    Submission,
)
from tests.lti.lms import CONTEXT, INSTRUCTOR, LEARNER, LINE_ITEM, Lms
from tests.web.clusters import account, browser_of
from tests.web.courses import LAB

pytestmark = pytest.mark.django_db


def entered(lms: Lms, browser: Client, user: str = "42", **more: Any) -> Any:
    """The page of the tool to which a learner's launch leads."""
    answer = lms.open(browser, user, **more)
    assert answer.status_code == 302, answer.content
    return browser.get(answer["Location"])


def test_a_learner_comes_into_the_lab_and_the_score_goes_back(lms: Lms, linked: LtiContext) -> None:
    browser = Client()
    answer = entered(lms, browser, lab=LAB)
    work = Submission.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/s/{work.sandbox.slug}/labs/{LAB}/")
    assert browser.get(f"/api/sandboxes/{work.sandbox.slug}").status_code == 200
    assert scores.turn() == 0, "nothing is done yet"
    Submission.objects.update(score=80, finished_at=timezone.now())
    assert scores.turn() == 1
    [(line_item, score)] = lms.scores
    assert line_item == "/lineitems/1"
    assert (score["userId"], score["scoreGiven"], score["scoreMaximum"]) == ("42", 80, 100)
    assert (score["activityProgress"], score["gradingProgress"]) == ("Completed", "FullyGraded")
    assert scores.turn() == 0, "it has arrived"
    assert "Your LMS has had 80 of 100" in browser.get(f"/c/{linked.course.slug}/").content.decode()


def test_a_learner_has_a_pseudonym_and_nothing_of_the_person_can_be_read_here(lms: Lms, linked: LtiContext) -> None:
    entered(lms, Client(), "ada-4711", lab=LAB)
    place = Enrolment.objects.get()
    assert place.pseudonym
    assert not place.name
    for model in (Enrolment, LtiSeat, LtiScore, LtiLaunch, Sandbox):
        stored = repr(list(model.objects.values()))
        assert not re.search("ada-4711|Ada|Löwe|school.example", stored), stored  # a digest has no such digits


def test_any_browser_of_the_same_learner_has_the_same_place_and_another_learner_another(
    lms: Lms, linked: LtiContext
) -> None:
    first, second, other = Client(), Client(), Client()
    pages = [
        entered(lms, browser, user, lab=LAB)["Location"]
        for browser, user in ((first, "42"), (second, "42"), (other, "43"))
    ]
    assert pages[0] == pages[1] != pages[2]
    assert second.get(f"/api/{pages[0].replace('/s/', 'sandboxes/').split('/labs')[0]}").status_code == 200
    assert Enrolment.objects.count() == 2


def test_a_browser_at_which_another_learner_was_gets_the_place_of_who_launches(lms: Lms, linked: LtiContext) -> None:
    browser = Client()
    first, second = (entered(lms, browser, user, lab=LAB)["Location"] for user in ("42", "43"))
    assert first != second
    assert browser.get(f"/c/{linked.course.slug}/").context["enrolment"].pk == Enrolment.objects.last().pk  # type: ignore[union-attr]


def test_a_launch_leaves_the_session_of_the_browser_as_it_was(lms: Lms, linked: LtiContext) -> None:
    """The form of the LMS comes without our session: an answer that began one would put the account's aside."""
    browser = Client()
    state, token = lms.authorized(browser, lab=LAB)
    answer = lms.post(browser, state, token)
    assert set(answer.cookies) == set(), "neither a session nor a token against forged forms"


def test_the_cookie_of_a_launch_is_partitioned_and_goes_to_the_launch_alone(lms: Lms, platform: LtiPlatform) -> None:
    browser = Client()
    asked = lms.begun(browser)
    [cookie] = [one for name, one in browser.cookies.items() if name == f"lti-{asked['state']}"]
    said = cookie.OutputString()
    for word in ("SameSite=None", "Secure", "Partitioned", "HttpOnly", "Path=/lti/", "Max-Age=900"):
        assert word in said


def test_in_a_frame_a_launch_offers_a_window_and_deep_linking_stays(lms: Lms, platform: LtiPlatform) -> None:
    given = {
        "iss": platform.issuer,
        "client_id": platform.client_id,
        "login_hint": "42",
        "lti_message_hint": "1",
        "target_link_uri": "http://testserver/lti/launch/",
    }
    answer = Client().post("/lti/login/", given, headers={"Sec-Fetch-Dest": "iframe"})
    page = answer.content.decode()
    [address] = re.findall(r'href="([^"]+)" target="_blank"', page)
    assert "frame-ancestors https://lms.example" in answer["Content-Security-Policy"]
    assert "X-Frame-Options" not in answer
    assert not answer.cookies
    assert Client().get(address.replace("&amp;", "&")).status_code == 302
    deep = given | {"target_link_uri": "http://testserver/lti/launch/?choose"}
    assert Client().post("/lti/login/", deep, headers={"Sec-Fetch-Dest": "iframe"}).status_code == 302


def test_login_and_launch_alone_take_forms_of_other_sites(lms: Lms, linked: LtiContext) -> None:
    strict = Client(enforce_csrf_checks=True)
    state, token = lms.authorized(strict, "t", (INSTRUCTOR,), context="another")
    assert strict.post("/lti/login/", {"iss": "x"}).status_code == 403, "by its own refusal"
    assert strict.post("/lti/launch/", {"state": state, "id_token": token}).status_code == 302
    strict.force_login(account("forger"))
    for path in (
        f"/lti/link/{state}/",
        "/lti/platforms/",
        f"/c/{linked.course.slug}/lti/",
        f"/c/{linked.course.slug}/lti/resend/",
    ):
        assert "is from another site" in strict.post(path).content.decode(), path


def test_an_instructor_is_signed_in_by_no_claim(lms: Lms, linked: LtiContext) -> None:
    browser = Client()
    answer = entered(lms, browser, "t", roles=(INSTRUCTOR,))
    assert answer["Location"] == f"/accounts/login/?next=/c/{linked.course.slug}/"
    assert browser.get(f"/c/{linked.course.slug}/").status_code == 404
    outsider = browser_of(account("outsider"))
    assert entered(lms, outsider, "t", roles=(INSTRUCTOR,)).status_code == 404


def test_the_teacher_who_is_signed_in_comes_to_the_course(lms: Lms, linked: LtiContext, teacher: Client) -> None:
    answer = entered(lms, teacher, "t", roles=(INSTRUCTOR,))
    assert answer["Location"] == f"/c/{linked.course.slug}/"
    assert not LtiSeat.objects.exists(), "and is no student of it"


def test_a_course_is_linked_by_an_instructor_who_is_signed_in_as_its_teacher(
    lms: Lms, platform: LtiPlatform, course: Course, teacher: Client
) -> None:
    address = entered(lms, teacher, "t", roles=(INSTRUCTOR,))["Location"]
    assert address.startswith("/lti/link/")
    assert course.title in teacher.get(address).content.decode()
    assert teacher.post(address, {"course": course.slug})["Location"] == f"/c/{course.slug}/lti/"
    made = LtiContext.objects.get()
    assert (made.course, made.context, made.title) == (course, CONTEXT, "Messaging")
    assert entered(lms, Client(), lab=LAB).status_code == 302
    assert teacher.post(f"/c/{course.slug}/lti/", {"do": "unlink", "link": made.pk}).status_code == 302
    assert lms.open(Client(), "43", lab=LAB).status_code == 409
    assert Enrolment.objects.count() == 1, "places stay"


def test_no_one_links_to_a_course_of_another_or_without_an_account_or_without_the_launch(
    lms: Lms, platform: LtiPlatform, course: Course, teacher: Client
) -> None:
    other, unnamed = browser_of(account("other")), Client()
    address = entered(lms, other, "t", roles=(INSTRUCTOR,))["Location"]
    assert other.post(address, {"course": course.slug}).status_code == 404
    assert teacher.post(address, {"course": course.slug}).status_code == 404, "the launch was in another browser"
    anonymous = entered(lms, unnamed, "t", roles=(INSTRUCTOR,))["Location"]
    assert unnamed.post(anonymous, {"course": course.slug})["Location"].startswith("/accounts/login/")
    learner = lms.open(teacher, "42", context="unlinked")
    assert learner.status_code == 409
    assert not LtiContext.objects.exists()


def test_a_linked_course_is_not_taken_over_by_another_instructor(
    lms: Lms, platform: LtiPlatform, course: Course, teacher: Client
) -> None:
    other = browser_of(account("other"))
    theirs = other.post("/c/new/", {"title": "Mine", "labs": [LAB]})["Location"].split("/")[2]
    late = entered(lms, other, "t2", roles=(INSTRUCTOR,))["Location"]
    first = entered(lms, teacher, "t", roles=(INSTRUCTOR,))["Location"]
    assert teacher.post(first, {"course": course.slug}).status_code == 302
    assert other.post(late, {"course": theirs}).status_code == 409
    assert LtiContext.objects.get().course == course


def test_who_was_removed_does_not_come_back_by_the_lms(lms: Lms, linked: LtiContext, teacher: Client) -> None:
    entered(lms, Client(), lab=LAB)
    place = Enrolment.objects.get()
    teacher.post(f"/c/{linked.course.slug}/students/{place.pk}/", {"do": "remove"})
    assert lms.open(Client(), lab=LAB).status_code == 403
    assert Enrolment.objects.count() == 1


def test_a_closed_or_full_course_lets_in_who_has_a_place(lms: Lms, linked: LtiContext, teacher: Client) -> None:
    entered(lms, Client(), lab=LAB)
    Course.objects.update(code=None)
    assert entered(lms, Client(), lab=LAB).status_code == 302
    assert lms.open(Client(), "43", lab=LAB).status_code == 409
    Course.objects.update(code="ABCDEF", most_students=1)
    assert lms.open(Client(), "43", lab=LAB).status_code == 409


@pytest.mark.parametrize("roles", [(), ("http://purl.imsglobal.org/vocab/lis/v2/membership#Mentor",)])
def test_other_roles_lead_to_nothing(lms: Lms, linked: LtiContext, roles: tuple[str, ...]) -> None:
    assert lms.open(Client(), roles=roles).status_code == 403


def test_an_administrator_of_the_lms_who_is_a_learner_in_the_course_is_a_learner(lms: Lms, linked: LtiContext) -> None:
    roles = ("http://purl.imsglobal.org/vocab/lis/v2/institution/person#Administrator", LEARNER)
    entered(lms, Client(), roles=roles)
    assert LtiSeat.objects.count() == 1


def test_a_lab_that_is_not_the_course_s_leads_to_the_course(lms: Lms, linked: LtiContext) -> None:
    assert entered(lms, Client(), lab="orderly-lock")["Location"] == f"/c/{linked.course.slug}/"


def test_everything_of_a_student_goes_with_the_place(lms: Lms, linked: LtiContext) -> None:
    entered(lms, Client(), lab=LAB)
    assert all(model.objects.exists() for model in (LtiSeat, LtiScore, LtiLaunch))
    Enrolment.objects.all().delete()
    assert not any(model.objects.exists() for model in (LtiSeat, LtiScore, LtiLaunch))


def test_a_line_item_at_another_host_than_the_platform_s_is_not_kept(lms: Lms, linked: LtiContext) -> None:
    entered(lms, Client(), lab=LAB, line_item="https://elsewhere.example/lineitems/1")
    assert not LtiScore.objects.exists()
    assert LtiSeat.objects.get().user_sealed == "", "then whose it is has not to be known either"
    entered(lms, Client(), lab=LAB)
    assert LtiScore.objects.get().line_item == LINE_ITEM


def test_launches_of_an_hour_ago_are_forgotten(lms: Lms, linked: LtiContext) -> None:
    entered(lms, Client())
    LtiLaunch.objects.update(made_at=timezone.now() - timedelta(hours=1, seconds=1))
    entered(lms, Client(), "43")
    assert LtiLaunch.objects.count() == 1
