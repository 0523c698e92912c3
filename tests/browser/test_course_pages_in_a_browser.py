"""No page of a course has a violation axe can find, in either theme and at 390 px, with a student's work on it."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import faults_at_both_widths
from tests.browser.conftest import Site
from tests.server.server import run
from tests.web.analytics_results import leave_analytics

OF_TEACHER = ("", "../new/", "results/", "analytics/", "poll/", "lti/")
OF_STUDENT = ("", "data/", "poll/")
LMS = "https://lms.example.org"
LINKED = """
from queueviz.lti.models import LtiContext, LtiPlatform
from queueviz.models import Course
course = Course.objects.get(slug="{slug}")
platform = LtiPlatform.objects.create(name="Campus Moodle", issuer="{lms}", client_id="{slug}", deployments=["1"],
                                      auth_url="{lms}/auth", token_url="{lms}/token", key_set_url="{lms}/keys",
                                      owner=course.teacher)
LtiContext.objects.create(platform=platform, deployment="1", context="7", title="Distributed systems", course=course,
                          memberships_url="{lms}/names")
"""


@pytest.fixture
def student(lab: Page, site: Site) -> Site:
    """A student with a wrong answer."""
    lab.locator("#lab-value-1-predict").fill("1")
    lab.keyboard.press("Enter")
    expect(lab.locator("#lab-value-1-predict")).to_have_count(0)
    return Site(lab, site.base_url, {})


def manage(home: Path, *words: str) -> None:
    done = run(*words, home=home)
    assert done.returncode == 0, done.stderr


def faults(site: Site, addresses: list[str]) -> list[str]:
    found = []
    for address in addresses:
        site.page.goto(address)
        found += faults_at_both_widths(site.page)
    return found


def test_the_pages_of_a_course_are_clean(site: Site, student: Site, course: str, home: Path) -> None:
    slug = course.split("/")[-2]
    site.page.goto(f"{course}analytics/")
    expect(site.page.get_by_role("button", name="Compute")).to_be_visible()
    leave_analytics(home / "pipeline" / "class_analytics" / slug)
    manage(home, "shell", "-c", LINKED.format(slug=slug, lms=LMS))
    site.page.goto(f"{course}results/")
    site.page.get_by_role("link", name="Otter", exact=True).click()
    expect(site.page.locator("#steps")).to_be_visible()
    of_student = site.page.url
    site.page.goto(f"{site.base_url}/lti/platforms/")
    site.page.locator("button[value=invite]").click()
    of_lms = [site.page.url, site.page.get_by_label("Registration link").input_value()]
    assert not faults(site, [of_student, *of_lms, *(f"{course}{path}" for path in OF_TEACHER)])
    assert not faults(student, [*(f"{course}{path}" for path in OF_STUDENT), f"{site.base_url}/join/"])
