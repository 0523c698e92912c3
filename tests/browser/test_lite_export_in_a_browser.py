"""The export of Lite on a host that only sends files, below a path of its own and under a strict policy."""

import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Page, Route, expect

from queueviz.operations.lite_export import export
from queueviz.pages.lite import TEXTS
from tests.browser.built_lite import built_lite
from tests.browser.conftest import ROOT

PATH = "articles/2026/broker"
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'"
)
START_MS = 60_000  # Python and the engine on a machine that others use
ARTICLE = """<!doctype html><html lang="en"><title>Article</title>
<script src="{host}static/queueviz/js/lite/embed.js" async></script>
<qv-board template="orders" height="640"><a href="{host}lite/orders/">A broker with eight queues</a></qv-board>"""


class Host(SimpleHTTPRequestHandler):
    """A host of files.  It sends what is below `PATH` with the policy, and compresses nothing."""

    def end_headers(self) -> None:
        if self.path.startswith(f"/{PATH}/"):
            self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the export."""
    folder, built = tmp_path_factory.mktemp("host"), built_lite()
    texts = {name: str(text) for name, text in TEXTS.items()}
    export(ROOT, built.folder, folder / PATH, {"en": texts, "zh-hans": texts})
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Host, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/{PATH}/"
        (folder / "article.html").write_text(ARTICLE.format(host=address.replace("127.0.0.1", "localhost")))
        yield address
        server.shutdown()


@pytest.fixture
def quiet(page: Page, host: str) -> Iterator[Page]:
    """A page whose console stays empty, and which asks no other host."""
    complaints: list[str] = []
    page.on("console", lambda entry: complaints.append(f"{entry.type}: {entry.text}"))
    page.on("response", lambda answer: complaints.append(answer.url) if answer.status >= 400 else None)
    port = host.split(":")[2].split("/")[0]

    def only_host(route: Route) -> None:
        if f":{port}/" in route.request.url:
            route.continue_()
        else:
            complaints.append(f"asked {route.request.url}")
            route.abort()

    page.context.route("http*://**/*", only_host)
    yield page
    assert complaints == []
    assert page.context.cookies() == []


def test_an_article_of_another_host_holds_a_sandbox(quiet: Page, host: str) -> None:
    quiet.goto(host.replace(f"{PATH}/", "article.html"))
    board = quiet.locator("qv-board iframe")
    expect(board).to_have_attribute("title", "A broker with eight queues")
    assert board.evaluate("(frame) => frame.offsetHeight") == 640
    tab = quiet.frame_locator("qv-board iframe").frame_locator(".litetabs iframe:not(.next)")
    tab.locator(".app[data-conn=connected]").wait_for(timeout=START_MS)
    inside = quiet.frames[-1]
    seq = inside.evaluate("queueviz.live.seq")
    inside.wait_for_function("(seq) => BigInt(queueviz.live.seq) > BigInt(seq)", arg=seq)
    assert tab.locator("#rows").evaluate("(rows) => getComputedStyle(rows).display") == "contents", "a style attribute"
    tab.locator("footer.time [data-rate='4']").click()
    expect(tab.locator("footer.time [data-rate='4']")).to_have_attribute("aria-pressed", "true")
    tab.locator("#details").click()
    tab.locator(".tabs a", has_text="Journal").click()
    expect(tab.locator(".tabs [aria-current=page]")).to_have_text("Journal")
    expect(tab.locator("main")).to_contain_text("4×")
    assert quiet.frames[1].url.endswith(f"{PATH}/lite/orders/#journal/")
