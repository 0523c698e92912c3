"""A course's lab in the student's own browser: seen by the teacher, kept through cuts, reloads and other devices."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from tests.browser.built_lite import STATIC, built_lite
from tests.browser.conftest import ACCOUNT, DESKTOP, FIRST_START_S, PASSWORD, PATIENCE_MS, TEACHER
from tests.server.server import Server, run

SHOWN = ".litetabs iframe:not(.next)"
LAB = "members-and-queues"
RECEIVED = "has all of your work"
ENTRIES = """
from queueviz.models import LiteEntry
print([(entry.n, entry.name, entry.by) for entry in LiteEntry.objects.order_by("n")])
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server to kill, with an account and the list of Lite's files."""
    built_lite()
    home = tmp_path_factory.mktemp("class")
    started = Server(home).start(within_s=FIRST_START_S)
    (home / "static" / "lite").mkdir(exist_ok=True)
    (home / "static" / "lite" / "manifest.json").write_bytes((STATIC / "lite" / "manifest.json").read_bytes())
    made = run("shell", "-c", ACCOUNT, home=home)
    assert made.returncode == 0, made.stderr
    yield started
    started.end()


class Lesson:
    """A teacher at the live page of a course, and students who join it."""

    def __init__(self, browser: Browser, server: Server, teacher: Page) -> None:
        self._browser = browser
        self.server = server
        self.teacher = teacher
        teacher.goto(f"{server.url}/accounts/login/?next=/c/new/")
        teacher.locator("[name=username]").fill(TEACHER)
        teacher.locator("[name=password]").fill(PASSWORD)
        teacher.keyboard.press("Enter")
        teacher.locator("[name=title]").fill("Messaging 101")
        expect(teacher.locator("[name=where]")).to_have_value("both")
        teacher.locator("main details summary").click()
        teacher.locator(f"[name=labs][value={LAB}]").check()
        teacher.locator("main details .btn").click()
        teacher.locator(".joincode").wait_for()
        self.course = teacher.url.removesuffix("live/")
        self.contexts: list[BrowserContext] = []

    def device(self, init: str = "") -> Page:
        """A browser that has not been here."""
        context = self._browser.new_context(viewport=DESKTOP, reduced_motion="reduce")
        context.set_default_timeout(PATIENCE_MS)
        context.route("**/static/lite/*/**", _serve)
        context.add_init_script(init)
        self.contexts.append(context)
        return context.new_page()

    def student(self, init: str = "") -> Page:
        """A student who has begun the lab."""
        code = re.sub(r"\s", "", self.teacher.locator(".joincode").inner_text())
        page = self.device(init)
        page.goto(f"{self.server.url}/join/?code={code}")
        page.locator("[name=pseudonym]").fill("Otter")
        page.locator("main form .primary").click()
        page.wait_for_url(self.course)
        page.locator(".worklist button").first.click()
        return page

    def entries(self) -> list[list[object]]:
        printed = run("shell", "-c", ENTRIES, home=self.server.home)
        return json.loads(printed.stdout.splitlines()[-1].replace("(", "[").replace(")", "]").replace("'", '"'))


def _serve(route: Route) -> None:
    path = STATIC / route.request.url.partition("/static/")[2]
    route.fulfill(path=path, content_type="text/javascript" if path.suffix == ".mjs" else None)


@pytest.fixture
def lesson(browser: Browser, server: Server, page: Page) -> Iterator[Lesson]:
    page.set_default_timeout(PATIENCE_MS)
    made = Lesson(browser, server, page)
    yield made
    for context in made.contexts:
        context.close()


def _predict(page: Page) -> None:
    panel = page.frame_locator(SHOWN).locator("#lab-now")
    choice = panel.locator("[name=value]").first
    if choice.get_attribute("type") == "radio":
        choice.check()
    else:
        choice.fill("1")
    panel.locator("button:not([type=button])").first.click()
    page.frame_locator(SHOWN).locator(".seal").wait_for()


def _received(page: Page) -> None:
    expect(page.locator("#class-sent")).to_contain_text(RECEIVED, timeout=PATIENCE_MS)


def test_a_lab_in_the_browser_outlives_reloads_and_goes_on_at_another_device(lesson: Lesson) -> None:
    page = lesson.student()
    _predict(page)
    _received(page)
    tile = lesson.teacher.locator(".tile").first
    expect(tile).to_contain_text("Prediction sealed", timeout=PATIENCE_MS)
    tile.click()
    lesson.teacher.locator("#student-rows .q, #student-rows > *").first.wait_for()

    page.reload()  # in mid-step
    page.frame_locator(SHOWN).locator(".seal").wait_for()
    _received(page)

    page.goto(lesson.course)
    page.locator("details summary", has_text="Continue on another device").click()
    link = page.locator("input[readonly]").input_value()
    page.locator(".worklist button").first.click()
    page.frame_locator(SHOWN).locator(".seal").wait_for()
    other = lesson.device()
    other.goto(link)
    if other.locator("main form .primary").count():
        other.locator("main form .primary").click()
    other.wait_for_url(lesson.course)
    other.locator(".worklist button").first.click()
    other.frame_locator(SHOWN).locator(".seal").wait_for()
    expect(page.locator("#lite-why")).to_contain_text("on another device", timeout=PATIENCE_MS)
    assert [name for _, name, _ in lesson.entries()] == ["StartLab", "AnswerStep"]


def test_what_is_done_while_the_server_is_dead_arrives_once(lesson: Lesson) -> None:
    page = lesson.student()
    page.frame_locator(SHOWN).locator("#lab-now").wait_for()
    _received(page)
    before = len(lesson.entries())
    lesson.server.kill()
    expect(page.locator("#class-sent")).to_contain_text("No connection", timeout=PATIENCE_MS)
    _predict(page)
    lesson.server.start(within_s=FIRST_START_S)
    _received(page)
    assert [name for _, name, _ in lesson.entries()[before:]] == ["AnswerStep"]
    page.frame_locator(SHOWN).locator(".seal").wait_for()


def test_a_browser_without_wasm_does_the_same_lab_on_the_server(lesson: Lesson) -> None:
    page = lesson.student("delete globalThis.WebAssembly")
    expect(page.locator("#lite-why")).to_contain_text("no WebAssembly")
    page.locator("#lite-trouble button[value=server]").click()
    page.locator(".app[data-conn=connected]").wait_for()
    page.locator("#lab-now").wait_for()
    tiles = lesson.teacher.locator(".tile")
    expect(tiles.first).to_contain_text("Otter", timeout=PATIENCE_MS)
    assert "/s/" in page.url
