"""A shared range: played where its link is opened, and in a page of another site, which learns its height alone."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from django.core.management import call_command
from playwright.sync_api import Browser, Locator, Page, expect

from queueviz.links.offline_page import offline_page
from sandbox.recording.reader import Recording
from tests.browser.conftest import PATIENCE_MS, PHONE, Kept, Site

SHARED = "orders, shared"  # a sandbox these tests share
GOLDEN = Path(__file__).parents[1] / "golden" / "recordings" / "0.1.0.qvr"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def link(site: Site, kept: Kept) -> str:
    """A link to a range with a crash; opened at its beginning, with a note behind the crash."""
    if SHARED not in kept:
        site.start("orders")
        assert site.act(action="SetRate", rate=4) == 204
        site.until("queueviz.live.seq > 400", within_ms=PATIENCE_MS)
        site.stand_still()  # well before event 700
        assert site.act(action="CrashActor", actor="A") == 204
        assert site.act(action="SetRate", rate="20") == 204
        site.until("queueviz.live.seq > 900")
        assert site.act(action="SetRate", rate="1") == 204
        kept[SHARED] = (site.slug, site.page.context.cookies())
    site.visit(SHARED)
    page = site.page
    page.goto(f"{site.base_url}/s/{site.slug}/share/")
    for name, value in {"first": "300", "last": "900", "at": "300"}.items():
        page.locator(f"form[method=post] [name={name}]").fill(value)
    page.get_by_role("button", name="Add a note").click()
    page.get_by_label("Event of the note").fill("700")
    page.get_by_label("Note", exact=True).fill("Who takes its queues?")
    page.get_by_role("button", name="Create link").click()
    address = page.locator("#made").input_value()
    expect(page.locator("#links tbody tr").first).to_contain_text("KiB", timeout=PATIENCE_MS)
    return address


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Another site, on an address of its own, with its files."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}", tmp_path
        server.shutdown()


def test_a_range_is_chosen_by_keys_and_its_link_plays_it_and_stops_at_the_note(
    link: str, site: Site, browser: Browser, tmp_path: Path
) -> None:
    page = site.page
    first, last = (page.get_by_role("slider", name=name) for name in ("First event", "Last event"))
    page.locator("[name=first]").fill("300")
    page.locator("[name=last]").fill("900")
    expect(last).to_have_attribute("aria-valuenow", "900")
    expect(last).to_have_attribute("aria-valuemin", "301")
    expect(first).to_have_attribute("aria-valuemax", "899")
    first.press("ArrowRight")
    expect(page.locator("[name=first]")).to_have_value("301")
    last.press("PageDown")
    mark = int(page.locator("[name=last]").input_value())
    assert 301 < mark < 900
    first.press("End")
    expect(page.locator("[name=first]")).to_have_value(str(mark - 1))
    first.press("Home")
    page.get_by_role("button", name="Show preview").click()
    expect(page.locator("#preview .player .q")).to_have_count(8, timeout=PATIENCE_MS)
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    the_range_is_downloaded_and_opens_without_the_server(page, browser, tmp_path)

    page = browser.new_page()
    page.goto(link)
    rows = page.locator(".player .q")
    expect(rows).to_have_count(8)
    slider = page.get_by_role("slider")
    expect(slider).to_have_attribute("aria-valuenow", "300")
    slider.press("End")
    expect(page.locator(".player .cons.out")).to_contain_text("Crashed")
    slider.press("Home")
    page.get_by_label("Speed").select_option("20")
    page.locator("[data-play]").click()
    expect(page.locator("[data-fact]")).to_have_text("Who takes its queues?", timeout=PATIENCE_MS)
    expect(page.locator("[data-play]")).to_have_attribute("data-plays", "false")
    expect(slider).to_have_attribute("aria-valuenow", "700")
    page.get_by_role("button", name="Table").click()
    assert page.locator("[data-twin] tbody tr").count() == 8
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.close()


def the_range_is_downloaded_and_opens_without_the_server(page: Page, browser: Browser, tmp_path: Path) -> None:
    with page.expect_download(timeout=PATIENCE_MS) as download:
        page.get_by_role("button", name="Download the offline file").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    first, last = (page.locator(f"[name={name}]").input_value() for name in ("first", "last"))
    assert file.name == f"queueviz-{first}-{last}.html"
    reader = browser.new_page()
    reader.goto(file.as_uri())
    expect(reader.locator(".player .q")).to_have_count(8)
    reader.close()


def test_a_live_link_shows_the_board_until_it_is_revoked(link: str, site: Site, browser: Browser) -> None:
    page, reader = site.page, browser.new_page()
    page.get_by_label("Live, read only").check()
    page.get_by_role("button", name="Create link").click()
    reader.goto(page.locator("#made").input_value())
    expect(reader.locator(".board .q")).to_have_count(8)
    expect(reader.locator("#conn .word")).to_have_text("Connected")
    reader.wait_for_function("seq => queueviz.live.seq > seq", arg=reader.evaluate("queueviz.live.seq"))
    assert site.slug not in reader.content()
    page.locator("details.revoke summary").first.click()
    page.get_by_role("button", name="Yes, revoke it now").first.click()
    expect(reader.locator("#notice")).to_contain_text("You no longer have access to this view.", timeout=PATIENCE_MS)
    reader.close()


def test_in_an_article_of_another_site_it_asks_its_own_server_alone_and_without_a_cookie(
    link: str, elsewhere: tuple[str, Path], browser: Browser, site: Site
) -> None:
    address, files = elsewhere
    embed = link.replace("/v/", "/e/") + "strips/"
    files.joinpath("article.html").write_text(
        "<p>An article</p><script>addEventListener('message', ({ origin, data }) => "
        "{ window.heard = [origin, data.type, data.height > 100]; })</script>"
        f"<iframe src='{embed}' width='640' height='480'></iframe>"
    )
    page = browser.new_page()
    asked: list[tuple[str, str | None]] = []
    page.on("request", lambda one: asked.append((one.url, one.headers.get("cookie"))))
    page.goto(f"{address}/article.html")
    expect(page.frame_locator("iframe").locator(".player .q")).to_have_count(8)
    page.wait_for_function("() => window.heard")
    assert page.evaluate("window.heard") == [site.base_url, "queueviz:height", True]
    assert {url.split("/")[2] for url, _ in asked} == {address.split("/")[2], site.base_url.split("/")[2]}
    assert {cookie for _, cookie in asked} == {None}
    assert page.context.cookies() == []
    site.page.locator("details.revoke summary").first.click()
    site.page.get_by_role("button", name="Yes, revoke it now").first.click()
    expect(site.page.locator("#links tbody tr").first).to_contain_text("revoked")
    assert page.request.get(embed).status == 404
    page.close()


def test_a_file_that_holds_its_recording_opens_without_a_request(tmp_path: Path, browser: Browser) -> None:
    call_command("recording", "page", str(GOLDEN), str(tmp_path / "kept.html"))
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    page.goto((tmp_path / "kept.html").as_uri())
    expect(page.locator(".player .q")).to_have_count(8)
    page.get_by_role("slider").press("End")
    expect(page.get_by_role("slider")).to_have_attribute("aria-valuenow", "4754")
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    page.close()


def test_a_recording_that_cannot_be_played_is_named_and_the_rest_of_a_damaged_one_is_shown(
    browser: Browser, tmp_path: Path
) -> None:
    whole, page = GOLDEN.read_bytes(), browser.new_page()

    def opened(data: bytes, packed: str = "") -> Locator:
        text = offline_page(data, title="x", language="en")
        (tmp_path / "kept.html").write_text(text.replace('id="recording">', f'id="recording">{packed}'), "utf-8")
        page.goto((tmp_path / "kept.html").as_uri())
        return page.get_by_role("alert")

    expect(opened(b"")).to_have_text("This recording is empty. Request another one.")
    expect(opened(whole[:-100])).to_contain_text("This recording is incomplete: some of its data is missing.")
    expect(opened(b"<html>")).to_have_text("This file is not a recording. Request another one.")
    expect(opened(whole, packed="%")).to_have_text("This recording is empty. Request another one.")
    expect(page.locator("[data-board]")).to_be_hidden()
    with GOLDEN.open("rb") as file:
        place = Recording(file).head.chunks[0]
    broken = whole[: place.facts_begin + 40] + bytes(40) + whole[place.facts_begin + 80 :]
    expect(opened(broken)).to_contain_text("This recording is damaged at this point")
    expect(page.locator(".player .q")).to_have_count(8)
    page.get_by_role("slider").press("End")
    expect(page.get_by_role("slider")).to_have_attribute("aria-valuenow", "4754")
    page.close()
