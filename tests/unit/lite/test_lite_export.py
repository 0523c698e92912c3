"""The export of Lite: every link in it leads to a file in it, and a folder with other files is left alone."""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from queueviz.operations.lite_export import NotExported, export
from sandbox.cluster.templates import TEMPLATES
from sandbox.labs.catalogue import LABS
from sandbox.labs.incidents import INCIDENTS

SITE = Path(__file__).parents[3]
DIGEST = "0123456789abcdef"
TEXTS = {"en": {"lite.starting": "Starting the broker"}, "zh-hans": {"lite.starting": "启动 Broker"}}
PACKS = (("stdlib.zip", "stdlib"), ("engine.zip", "path"), ("json.whl", "wheel"))
ADDRESS = re.compile(r'\b(?:href|src|action)="([^"]*)"')
CONFIG = re.compile(r'<script id="lite" type="application/json">(.*?)</script>', re.DOTALL)
TEXTS_OF = re.compile(r'<script id="texts" type="application/json">(.*?)</script>', re.DOTALL)
LATER = ("flights.csv.gz", "offline.en.html")  # come while the sandbox runs
ANYWHERE = "http://host/articles/2026/broker/"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the files of `build_lite`: archives have a compressed one beside them."""
    folder = tmp_path_factory.mktemp("lite") / DIGEST
    folder.mkdir()
    for name in ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json"):
        (folder / name).write_bytes(b"1" * 100)
    for name, _ in PACKS:
        (folder / name).write_bytes(b"1" * 50)
    (folder / "flights.csv").write_bytes(b"1" * 70)
    for name in ("stdlib.zip.gz", "stdlib.zip.br", "engine.zip.gz", "flights.csv.gz"):
        (folder / name).write_bytes(b"1" * 20)
    (folder / "offline.en.html").write_bytes(b"1" * 30)
    packs = [{"name": name, "use": use, "size_bytes": 1, "raw_bytes": 50, "sha256": "12"} for name, use in PACKS]
    offline = {"en": "offline.en.html"}
    files = {"pyodide": "pyodide.mjs", "packs": packs, "feed": "flights.csv", "offline": offline}
    manifest = {"folder": f"lite/{DIGEST}/", "files": files, "total_bytes": 9}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.fixture(scope="module")
def exported(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("export") / "broker"
    export(SITE, built, out, TEXTS)
    return out


def _pages(folder: Path) -> Iterator[tuple[str, str]]:
    for path in folder.rglob("*.html"):
        yield path.relative_to(folder).as_posix(), path.read_text("utf-8")


def _config(folder: Path, page: str) -> dict[str, Any]:
    config = CONFIG.search((folder / page).read_text("utf-8"))
    assert config is not None
    return dict(json.loads(config[1]))


def _leads_to(folder: Path, page: str, address: str) -> bool:
    """Return whether a relative address is a page or a file of the folder, below any path."""
    url = urljoin(ANYWHERE + page, address)
    if not url.startswith(ANYWHERE):
        return False
    path = folder / unquote(urlsplit(url).path).removeprefix(urlsplit(ANYWHERE).path)
    return (path / "index.html").is_file() if url.split("#")[0].endswith("/") else path.is_file()


def test_every_template_lab_and_incident_has_a_page_in_each_language(exported: Path) -> None:
    runs = [*TEMPLATES, *(f"lab/{lab}" for lab in LABS), *(f"incident/{slug}" for slug in INCIDENTS), "recipe"]
    for folder in ("", "zh-hans/"):
        for path in ("", "labs/", "incidents/", "fidelity/", *(f"lite/{run}/" for run in runs)):
            assert (exported / folder / path / "index.html").is_file(), folder + path
    assert 'lang="zh-hans"' in (exported / "zh-hans" / "index.html").read_text("utf-8")


def test_every_address_is_relative_and_leads_to_a_file_of_the_export(exported: Path) -> None:
    for page, text in _pages(exported):
        for address in set(map(html.unescape, ADDRESS.findall(text))):
            if not address.startswith("#"):
                assert _leads_to(exported, page, address), f"{page}: {address}"


def test_a_page_s_module_gets_relative_addresses_too(exported: Path) -> None:
    for page in ("lite/orders/index.html", "zh-hans/lite/lab/broadcasting/index.html", "lite/recipe/index.html"):
        config = _config(exported, page)
        packs = [pack["url"] for pack in config["files"]["packs"]]
        own = [config["files"]["pyodide"], config["files"]["feed"], *config["files"]["offline"].values()]
        files = [config["worker"], config["recorder"], *own, *packs]
        pages = [config["root"], config["home"], config["recipes"]["lite"], *config["translated"].values()]
        for address in (*files, *pages):
            assert _leads_to(exported, page, address), f"{page}: {address}"
        assert config["cookies"] is None
    assert _config(exported, "lite/lab/broadcasting/index.html")["first"] == "labs/broadcasting/"


def test_pages_to_which_a_sandbox_leads_have_its_places(exported: Path) -> None:
    """Findings link to `labs/#lab-…` and `incidents/#incident-…`, signs of differences to `fidelity/#D6`."""
    for page, mark in (("labs", "lab-broadcasting"), ("incidents", "incident-hot-queue"), ("fidelity", "D6")):
        assert f'id="{mark}"' in (exported / page / "index.html").read_text("utf-8")


def test_nothing_of_it_needs_the_server(exported: Path) -> None:
    for page, text in _pages(exported):
        assert "<form" not in text, page
        assert "csrfmiddlewaretoken" not in text, page


def test_archives_are_those_that_are_compressed_and_their_sizes_are_real(exported: Path) -> None:
    folder = exported / "static" / "lite" / DIGEST
    names = {path.name for path in folder.iterdir()}
    own = {"pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json"}
    assert names == {*own, "stdlib.zip.gz", "engine.zip.gz", "json.whl", "flights.csv.gz", "offline.en.html"}
    files = _config(exported, "lite/orders/index.html")["files"]
    assert [pack["size_bytes"] for pack in files["packs"]] == [20, 20, 50]
    first = [path for path in folder.iterdir() if path.name not in LATER]
    assert files["total_bytes"] == sum(path.stat().st_size for path in first)


def test_texts_of_the_module_are_in_the_language_of_the_page(exported: Path) -> None:
    texts = TEXTS_OF.search((exported / "zh-hans/lite/orders/index.html").read_text("utf-8"))
    assert texts is not None
    assert json.loads(texts[1]) == {"texts": TEXTS["zh-hans"]}


def test_an_earlier_export_is_replaced_and_no_other_folder(built: Path, exported: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("the only copy")
    with pytest.raises(NotExported, match="other files"):
        export(SITE, built, tmp_path, TEXTS)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    (exported / "static" / "old.js").write_text("")
    export(SITE, built, exported, TEXTS)
    assert not (exported / "static" / "old.js").exists()
    with pytest.raises(NotExported, match="not a folder"):
        export(SITE, built, tmp_path / "thesis.txt", TEXTS)
