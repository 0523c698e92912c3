"""Real browsers among the students of a class: headless Chromium with the lab's page open for the whole lesson."""

import asyncio
import shutil
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

from playwright.async_api import Page, async_playwright

from queueviz.operations.lite_files import lite_files
from tests.bench.lite_seats import Seat
from tests.browser.conftest import BROWSERS

BEGUN_MS = 180_000  # the engine is loaded and has begun the lab, on a busy machine
SENT = "#class-sent"
SHOWN = ".litetabs iframe:not(.next)"


def possible() -> bool:
    """Return True if Lite is built and Chromium is on this machine."""
    return lite_files() is not None and any(map(shutil.which, BROWSERS))


class Browsers:
    """Pages of students, each with cookies of its own."""

    def __init__(self, url: str, course: str, lab: str, seats: Sequence[Seat]) -> None:
        self._url = url
        self._page_url = f"{url}/c/{course}/labs/{lab}/browser/"
        self._seats = seats
        self._pages: list[Page] = []
        self._open = AsyncExitStack()

    async def __aenter__(self) -> "Browsers":
        if not self._seats:
            return self
        playwright = await self._open.enter_async_context(async_playwright())
        executable = next(filter(None, map(shutil.which, BROWSERS)))
        args = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = await playwright.chromium.launch(executable_path=executable, args=args)
        self._open.push_async_callback(browser.close)
        for seat in self._seats:
            context = await browser.new_context()
            await context.add_cookies([{"name": "sessionid", "value": seat.session, "url": self._url}])
            page = await context.new_page()
            await page.goto(self._page_url)
            await page.locator(SHOWN).wait_for(timeout=BEGUN_MS)  # one after the other: each loads a whole interpreter
            self._pages.append(page)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._open.aclose()

    async def figures(self) -> dict[str, Any]:
        """Return how many pages there are, and how many say that the server has all of their work."""
        texts = await asyncio.gather(*(page.locator(SENT).inner_text() for page in self._pages))
        return {"pages": len(texts), "all_received": sum("has all of your work" in text for text in texts)}
