"""Lite as it is built, in a real worker: the run of a lab, which another browser and the server execute again."""

import io
import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import APIRequestContext, Page, Route, expect

from sandbox.recording.reader import Recording
from tests.browser.built_lite import STATIC, built_lite
from tests.browser.conftest import PATIENCE_MS, Site

SHOWN = ".litetabs iframe:not(.next)"
LAB, MEMBER = "pinned-offset", "left"
ACT = "(fields) => queuevizLite.request('POST', 'actions/', new URLSearchParams(fields).toString())"
EVENTS = "() => queuevizLite.request('GET', 'api/events?most=10000').then(({ body }) => body)"
UNTIL_150 = """async () => {
    for (let body = ""; !body.startsWith('{"seq":"150"'); await new Promise(requestAnimationFrame))
        ({ body } = await queuevizLite.request("GET", "api/events?after=149&most=1"));
}"""
Journal = list[tuple[str, str, str | None]]  # number, type, and the name of an action


@pytest.fixture(scope="module")
def static(home: Path, base_url: str) -> Iterator[Path]:
    """Return the folder that `build_lite` writes; the server reads its list."""
    built_lite()
    manifest = home / "static" / "lite" / "manifest.json"
    manifest.parent.mkdir(exist_ok=True)
    before = manifest.read_text() if manifest.exists() else None
    manifest.write_bytes((STATIC / "lite" / "manifest.json").read_bytes())
    yield STATIC
    manifest.unlink() if before is None else manifest.write_text(before)


@pytest.fixture(autouse=True)
def _served(page: Page, static: Path) -> None:
    def serve(route: Route) -> None:
        path = static / route.request.url.partition("/static/")[2]
        is_script = path.suffix == ".mjs"  # a type that some machines do not know
        route.fulfill(path=path, content_type="text/javascript" if is_script else None)

    page.context.route("**/static/lite/*/**", serve)


def _journal(lines: str) -> Journal:
    return [(row["seq"], row["type"], row.get("action")) for row in map(json.loads, lines.splitlines())]


def _of_server(request: APIRequestContext, api: str) -> Journal:
    return _journal(request.get(f"{api}/events?most=10000").text())


def test_the_run_of_a_lab_is_executed_again_in_another_browser_and_on_the_server(site: Site) -> None:
    page = site.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{site.base_url}/lite/lab/{LAB}/")
    expect(page.frame_locator(SHOWN).locator("#lab-title")).to_be_visible()
    expect(page).to_have_url(f"{site.base_url}/lite/lab/{LAB}/#labs/{LAB}/")
    assert page.evaluate(ACT, {"action": "CrashActor", "actor": MEMBER})["status"] == 204
    before = _journal(page.evaluate(EVENTS))
    page.locator("[data-lite=link]").click()
    expect(page.locator(".toast")).to_have_text("Copied")
    link = page.evaluate("navigator.clipboard.readText()")
    with page.context.expect_page() as opened:
        page.locator("[data-lite=copy]").click()

    page.goto("about:blank")
    page.goto(link)
    page.locator(SHOWN).wait_for(timeout=PATIENCE_MS)
    assert _journal(page.evaluate(EVENTS))[: len(before)] == before

    site.page = opened.value
    site.page.locator("button[name=make]").click()
    slug = site.adopt()
    assert _of_server(site.page.request, f"{site.base_url}/api/sandboxes/{slug}")[: len(before)] == before
    assert {"StartLab", "CrashActor"} <= {action for _, _, action in before}


def test_the_past_is_exact_and_the_run_is_saved_as_a_page(page: Page, site: Site, tmp_path: Path) -> None:
    page.goto(f"{site.base_url}/lite/orders/")
    tab = page.frame_locator(SHOWN)
    tab.locator(".app[data-conn=connected]").wait_for(timeout=PATIENCE_MS)
    page.evaluate(UNTIL_150)
    page.evaluate("queuevizLite.go(queuevizLite.root + '?at=140')")
    expect(tab.locator("#r-grey")).to_contain_text("all values are of", timeout=PATIENCE_MS)

    page.get_by_text("Download", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Offline page").click()
    offline = Path(download.value.path()).rename(tmp_path / "offline.html")
    player = page.context.new_page()
    player.goto(offline.as_uri())
    expect(player.locator("h1")).to_have_text("orders")
    expect(player.locator("[data-queue]")).to_have_count(8)
    recording = Recording(io.BytesIO(b64decode(player.locator("#recording").text_content() or "")))
    recording.check()
    assert recording.head.seq[1] > 140
