"""The worker of Lite with its own script, over a stand-in for Pyodide."""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

PYTHON = Path(__file__).with_name("lite_python.mjs")
DIGEST = "fedcba9876543210"
FOLDER = f"/static/lite/{DIGEST}/"
FILES = {"stdlib.zip": b"library", "engine.zip": b"engine", "pages.zip": b"pages!!", "json.whl": b"wheel"}
USES = {"stdlib.zip": "stdlib", "engine.zip": "path", "json.whl": "wheel"}
SHOWN = ".litetabs iframe:not(.next)"


@pytest.fixture
def built(home: Path, base_url: str) -> Iterator[None]:
    manifest = home / "static" / "lite" / "manifest.json"
    manifest.parent.mkdir(exist_ok=True)
    before = manifest.read_text() if manifest.exists() else None
    packs = [
        {
            "name": name,
            "use": USES.get(name, "files"),
            "size_bytes": len(body),
            "raw_bytes": len(body),
            "sha256": sha256(body).hexdigest(),
        }
        for name, body in FILES.items()
    ]
    made = {
        "engine": DIGEST,
        "folder": f"lite/{DIGEST}/",
        "files": {"pyodide": "pyodide.mjs", "packs": packs, "feed": "flights.csv", "offline": {}},
        "total_bytes": 9_000_000,
    }
    manifest.write_text(json.dumps(made))
    yield
    manifest.unlink() if before is None else manifest.write_text(before)


def _serve(route: Route, missing: str = "") -> None:
    name = route.request.url.rsplit("/", 1)[1]
    if name == missing or name not in (*FILES, "pyodide.mjs"):
        route.fulfill(status=404)
    elif name == "pyodide.mjs":
        route.fulfill(body=PYTHON.read_text("utf-8"), content_type="text/javascript")
    else:
        route.fulfill(body=FILES[name], content_type="application/octet-stream")


def test_the_worker_unpacks_its_files_and_answers(page: Page, base_url: str, built: None) -> None:
    page.route(f"**{FOLDER}*", _serve)
    page.goto(f"{base_url}/lite/orders/?a=1#locks/")
    tab = page.frame_locator(SHOWN)
    expect(tab.locator("li")).to_have_text(
        [
            f"index {FOLDER}",
            f"library {FOLDER}stdlib.zip",
            "folder /app",
            "folder /home/queueviz",
            "file /app/engine.zip engine",
            "zip 7 /",
            "wheel 5",
            "begun template orders",
        ]
    )
    expect(page).to_have_title("GET locks/?a=1")


@pytest.mark.parametrize("missing", ["pyodide.mjs", "engine.zip"])
def test_a_file_that_does_not_come_is_said(page: Page, base_url: str, built: None, missing: str) -> None:
    page.route(f"**{FOLDER}*", lambda route: _serve(route, missing))
    page.goto(f"{base_url}/lite/orders/")
    expect(page.locator("#lite-why")).to_have_text("The files could not be loaded.")


@pytest.mark.parametrize("old", [1, 2])
def test_an_old_engine_of_a_cache_is_fetched_again_and_then_refused(
    page: Page, base_url: str, built: None, old: int
) -> None:
    asked: list[str] = []

    def serve(route: Route) -> None:
        if route.request.url.endswith("engine.zip"):
            asked.append(route.request.url)
            if len(asked) <= old:
                return route.fulfill(body=b"of an earlier build", content_type="application/octet-stream")
        return _serve(route)

    page.route(f"**{FOLDER}*", serve)
    page.goto(f"{base_url}/lite/orders/")
    if old == 1:
        expect(page.frame_locator(SHOWN).locator("li", has_text="file /app/engine.zip engine")).to_be_visible()
    else:
        expect(page.locator("#lite-why")).to_have_text(
            "The files on this server are not those of this page. Reload the page."
        )
    assert len(asked) == 2


def test_what_cannot_begin_is_said_in_the_reader_s_language(page: Page, base_url: str, built: None) -> None:
    page.route(f"**{FOLDER}*", _serve)
    page.goto(f"{base_url}/lite/recipe/#abc")
    expect(page.locator("#lite-why")).to_have_text("abc in en")
    expect(page.locator("#lite-hint")).to_have_text("/static/")
