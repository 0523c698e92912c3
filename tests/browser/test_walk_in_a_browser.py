"""A newcomer's walk: a board at 20×, people come and go, the server is stopped once and killed once.

After each step the world is stopped, and every number of the page compared with the API.
"""

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from playwright.sync_api import Page, expect

from tests.browser.board_numbers import Comparison
from tests.browser.conftest import PATIENCE_MS, Site
from tests.server.server import Server

FAST = "20"
GROUP, TOPIC = "order-svc", "orders"


@pytest.fixture
def walk(page: Page, own_server: Server) -> Iterator["Walk"]:
    made = Walk(page, own_server)
    yield made
    made.end()


class Walk:
    """The page of a newcomer, and the steps done to it and to its server."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page, self.server = page, server
        self.site = Site(page, server.url, {})
        self.site.start("orders")
        self.comparison = Comparison(page, self.site.snapshot, group=GROUP, topic=TOPIC)

    def end(self) -> None:
        self.page.goto("about:blank")

    def go(self, *steps: Callable[[], None]) -> None:
        """After each step, the world runs for a minute of its own; then it is stopped and compared."""
        for step in steps:
            self.page.locator(f"[data-rate='{FAST}']").click()
            expect(self.page.locator(f"[data-rate='{FAST}']")).to_have_attribute("aria-pressed", "true")
            step()
            now_ms = self.page.evaluate("queueviz.clock.now()")
            self.site.until("(until) => queueviz.clock.now() >= until", now_ms + 60_000)
            self.site.stand_still()
            self.look(step)

    def look(self, step: Callable[[], None]) -> None:
        """At the drawing, then at the table."""
        for _ in "drawing", "table":
            differ = self.comparison.differences()
            assert not differ, f"after {step}: {differ}"
            self.page.locator("#twin-toggle").click()

    # Steps of a newcomer.

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
        self.page.locator(".app[data-conn=connected]").wait_for(timeout=PATIENCE_MS)


@pytest.mark.wide
def test_no_number_of_a_newcomer_s_walk_differs_from_the_api(walk: Walk) -> None:
    """Two minutes: about a quarter of an hour of the sandbox."""
    a, b, c = (partial(walk.press, actor=actor) for actor in "ABC")
    walk.go(
        walk.add,
        partial(a, "CrashActor"),
        partial(a, "RestartActor"),
        walk.burst,
        partial(b, "HangActor"),
        partial(b, "ResumeActor"),
        walk.stop,
        partial(c, "StopActor"),
        partial(c, "RestartActor"),
        walk.crash_and_restart,
        walk.kill,
        walk.burst,
        walk.add,
    )
    assert walk.comparison.numbers > 1_300
