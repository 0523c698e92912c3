"""A poll from question to reveal: the teacher's page by the Enter key, a student's phone that follows by itself."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.axe import faults, small_targets
from tests.browser.conftest import DESKTOP, PATIENCE_MS, PHONE, Site


@pytest.fixture
def phone(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context(viewport=PHONE, color_scheme="light", reduced_motion="reduce") as made:
        made.set_default_timeout(PATIENCE_MS)
        yield made


def joined(phone: BrowserContext, site: Site, course: str) -> Page:
    code = site.page.locator(".joincode").inner_text()
    made = phone.new_page()
    made.goto(f"{site.base_url}/join/?code={code}")
    made.locator("[name=code]").fill(code)
    made.locator("main form .primary").click()
    made.wait_for_url(course)
    made.goto(f"{course}poll/")
    made.locator(".app[data-conn=connected]").wait_for()
    return made


def ask(page: Page, course: str) -> None:
    page.goto(f"{course}poll/")
    page.locator("[name=question]").fill("How many messages come again?")
    answers = (("0", "none"), ("3", "those in hand"), ("24", "all since the last commit"))
    for at, (value, sentence) in enumerate(answers):
        page.locator("[name=value]").nth(at).fill(value)
        page.locator("[name=sentence]").nth(at).fill(sentence)
    page.get_by_role("button", name="Open the vote").click()
    page.locator("#seats").wait_for()


def clean(page: Page) -> None:
    assert faults(page) == [], page.locator("#poll").get_attribute("data-at")
    if page.viewport_size == PHONE:
        assert small_targets(page) == []


def test_a_poll_from_question_to_reveal(site: Site, phone: BrowserContext, course: str) -> None:
    teacher = site.page
    teacher.emulate_media(reduced_motion="reduce")
    student = joined(phone, site, course)
    expect(student.get_by_text("No question is open.")).to_be_visible()
    ask(teacher, course)
    teacher.goto(f"{course}poll/?projector=1")
    site.wait_connected()

    def step(state: str) -> None:
        teacher.locator("body").press("Enter")
        for page in (teacher, student):
            page.locator(f"#poll[data-at='1/{state}']").wait_for()
        site.wait_connected()
        clean(teacher)
        clean(student)

    choices = student.locator(".choice")
    expect(choices).to_have_count(3)
    assert choices.first.bounding_box()["height"] >= 68  # type: ignore[index]
    choices.nth(0).click()
    student.get_by_role("button", name="Send answer").click()
    expect(student.locator("#receipt")).to_contain_text("Answer received: 0.")
    expect(teacher.locator("#voted")).to_have_text("1")
    expect(teacher.locator("#say")).to_have_text("1 of 1 voted")
    clean(student)
    step("hidden")
    step("discuss")
    step("again")
    expect(teacher.locator("#voted")).to_have_text("0")
    choices.nth(1).locator("input").focus()
    student.keyboard.press("ArrowDown")
    student.keyboard.press("Enter")
    expect(student.locator("#receipt")).to_contain_text("Answer received: 24.")
    expect(teacher.locator("#voted")).to_have_text("1")
    step("run")
    teacher.locator("body").press("Enter")
    assert teacher.locator("#poll").get_attribute("data-at") == "1/run", "it must be said what the run showed"
    teacher.locator("[name=shown][value='2']").check()
    step("reveal")
    for page in (teacher, student):
        expect(page.locator(".moved")).to_have_text("0 → 1 of 1 chose 24. 1 changed their answer.")
        expect(page.locator("li.right .value")).to_have_text("24")
    teacher.set_viewport_size(PHONE)
    clean(teacher)
    teacher.set_viewport_size(DESKTOP)


def test_a_chosen_answer_outlives_the_news_of_others_and_a_lab_s_page_shows_poll_and_pace(
    site: Site, phone: BrowserContext, course: str
) -> None:
    student, teacher = joined(phone, site, course), site.page
    lab = phone.new_page()
    lab.goto(course)
    lab.locator(".worklist .primary").click()
    lab.locator(".app[data-conn=connected]").wait_for()
    line = lab.locator("#class-poll")
    expect(line).to_be_hidden()
    ask(teacher, course)
    expect(line).to_be_visible()
    expect(line).to_contain_text("How many messages come again?")

    student.locator(".choice").nth(1).click()
    with student.expect_response(lambda answer: "/poll/" in answer.url):
        student.evaluate("document.body.dispatchEvent(new CustomEvent('queueviz:poll'))")
    expect(student.locator(".choice input").nth(1)).to_be_checked()
    teacher.locator("#primary").click()
    student.locator("#poll[data-at='1/hidden']").wait_for()
    expect(student.get_by_text("You did not answer.")).to_be_visible()

    teacher.goto(f"{course}live/")
    teacher.locator("#pace select").select_option("0")
    teacher.locator("#pace .pacerow button").click()
    expect(lab.locator("#lab")).to_contain_text("Wait. Your teacher opens step 1 next")
    expect(lab.locator("#lab [name=value]")).to_have_count(0)
    teacher.get_by_role("button", name="Open step 1").click()
    expect(lab.locator("#lab [name=value]").first).to_be_visible()
