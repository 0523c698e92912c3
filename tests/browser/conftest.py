"""A real server with the real engine in a process of its own, and headless Chromium in front of it."""

import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, WebSocketRoute, expect, sync_playwright

from queueviz.pages.first_steps import COOKIE, FIRST_STEPS
from tests import ports
from tests.patience import PATIENCE_S
from tests.server.server import Server, forget_creations, run

ROOT = Path(__file__).parents[2]
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")  # the first draws no windows
DESKTOP: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
PATIENCE_MS = PATIENCE_S * 1000
TEACHER, PASSWORD = "teacher", "two-votes-101"
ACCOUNT = f"""
from django.contrib.auth import get_user_model
get_user_model().objects.create_superuser("{TEACHER}", "teacher@example.org", "{PASSWORD}")
"""
FIRST_START_S = 180.0  # of a new data home on a machine that others use
STILL = 4  # so many snapshots alike, each a turn of the engine


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shots", default=None, metavar="DIR", help="leave screenshots of the main pages in DIR")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="package")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The server's data home."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="package")
def base_url(home: Path) -> Iterator[str]:
    """The server's address; `manage.py serve` also migrates and collects static files, as in production."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "manage.py", "serve", "--without-worker", "--port", str(port)]
    environment = {**os.environ, "QUEUEVIZ_HOME": str(home), "QUEUEVIZ_FIRST_PORT": str(ports.OF_SERVERS)}
    with (
        (home / "server.log").open("wb") as log,
        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=log) as server,
    ):
        assert server.stdout is not None
        if not any(b"http://" in line for line in server.stdout):  # it says so when it listens
            pytest.fail((home / "server.log").read_text())
        yield f"http://127.0.0.1:{port}"
        server.terminate()


@pytest.fixture(scope="package")  # no longer: while it runs, Playwright keeps an event loop running in this thread
def browser() -> Iterator[Browser]:
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        pytest.skip("no Chromium on this machine; script/setup browser installs it where it may")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        args = ["--no-sandbox", "--disable-dev-shm-usage", "--font-render-hinting=none"]  # as wide as on screens
        with playwright.chromium.launch(executable_path=executable, args=args) as started:
            yield started


Kept = dict[str, tuple[str, list[Any]]]  # template → slug, and the cookies of its owner


class Site:
    """A visitor's browser, and what the server says when asked without it."""

    def __init__(self, page: Page, base_url: str, kept: Kept) -> None:
        self.page = page
        self.base_url = base_url
        self.slug = ""
        self._kept = kept
        self._started: list[str] = []

    def start(self, template: str) -> str:
        """Start a sandbox with the form of the first page, without drawing that page; open its Board."""
        if not self.headers()["X-CSRFToken"]:
            self.page.request.get(f"{self.base_url}/")
        new = f"{self.base_url}/new/"
        made = self.page.request.post(new, form={"template": template}, headers=self.headers(), max_redirects=0)
        assert made.status == 302, made.text()
        self.page.goto(f"{self.base_url}{made.headers['location']}")
        return self.adopt()

    def adopt(self) -> str:
        """The sandbox that the page has just started."""
        self.page.wait_for_url("**/s/**")
        self.slug = self.page.url.split("/s/")[1].split("/")[0]
        self._started.append(self.slug)
        self.wait_connected()
        return self.slug

    def end(self) -> None:
        """Delete its own sandboxes: one that runs on unwatched takes time from the tests after it."""
        shared = [slug for slug, _ in self._kept.values()]
        for slug in self._started:
            if slug not in shared:
                address = f"{self.base_url}/s/{slug}/keep/delete/"
                self.page.request.post(address, headers=self.headers(), max_redirects=0)

    def headers(self) -> dict[str, str]:
        """Those of a form posted beside the page."""
        cookies = {cookie["name"]: cookie["value"] for cookie in self.page.context.cookies(self.base_url)}
        return {"X-CSRFToken": cookies.get("csrftoken", ""), "Origin": self.base_url, "Referer": self.base_url}

    def visit(self, template: str, path: str = "") -> Page:
        """A sandbox tests share because they leave it as it is."""
        if template not in self._kept:
            self.start(template)
            self._kept[template] = (self.slug, self.page.context.cookies())
        self.slug, cookies = self._kept[template]
        self.page.context.add_cookies(cookies)  # type: ignore[arg-type]
        return self.open(path)

    def open(self, path: str = "") -> Page:
        self.page.goto(f"{self.base_url}/s/{self.slug}/{path}")
        self.wait_connected()
        return self.page

    def wait_connected(self) -> None:
        self.page.locator(".app[data-conn=connected]").wait_for(timeout=PATIENCE_MS)

    def hear_three_beats(self) -> None:
        """Long enough for several frames, if there were any."""
        self.page.evaluate("""() => new Promise((done) => {
            let heard = 0;
            queueviz.live.addEventListener("beat", () => ++heard === 3 && done());
        })""")

    def act(self, **action: str) -> int:
        """Post an action the way a button does, but beside the page, which may open anew; returns the status."""
        headers = json.loads(self.page.locator("body").get_attribute("hx-headers") or "{}")
        address = f"{self.base_url}/s/{self.slug}/actions/"
        answer = self.page.request.post(
            address,
            form=dict(action),
            headers={**headers, "HX-Request": "true", "Origin": self.base_url, "Referer": self.page.url},
        )
        return answer.status

    def snapshot(self) -> dict[str, Any]:
        """Catalogue 9, from the JSON API."""
        with urllib.request.urlopen(f"{self.base_url}/api/sandboxes/{self.slug}") as answer:
            return dict(json.load(answer))

    def stand_still(self) -> dict[str, Any]:
        """Stop the world and return it once what was on its way has arrived."""
        assert self.act(action="SetRate", rate="0") == 204
        last = [self.snapshot()]
        while len(last) < STILL or last[0]["seq"] != last[-1]["seq"]:
            self.page.evaluate("new Promise((done) => setTimeout(done, 50))")
            last = [*last, self.snapshot()][-STILL:]
        return last[-1]

    def group(self, name: str) -> dict[str, Any]:
        return next(group for group in self.snapshot()["groups"] if group["group"] == name)

    @staticmethod
    def ends(snapshot: dict[str, Any]) -> dict[str, str]:
        """The next free offset of each queue of `orders`."""
        topic = next(topic for topic in snapshot["topics"] if topic["topic"] == "orders")
        return {f"{queue['broker']}:{queue['queue_id']}": queue["max"] for queue in topic["queues"]}

    def until(self, expression: str, arg: object = None, within_ms: float = PATIENCE_MS) -> Any:
        """Wait until the expression is true in the page; with an argument it is a function of it."""
        function = expression if arg is not None else f"() => {expression}"  # a bare text would need `eval`
        return self.page.wait_for_function(function, arg=arg, timeout=within_ms)


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context(viewport=DESKTOP, color_scheme="light") as made:
        made.set_default_timeout(PATIENCE_MS)
        yield made


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page that may not complain: an error in its scripts fails the test."""
    complaints: list[str] = []
    made = context.new_page()
    made.on("pageerror", lambda error: complaints.append(str(error)))
    made.on("console", lambda said: complaints.append(said.text) if "Content Security Policy" in said.text else None)
    yield made
    assert complaints == []


@pytest.fixture(scope="package")
def kept() -> Kept:
    return {}


@pytest.fixture
def site(page: Page, base_url: str, home: Path, kept: Kept) -> Iterator[Site]:
    forget_creations(home)
    # Who has dismissed the line that says what to try; `test_axe_finds_nothing` shows it.
    page.context.add_cookies([{"name": COOKIE, "value": ".".join(FIRST_STEPS), "url": base_url}])
    made = Site(page, base_url, kept)
    yield made
    made.end()


@pytest.fixture(scope="package")
def account(base_url: str, home: Path) -> None:
    """The teacher's, as long as the server has it."""
    made = run("shell", "-c", ACCOUNT, home=home)
    assert made.returncode == 0, made.stderr


@pytest.fixture
def course(site: "Site", account: None) -> str:
    """The address of a course of the teacher's, who is signed in."""
    page = site.page
    page.goto(f"{site.base_url}/accounts/login/")
    page.locator("[name=username]").fill(TEACHER)
    page.locator("[name=password]").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "login" not in url)
    page.goto(f"{site.base_url}/c/new/")
    page.locator("[name=title]").fill("Messaging 101")
    page.locator("main details summary").click()
    page.locator("[name=labs][value=members-and-queues]").check()
    page.locator("main details .btn").click()
    page.locator(".joincode").wait_for()
    course = page.url.removesuffix("live/")
    page.goto(course)
    page.locator(".joincode").wait_for()
    return course


@pytest.fixture
def pupil(browser: Browser) -> Iterator[BrowserContext]:
    """A student's browser."""
    with browser.new_context(viewport=DESKTOP, color_scheme="light", reduced_motion="reduce") as made:
        made.set_default_timeout(PATIENCE_MS)
        yield made


@pytest.fixture
def lab(pupil: BrowserContext, site: "Site", course: str) -> Page:
    """The first lab of a student who has just joined."""
    code = site.page.locator(".joincode").inner_text()
    page = pupil.new_page()
    page.goto(f"{site.base_url}/join/?code={code}")
    page.locator("[name=pseudonym]").fill("Otter")
    page.locator("main form .primary").click()
    page.wait_for_url(course)
    page.locator(".worklist button").first.click()
    page.locator(".app[data-conn=connected]").wait_for()
    return page


class Wire:
    """The live socket, with scissors."""

    def __init__(self) -> None:
        self.is_cut = False
        self.has_pictures = True  # else only beats and facts come: the sandbox is being opened
        self._open: list[WebSocketRoute] = []

    def route(self, socket_of_page: WebSocketRoute) -> None:
        if self.is_cut:
            socket_of_page.close()
            return
        server = socket_of_page.connect_to_server()
        server.on_message(lambda frame: self._pass(frame, socket_of_page))
        self._open.append(socket_of_page)

    def _pass(self, frame: str | bytes, socket_of_page: WebSocketRoute) -> None:
        if self.has_pictures or json.loads(frame)["k"] not in ("snap", "delta"):
            socket_of_page.send(frame)

    def cut(self) -> None:
        self.is_cut = True
        for each in self._open:
            each.close()
        self._open.clear()

    def mend(self) -> None:
        self.is_cut = False


@pytest.fixture
def wire(page: Page) -> Wire:
    made = Wire()
    page.route_web_socket("**/ws/live/", made.route)
    return made


@pytest.fixture
def own_server(base_url: str, home: Path, tmp_path: Path) -> Iterator[Server]:
    """A server to stop and kill; the static files are the shared one's."""
    (tmp_path / "home").mkdir()
    shutil.copytree(home / "static", tmp_path / "home" / "static")
    server = Server(tmp_path / "home").start(within_s=FIRST_START_S)
    yield server
    server.end()
