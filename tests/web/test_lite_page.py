"""The page of Lite: what it gives its module, which policy it has, and what it says where nothing was built."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles.storage import staticfiles_storage
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils.html import escape

from queueviz.operations.static_files import WORKER_POLICY, HashedFiles, StaticFiles
from sandbox.labs.catalogue import LABS
from sandbox.labs.incidents import INCIDENTS

LAB, INCIDENT = "pinned-offset", "lag-after-a-deploy"

MANIFEST: dict[str, Any] = {
    "engine": "0123456789abcdef",
    "folder": "lite/0123456789abcdef/",
    "files": {
        "pyodide": "pyodide.mjs",
        "packs": [{"name": "engine.zip", "use": "path", "size_bytes": 7, "raw_bytes": 9, "sha256": "12"}],
        "feed": "flights.csv",
        "offline": {"en": "offline.en.html"},
    },
    "total_bytes": 9,
}


@pytest.fixture
def built(settings: Any, tmp_path: Path) -> Path:
    """A folder of static files with what `build_lite` writes, beside the site's own."""
    folder = tmp_path / "static" / "lite" / "0123456789abcdef"
    folder.mkdir(parents=True)
    (folder / "pyodide.mjs").write_text("export const loadPyodide = 1;\n" * 100)
    (folder / "engine.zip").write_bytes(b"archive")
    (folder.parent / "manifest.json").write_text(json.dumps(MANIFEST))
    settings.STATICFILES_DIRS = [tmp_path / "static", *settings.STATICFILES_DIRS]  # before what is built in this tree
    settings.WHITENOISE_USE_FINDERS = True
    return tmp_path


@pytest.fixture
def visitor(db: None) -> Client:
    return Client()


def _config(page: HttpResponse) -> dict[str, Any]:
    match = re.search(r'<script id="lite" type="application/json">(.*?)</script>', page.content.decode(), re.DOTALL)
    assert match is not None
    return dict(json.loads(match[1]))


def test_the_page_has_the_addresses_of_its_files(visitor: Client, built: Path) -> None:
    config = _config(visitor.get("/lite/flights/"))
    folder = "/static/lite/0123456789abcdef/"
    assert config["files"] == {
        "digest": "0123456789abcdef",
        "pyodide": f"{folder}pyodide.mjs",
        "packs": [MANIFEST["files"]["packs"][0] | {"url": f"{folder}engine.zip"}],
        "feed": f"{folder}flights.csv",
        "offline": {"en": f"{folder}offline.en.html"},
        "total_bytes": 9,
    }
    assert config["worker"].startswith("/static/queueviz/js/lite/worker.")
    assert (config["kind"], config["name"]) == ("template", "flights")
    assert (config["root"], config["static"]) == ("/lite/flights/", "/static/")
    assert config["recipes"] == {"server": "/recipe/", "lite": "/lite/recipe/"}


@pytest.mark.parametrize(
    ("path", "kind", "name", "first", "title", "server"),
    [
        ("flights/", "template", "flights", "", "flights", 'action="/new/"'),
        (f"lab/{LAB}/", "lab", LAB, f"labs/{LAB}/", LABS[LAB].title, f'action="/labs/{LAB}/"'),
        (
            f"incident/{INCIDENT}/",
            "incident",
            INCIDENT,
            "incident/",
            INCIDENTS[INCIDENT].title,
            f'action="/incidents/{INCIDENT}/"',
        ),
        ("recipe/", "recipe", "", "", "Reproducible run", 'href="/recipe/"'),
    ],
)
def test_each_kind_has_its_first_page_its_title_and_its_way_to_the_server(
    visitor: Client, built: Path, path: str, kind: str, name: str, first: str, title: str, server: str
) -> None:
    page = visitor.get(f"/lite/{path}")
    config = _config(page)
    assert (config["kind"], config["name"], config["first"]) == (kind, name, first)
    assert config["root"] == f"/lite/{path}"
    assert f"<title>{escape(title)} · Runs in your browser · QueueViz</title>" in page.content.decode()
    assert server in page.content.decode()
    assert "worker-src 'self'" in page["Content-Security-Policy"]


def test_only_this_page_may_start_a_worker_and_none_may_compile(visitor: Client, built: Path) -> None:
    policy = visitor.get("/lite/flights/")["Content-Security-Policy"]
    assert "worker-src 'self'" in policy
    assert "frame-src 'self'" in policy
    assert "wasm-unsafe-eval" not in policy
    assert "worker-src" not in visitor.get("/fidelity/")["Content-Security-Policy"]


def test_a_server_without_the_files_says_so_and_offers_its_own_sandbox(visitor: Client, settings: Any) -> None:
    settings.STATICFILES_DIRS = []
    page = visitor.get("/lite/flights/").content.decode()
    assert "manage.py build_lite" in page
    assert 'action="/new/"' in page
    assert 'value="flights"' in page
    assert 'id="lite"' not in page


@pytest.mark.parametrize(
    ("path", "known"),
    [("", "flights/"), ("lab/", f"lab/{LAB}/"), ("incident/", f"incident/{INCIDENT}/")],
)
def test_an_unknown_name_is_a_page_with_those_there_are(visitor: Client, path: str, known: str) -> None:
    page = visitor.get(f"/lite/{path}nothing-of-this-name/")
    assert page.status_code == 404
    assert "nothing-of-this-name" in page.content.decode()
    assert f'href="/lite/{known}"' in page.content.decode()


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_page_speaks_the_reader_s_language(visitor: Client, built: Path, language: str) -> None:
    page = visitor.get("/lite/flights/", headers={"Accept-Language": language}).content.decode()
    assert f'lang="{language}"' in page
    assert ("Runs in your browser" in page) == (language == "en")


def _served(path: str) -> HttpResponse:
    files = StaticFiles(lambda request: HttpResponse(status=404))
    answer = files(RequestFactory().get(path))
    assert isinstance(answer, HttpResponse)
    assert answer.status_code == 200
    return answer


def test_files_of_a_digest_are_kept_for_ever(built: Path) -> None:
    assert "immutable" in _served("/static/lite/0123456789abcdef/pyodide.mjs")["Cache-Control"]
    assert "immutable" in _served("/static/lite/0123456789abcdef/engine.zip")["Cache-Control"]
    assert "immutable" not in _served("/static/lite/manifest.json")["Cache-Control"]


def test_the_worker_alone_may_compile(built: Path) -> None:
    assert _served("/static/queueviz/js/lite/worker.js")["Content-Security-Policy"] == WORKER_POLICY
    assert not _served("/static/queueviz/js/lite/bridge.js").has_header("Content-Security-Policy")
    assert not _served("/static/lite/0123456789abcdef/pyodide.mjs").has_header("Content-Security-Policy")


def test_modules_are_served_as_scripts(built: Path) -> None:
    assert _served("/static/lite/0123456789abcdef/pyodide.mjs")["Content-Type"].startswith("text/javascript")


def test_collected_files_of_a_digest_keep_their_names_and_are_squeezed(built: Path, tmp_path: Path) -> None:
    storage = HashedFiles(location=tmp_path / "collected", base_url="/static/")
    names = ["lite/0123456789abcdef/pyodide.mjs", "lite/0123456789abcdef/engine.zip"]
    for name in names:
        (tmp_path / "collected" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "collected" / name).write_bytes((tmp_path / "static" / name).read_bytes())
    made = list(storage.post_process({name: (staticfiles_storage, name) for name in names}))
    assert [name for name, _, _ in made] == [names[0]]
    left = {path.name for path in (tmp_path / "collected/lite/0123456789abcdef").iterdir()}
    assert left == {"pyodide.mjs", "pyodide.mjs.gz", "engine.zip"}
