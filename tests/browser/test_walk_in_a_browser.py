"""A newcomer's walk: a board at 20×, people come and go, the server is stopped once and killed once.

Every ten seconds every number of the page is compared with the API; nothing may disagree for longer than two seconds.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from playwright.sync_api import Page, expect

from tests.browser.board_numbers import Comparison
from tests.browser.conftest import PATIENCE_MS, Site
from tests.server.server import Server

LOOK_EVERY_S = 10.0
FAST = "20"
GROUP, TOPIC = "order-svc", "orders"


@pytest.fixture
def walk(page: Page, own_server: Server) -> Iterator["Walk"]:
    made = Walk(page, own_server)
    yield made
    made.end()


class Walk:
    """The page of a newcomer, and what is done to it and to its server."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page, self.server = page, server
        self.site = Site(page, server.url, {})
        self.site.start("orders")
        self.comparison = Comparison(page, self.site.snapshot, group=GROUP, topic=TOPIC)
        page.locator(f"[data-rate='{FAST}']").click()
        expect(page.locator(f"[data-rate='{FAST}']")).to_have_attribute("aria-pressed", "true")

    def end(self) -> None:
        self.page.goto("about:blank")

    def go(self, seconds: float, steps: dict[float, Callable[[], None]]) -> None:
        """Do each step at its second, compare every ten."""
        begun_s = time.monotonic()
        todo = sorted(steps.items(), key=lambda item: item[0])
        due_s = 0.0
        while (now_s := time.monotonic() - begun_s) < seconds or todo:
            while todo and todo[0][0] <= now_s:
                todo.pop(0)[1]()
            if now_s >= due_s:
                due_s = now_s + LOOK_EVERY_S
                self.look(f"{now_s:.0f} s after the walk began")
            self.page.wait_for_timeout(100)

    def look(self, when: str) -> None:
        """At the drawing, then at the table."""
        for _ in "drawing", "table":
            disagree = self.comparison.check()
            assert not disagree, f"{when}: {disagree}"
            self.page.locator("#twin-toggle").click()

    # What a newcomer does.

    def add(self) -> None:
        self.page.locator("#add").click()

    def press(self, button: str, actor: str) -> None:
        self.page.locator(f".cons[data-actor={actor}] [data-act={button}]").click()
        if button == "CrashActor":  # it is asked first
            self.page.locator("#ask").get_by_role("button", name="Crash").click()

    def crash_and_restart(self) -> None:
        self.press("CrashActor", actor="A")
        self.press("RestartActor", actor="A")

    def burst(self) -> None:
        self.page.get_by_role("button", name="Send burst").click()
        self.page.locator("#ask").get_by_role("button", name="Send").click()

    def stop(self) -> None:
        self._restart(self.server.stop)

    def kill(self) -> None:
        self._restart(self.server.kill)

    def _restart(self, end: Callable[[], object]) -> None:
        """While the server is away the page says so; afterwards it goes on by itself, not reloaded."""
        end()
        expect(self.page.locator("#conn")).to_contain_text("Offline", timeout=PATIENCE_MS)
        self.server.start()
        self.page.locator(".app[data-conn=connected]").wait_for(timeout=2 * PATIENCE_MS)

    def stand_still(self) -> None:
        """The end: with a paused world every number is the same to the last digit."""
        self.site.stand_still()
        self.look("in a world that stands still")


@pytest.mark.nightly  # the API and a page of one machine that others share may be two seconds apart for no one's fault
def test_a_short_walk_finds_no_number_that_disagrees_with_the_api(walk: Walk) -> None:
    for step in walk.add, walk.burst, walk.crash_and_restart, walk.stop, walk.kill:
        step()
        walk.look(f"after {step.__name__}")
    walk.stand_still()
    assert walk.comparison.numbers > 600


@pytest.mark.nightly
def test_ten_minutes_of_a_newcomer_s_walk_find_no_number_that_disagrees_with_the_api(walk: Walk) -> None:
    a, b, c = (partial(walk.press, actor=actor) for actor in "ABC")
    walk.go(600, {
        15: walk.add, 40: partial(a, "CrashActor"), 70: partial(a, "RestartActor"), 100: walk.burst,
        130: partial(b, "HangActor"), 150: partial(b, "ResumeActor"), 200: walk.stop, 260: partial(c, "StopActor"),
        300: partial(c, "RestartActor"), 344: walk.crash_and_restart, 346: walk.kill, 420: walk.burst, 470: walk.add,
    })  # fmt: skip
    walk.stand_still()
    assert walk.comparison.numbers > 5_000
