"""The page of Lite and its tabs, over a worker that has the pages and frames of a sandbox of the server."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import FrameLocator, Page, expect

from tests.browser.axe import faults_at_both_widths
from tests.browser.conftest import PATIENCE_MS, PHONE, Site

WORKER = Path(__file__).with_name("lite_worker.js")
DIGEST = "0123456789abcdef"
MANIFEST = {
    "engine": DIGEST,
    "folder": f"lite/{DIGEST}/",
    "files": {"pyodide": "pyodide.mjs", "packs": [], "feed": "flights.csv", "offline": {}},
    "total_bytes": 5_600_000,
}
SOCKETS = """
if (window === top) {
    const worker = new BroadcastChannel("sockets"), open = new Map();
    worker.onmessage = ({ data: { k, n, text } }) => {
        if (k === "open") {
            const socket = new WebSocket(`ws://${location.host}/ws/live/`, "queueviz.live.1"), waiting = [];
            const hear = (it) => (socket.readyState ? socket.send(it) : waiting.push(it));
            open.set(n, { hear, close: () => socket.close() });
            socket.onopen = () => waiting.forEach((it) => socket.send(it));
            socket.onmessage = ({ data }) => worker.postMessage({ k: "say", n, text: data });
            socket.onclose = ({ code }) => worker.postMessage({ k: "closed", n, code });
        } else open.get(n)?.[k](text);
    };
}
"""
SHOWN = ".litetabs iframe:not(.next)"
Lite = Callable[..., FrameLocator]


@pytest.fixture
def built(home: Path, base_url: str) -> Iterator[None]:
    manifest = home / "static" / "lite" / "manifest.json"
    manifest.parent.mkdir(exist_ok=True)
    before = manifest.read_text() if manifest.exists() else None
    manifest.write_text(json.dumps(MANIFEST))
    yield
    manifest.unlink() if before is None else manifest.write_text(before)


@pytest.fixture
def lite(site: Site, built: None) -> Lite:
    """Opens the page with this query and fragment; its worker shows the sandbox of `site`."""

    site.page.add_init_script(SOCKETS)

    def opened(rest: str = "", fails: str = "", at: str = "orders/") -> FrameLocator:
        text = WORKER.read_text("utf-8").replace("{slug}", site.slug).replace("{fails}", fails)
        site.page.unroute_all(behavior="ignoreErrors")
        site.page.route("**/js/lite/worker*.js", lambda it: it.fulfill(body=text, content_type="text/javascript"))
        site.page.goto(f"{site.base_url}/lite/{at}{rest}")
        return site.page.frame_locator(SHOWN)

    return opened


def _connected(tab: FrameLocator) -> None:
    tab.locator(".app[data-conn=connected]").wait_for(timeout=PATIENCE_MS)


def _current(tab: FrameLocator, path: str) -> None:
    expect(tab.locator(".tabs [aria-current=page]")).to_have_attribute("href", f"/lite/orders/{path}")


def _inside(page: Page, expression: str) -> object:
    frame = page.frames[-1]
    return frame.evaluate(expression)


def test_the_first_tab_is_the_board_and_moves_with_the_frames_of_the_worker(site: Site, lite: Lite) -> None:
    site.visit("orders")
    tab = lite()
    _connected(tab)
    _current(tab, "")
    assert str(_inside(site.page, "queueviz.live.url")).endswith("/lite/orders/live/")
    before = _inside(site.page, "queueviz.live.seq")
    site.page.frames[-1].wait_for_function("(seq) => BigInt(queueviz.live.seq) > BigInt(seq)", arg=before)


def test_progress_is_in_words_until_the_tab_is_there(site: Site, lite: Lite) -> None:
    site.visit("orders")
    lite(fails="never")
    expect(site.page.locator("#lite-state")).to_have_text("Loading: 3.1 of 5.6 MB")
    expect(site.page.locator("#lite-loading")).to_be_visible()
    lite()
    expect(site.page.locator("#lite-loading")).to_be_hidden()


def test_links_change_the_tab_and_back_and_forward_work(site: Site, lite: Lite) -> None:
    page = site.visit("orders")
    tab = lite()
    _connected(tab)
    tab.locator(".tabs a", has_text="Journal").click()
    _current(tab, "journal/")
    assert page.url.endswith("/lite/orders/#journal/")
    _connected(tab)
    tab.locator(".tabs a", has_text="Topology").click()
    _current(tab, "topology/")
    page.go_back()
    _current(tab, "journal/")
    page.go_back()
    _current(tab, "")
    page.go_forward()
    _current(tab, "journal/")
    assert page.url.endswith("/lite/orders/#journal/")
    expect(page.locator(SHOWN)).to_have_count(1)
    assert page.title() == page.locator(SHOWN).get_attribute("title")


def test_the_address_names_the_tab_and_its_query(site: Site, lite: Lite) -> None:
    page = site.visit("orders")
    tab = lite("?steps=1#journal/")
    _connected(tab)
    _current(tab, "journal/")
    assert _inside(page, "location.pathname + location.search") == "/lite/orders/journal/?steps=1"
    tab.locator("#j-search").fill("rebalance")
    expect(page).to_have_url(f"{site.base_url}/lite/orders/?steps=1&search=rebalance#journal/")
    page.reload()
    _connected(tab)
    expect(tab.locator("#j-search")).to_have_value("rebalance")


def test_an_action_goes_to_the_worker_and_its_event_is_heard(site: Site, lite: Lite) -> None:
    page = site.visit("orders")
    tab = lite()
    _connected(tab)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    acted = """() => new Promise((done) => {
        document.body.addEventListener("queueviz:acted", ({ detail }) => done(detail.seq));
        htmx.ajax("POST", JSON.parse(document.getElementById("live").textContent).root + "actions/",
            { source: document.querySelector("#main"), values: { action: "SetRate", rate: "1" }, swap: "none" });
    })"""
    assert int(str(_inside(page, acted))) > 0
    assert not [url for url in asked if "/lite/orders/actions" in url]


def test_dialogs_and_their_refusals_come_from_the_worker(site: Site, lite: Lite) -> None:
    page = site.visit("orders")
    tab = lite()
    _connected(tab)
    page.keyboard.press("?")
    expect(tab.locator("dialog#ask[open]")).to_be_visible()


def test_the_keyboard_is_in_the_tab_after_each_change(site: Site, lite: Lite) -> None:
    page = site.visit("orders")
    tab = lite()
    _connected(tab)
    for name in ("Journal", "Locks"):
        tab.locator(".tabs a", has_text=name).press("Enter")
        expect(tab.locator(".tabs [aria-current=page]")).to_have_text(name)
        page.wait_for_function("document.activeElement?.matches('iframe:not(.next)')")


def test_a_link_within_the_page_adds_no_step_to_the_history(site: Site, lite: Lite) -> None:
    page = site.visit("orders")
    tab = lite()
    _connected(tab)
    steps = page.evaluate("history.length")
    tab.locator(".skiplink").press("Enter")
    assert _inside(page, "location.hash") == "#main"
    assert page.evaluate("history.length") == steps


def test_other_links_leave_the_page(site: Site, lite: Lite) -> None:
    page = site.visit("orders")
    tab = lite()
    _connected(tab)
    tab.locator(".top .brand").click()
    page.wait_for_url(f"{site.base_url}/")
    page.go_back()
    _connected(tab)
    _current(tab, "")


def test_a_page_without_an_answer_leaves_the_tab_as_it_is(site: Site, lite: Lite) -> None:
    page = site.visit("orders")
    tab = lite()
    _connected(tab)
    page.evaluate("queuevizLite.go('/lite/orders/broken/')")
    expect(page.locator(".toast")).to_have_text("This page cannot be shown in the browser.")
    assert page.url.endswith("/lite/orders/")
    _connected(tab)


def test_the_theme_is_one(site: Site, lite: Lite) -> None:
    page = site.visit("orders")
    tab = lite()
    _connected(tab)
    tab.locator("#theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_the_language_is_one_and_the_sandbox_runs_on(site: Site, lite: Lite) -> None:
    page = site.visit("orders")
    tab = lite()
    _connected(tab)
    tab.locator(".top form:has([lang=zh-hans])").evaluate("(form) => form.action = '/lite/orders/language/'")
    tab.locator("summary:has(+ form [lang=zh-hans])").click()
    tab.locator("button[lang=zh-hans]").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    expect(page.locator(".litebar h1")).to_have_text("在你的浏览器中运行")
    _connected(tab)
    assert page.url.endswith("/lite/orders/")
    cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    assert cookies["django_language"] == "zh-hans"


def test_a_file_is_saved(site: Site, lite: Lite) -> None:
    page = site.visit("orders")
    tab = lite("#journal/")
    _connected(tab)
    with page.expect_download() as saved:
        tab.locator("a[download]").click()
    assert saved.value.suggested_filename == "journal.ndjson"
    assert b'"seq"' in Path(saved.value.path()).read_bytes()
    _current(tab, "journal/")


def test_a_tab_that_is_left_closes_its_socket(site: Site, lite: Lite) -> None:
    page = site.visit("orders")
    page.add_init_script("""
        const post = Worker.prototype.postMessage;
        window.said = [];
        Worker.prototype.postMessage = function (message) {
            window.said.push(message);
            return post.call(this, message);
        };
    """)
    tab = lite()
    _connected(tab)
    tab.locator(".tabs a", has_text="Journal").click()
    _current(tab, "journal/")
    _connected(tab)
    site.until(
        "said.filter(({ k }) => k === 'open').length === 2 && said.filter(({ k }) => k === 'close').length === 1"
    )


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        ("network", "The files could not be loaded."),
        ("memory", "This browser does not have enough free memory for the sandbox."),
        ("engine", "The sandbox stopped in this browser because of an error."),
        ("Traceback (most recent call last)", "The sandbox stopped in this browser because of an error."),
    ],
)
def test_a_failure_is_a_sentence_with_two_ways_on(site: Site, lite: Lite, fails: str, said: str) -> None:
    page = site.visit("orders")
    lite(fails=fails)
    trouble = page.locator("#lite-trouble")
    expect(trouble.locator("#lite-why")).to_have_text(said)
    expect(trouble.locator("form[action='/new/'] button[value=orders]")).to_be_visible()
    expect(trouble).to_be_focused()


@pytest.mark.parametrize(("status", "helps"), [(422, False), (503, True)])
def test_a_refusal_is_the_engine_s_sentence_with_the_ways_on_that_help(
    site: Site, lite: Lite, status: int, helps: bool
) -> None:
    page = site.visit("orders")
    lite(fails=str(status))
    expect(page.locator("#lite-trouble p")).to_have_text(["It cannot begin.", "Wait."])
    assert page.locator("#lite-again").is_visible() is helps
    assert page.locator("#lite-trouble [data-lite=server]").is_visible() is helps


def test_the_share_of_a_run_that_is_executed_is_shown(site: Site, lite: Lite) -> None:
    page = site.visit("orders")
    lite(fails="executing")
    expect(page.locator("#lite-state")).to_have_text("Executing the run: 25 %")
    expect(page.locator("#lite-meter")).to_have_js_property("position", 0.256)


def test_a_fragment_keeps_the_text_of_a_reproducible_link_before_the_tab(site: Site, lite: Lite) -> None:
    page = site.visit("orders")
    tab = lite("#abc", at="recipe/")
    _connected(tab)
    expect(page.locator(".litebar a[data-lite=server]")).to_have_js_property("hash", "#abc")
    tab.locator(".tabs a", has_text="Journal").click()
    expect(page).to_have_url(f"{site.base_url}/lite/recipe/#abc:journal/")
    page.reload()
    expect(tab.locator(".tabs [aria-current=page]")).to_have_text("Journal")
    _connected(tab)
    tab.locator(".tabs a", has_text="Board").click()
    expect(page).to_have_url(f"{site.base_url}/lite/recipe/#abc")
    lite(at="recipe/")
    expect(page.locator("#lite-why")).to_have_text("This is not a reproducible link.")


def test_the_bar_copies_a_link_to_the_run_or_says_why_there_is_none(site: Site, lite: Lite) -> None:
    page = site.visit("orders")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    _connected(lite())
    expect(page.locator(".litebar [data-lite=server]")).to_be_hidden()
    page.locator("[data-lite=link]").click()
    expect(page.locator(".toast")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == f"{site.base_url}/lite/recipe/#abc"
    _connected(lite(fails="long"))
    page.locator("[data-lite=copy]").click()
    expect(page.locator(".toast")).to_have_text("Too long. Shorten it.")
    assert len(page.context.pages) == 1


def test_try_again_starts_another_worker(site: Site, lite: Lite) -> None:
    page = site.visit("orders")
    lite(fails="memory")
    page.locator("#lite-again").wait_for()
    text = WORKER.read_text("utf-8").replace("{slug}", site.slug).replace("{fails}", "")
    page.unroute_all(behavior="ignoreErrors")
    page.route("**/js/lite/worker*.js", lambda it: it.fulfill(body=text, content_type="text/javascript"))
    page.locator("#lite-again").click()
    _connected(page.frame_locator(SHOWN))


def test_a_browser_without_webassembly_is_offered_the_server(site: Site, lite: Lite) -> None:
    page = site.visit("orders")
    page.add_init_script("delete window.WebAssembly")
    lite()
    expect(page.locator("#lite-why")).to_contain_text("WebAssembly")
    expect(page.locator("#lite-again")).to_be_hidden()
    expect(page.locator("#lite-trouble form button")).to_be_visible()


def test_axe_finds_nothing_around_the_tab(site: Site, lite: Lite) -> None:
    page = site.visit("orders")
    lite(fails="never")
    assert faults_at_both_widths(page) == []
    lite(fails="memory")
    page.locator("#lite-again").wait_for()
    assert faults_at_both_widths(page) == []
    page.set_viewport_size(PHONE)
    _connected(lite())
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert _inside(page, "document.documentElement.scrollWidth <= innerWidth")
