"""An instructor chooses labs in the frame of the LMS: each becomes a link with a line item of its own."""

import re
from typing import Any

import pytest
from django.test import Client

from queueviz.models import LtiContext, LtiPlatform
from sandbox.labs.catalogue import LABS
from tests.lti.lms import DEEP_LINK_RETURN, INSTRUCTOR, Lms
from tests.web.courses import LAB

pytestmark = pytest.mark.django_db


def opened(lms: Lms, browser: Client, **more: Any) -> str:
    answer = lms.open(browser, "t", (INSTRUCTOR,), deep=True, **more)
    assert answer.status_code == 302, answer.content
    return str(answer["Location"])


def test_each_chosen_lab_comes_back_with_a_line_item(lms: Lms, linked: LtiContext) -> None:
    browser = Client()
    address = opened(lms, browser)
    offered = browser.get(address)
    assert re.findall('name="lab" value="([^"]+)"', offered.content.decode()) == ["pinned-offset", LAB]
    assert "frame-ancestors https://lms.example" in offered["Content-Security-Policy"]
    chosen = browser.get(address, {"lab": [LAB, "pinned-offset"]})
    page = chosen.content.decode()
    assert f'action="{DEEP_LINK_RETURN}"' in page
    assert "form-action 'self' https://lms.example" in chosen["Content-Security-Policy"]
    [token] = re.findall('name="JWT" value="([^"]+)"', page)
    items = lms.conf.validate_deeplinking_resp({"JWT": token})
    assert [item["custom"] for item in items] == [{"lab": "pinned-offset"}, {"lab": LAB}]
    for item, slug in zip(items, ("pinned-offset", LAB), strict=True):
        assert (item["type"], item["url"]) == ("ltiResourceLink", "http://testserver/lti/launch/")
        assert item["window"] == {"targetName": "_blank"}
        assert item["lineItem"] == {"scoreMaximum": 100, "label": item["title"], "resourceId": slug, "tag": "queueviz"}
        assert LABS[slug].number in item["title"]
    said = lms.conf.tool_validate_and_decode(token)
    assert said["https://purl.imsglobal.org/spec/lti-dl/claim/data"] == {"csrf": "its own"}


def test_without_a_link_all_labs_are_offered(lms: Lms, platform: LtiPlatform) -> None:
    browser = Client()
    page = browser.get(opened(lms, browser)).content.decode()
    assert page.count('name="lab"') == len(LABS)
    assert "is not linked to a course here yet" in page


def test_a_lab_that_is_not_offered_is_not_linked(lms: Lms, linked: LtiContext) -> None:
    browser = Client()
    address = opened(lms, browser)
    assert 'name="JWT"' not in browser.get(address, {"lab": "orderly-lock"}).content.decode()


def test_labs_are_handed_to_no_other_host(lms: Lms, linked: LtiContext) -> None:
    browser = Client()
    address = opened(lms, browser, back="https://evil.example/take")
    assert browser.get(address, {"lab": LAB}).status_code == 403


def test_a_learner_chooses_nothing_and_another_browser_neither(lms: Lms, linked: LtiContext) -> None:
    assert lms.open(Client(), deep=True).status_code == 403
    address = opened(lms, Client())
    assert Client().get(address, {"lab": LAB}).status_code == 404


def test_choosing_links_no_course(lms: Lms, platform: LtiPlatform, teacher: Client) -> None:
    """Linking happens on a page in its own window: a frame shows no address to trust."""
    state = opened(lms, teacher).split("/")[3]
    course = teacher.post("/c/new/", {"title": "x", "labs": [LAB]})["Location"].split("/")[2]
    assert teacher.post(f"/lti/link/{state}/", {"course": course}).status_code == 404
    assert not LtiContext.objects.exists()
