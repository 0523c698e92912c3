"""The build of Lite: Pyodide, the engine, the pages and their data as archives, in a folder named by their digest.

Needs Node.js with the packages of package.json: the interpreter of the browsers compiles what it will run.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.utils import translation

from queueviz.links.offline_page import offline_page
from queueviz.operations.lite_sources import Source, engine_sources, page_sources, stdlib_sources
from sandbox.cluster.actors.feeds import prepare_flights

PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm")
LOCK = "pyodide-lock.json"
FLIGHTS = 6_000  # of the feed, for the first quarter of an hour: the rest comes while the sandbox runs
FEED = "flights.csv"  # the rest
DIGEST_CHARS = 16
MANIFEST, STAMP = "manifest.json", "stamp"
SOURCES = (
    "sandbox",
    "queueviz",
    "templates",
    "static/queueviz/js",
    "static/queueviz/css",
    "static/vendor/VENDOR.json",
    "script/lite",
    "package-lock.json",
    "requirements.txt",
)
SUFFIXES = (".css", ".py", ".html", ".js", ".mjs", ".json", ".po", ".toml", ".txt")
QUICK, BEST = 4, 11  # qualities of Brotli


class NotBuilt(Exception):
    """Error: something that the build needs is missing; the text says what to do."""


class Built(NamedTuple):
    """The result of a build.  `made`: False if the folder was there already."""

    folder: Path
    total_bytes: int
    made: bool


def build(site: Path, home: Path, *, quick: bool = False, static: Path | None = None) -> Built:
    """Write `lite/<digest>/` and `lite/manifest.json` below `static`, that of `site`; remove earlier folders.

    `home`: the data home, for the feed.  `quick`: compress less, for tests.  Raises NotBuilt.
    """
    pyodide, out = site / "node_modules" / "pyodide", (static or site / "static") / "lite"
    if not pyodide.is_dir():
        raise NotBuilt("Pyodide is not installed. Run script/setup lite, which needs Node.js.")
    stamp = _stamp(site)
    if _is_current(out, stamp, quick=quick):
        return _built(out, made=False)
    with tempfile.TemporaryDirectory() as scratch:
        temporary = Path(scratch)
        packs = _packs(site, home, pyodide, temporary)
        wheel = json_wheel(site, home)
        offline = _offline_pages(temporary)
        others = [*(pyodide / name for name in PYODIDE), wheel, *offline.values(), site / "script/lite/pack.mjs"]
        draft = temporary / _digest(packs, others)
        draft.mkdir()
        for path in (temporary / FEED, *offline.values()):
            shutil.move(path, draft / path.name)
        _write(site, pyodide, wheel, packs, offline, draft, quick=quick)
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        shutil.move(draft, out / draft.name)
        shutil.copyfile(out / draft.name / MANIFEST, out / MANIFEST)
        (out / STAMP).write_text(stamp)
    return _built(out, made=True)


def _built(out: Path, *, made: bool) -> Built:
    manifest = json.loads((out / MANIFEST).read_bytes())
    return Built(out / manifest["engine"], manifest["total_bytes"], made)


def _is_current(out: Path, stamp: str, *, quick: bool) -> bool:
    """Return True if the files were built from the present sources, at least as well compressed."""
    if not (out / STAMP).exists() or (out / STAMP).read_text() != stamp:
        return False
    return quick or json.loads((out / MANIFEST).read_bytes())["quality"] == BEST


def _stamp(site: Path) -> str:
    """Return a digest of names, sizes and times of the sources: reading them all takes seconds."""
    digest = sha256()
    for name in SOURCES:
        for path in sorted((site / name).rglob("*")) or [site / name]:
            if path.is_file() and path.suffix in SUFFIXES:
                status = path.stat()
                digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _packs(site: Path, home: Path, pyodide: Path, temporary: Path) -> dict[str, list[Source]]:
    """Return the contents of each archive, by its name."""
    with zipfile.ZipFile(pyodide / "python_stdlib.zip") as archive:
        archive.extractall(temporary / "stdlib")
    table, feed = prepare_flights(home), temporary / "flights"
    with table.open("rb") as lines:
        feed.write_bytes(b"".join(islice(lines, FLIGHTS)))
        (temporary / FEED).write_bytes(lines.read())
    scratch = temporary / "written"
    scratch.mkdir()
    return {
        "stdlib.zip": stdlib_sources(temporary / "stdlib"),
        "engine.zip": engine_sources(site),
        "pages.zip": [*page_sources(site, scratch), Source(feed, f"home/queueviz/feeds/{table.name}")],
    }


def _offline_pages(folder: Path) -> dict[str, Path]:
    """Write the offline page of each language, in which a browser puts a recording; return the files by language."""
    pages = {code: folder / f"offline.{code}.html" for code, _ in settings.LANGUAGES}
    for code, path in pages.items():
        with translation.override(code):
            path.write_text(offline_page(b"", title="", language=code), "utf-8")
    return pages


def json_wheel(site: Path, home: Path) -> Path:
    """Return the JSON library's wheel for Pyodide, downloaded once and checked against its hash."""
    requirements = site / "script" / "lite" / "requirements.txt"
    folder = home / "lite" / sha256(requirements.read_bytes()).hexdigest()[:DIGEST_CHARS]
    if not (wheels := list(folder.glob("*.whl"))):
        options = ["--require-hashes", "--no-deps", "--only-binary=:all:", "--quiet", "--disable-pip-version-check"]
        options += ["--platform", "pyemscripten_2026_0_wasm32", "--python-version", "3.14", "--implementation", "cp"]
        command = [sys.executable, "-m", "pip", "download", *options, "-r", str(requirements), "-d", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = list(folder.glob("*.whl"))
        if done.returncode or not wheels:
            raise NotBuilt(f"The JSON library of Lite cannot be downloaded. {done.stderr.strip()[-300:]}")
    return wheels[0]


def _write(
    site: Path,
    pyodide: Path,
    wheel: Path,
    packs: dict[str, list[Source]],
    offline: dict[str, Path],
    draft: Path,
    *,
    quick: bool,
) -> None:
    for name in PYODIDE:
        shutil.copyfile(pyodide / name, draft / name)
    lock = json.loads((pyodide / LOCK).read_bytes())
    (draft / LOCK).write_text(json.dumps({"info": lock["info"], "packages": {}}))  # we load no package by name
    shutil.copyfile(wheel, draft / wheel.name)
    order = {
        "out": str(draft),
        "quality": QUICK if quick else BEST,
        "cache": str(wheel.parent),
        "packs": {
            name: {
                "python": [(str(source.path), source.name) for source in sources if source.name.endswith(".py")],
                "data": [(str(source.path), source.name) for source in sources if not source.name.endswith(".py")],
            }
            for name, sources in packs.items()
        },
        "compress": [*packs, *PYODIDE, FEED, *(path.name for path in offline.values())],
    }
    node = subprocess.run(
        ["node", str(site / "script/lite/pack.mjs")],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        check=False,
    )
    if node.returncode:
        raise NotBuilt(f"The archives were not made. {node.stderr.strip()[-600:]}")
    uses = {"stdlib.zip": "stdlib", "engine.zip": "path", wheel.name: "wheel"}
    listed = [
        {
            "name": name,
            "use": uses.get(name, "files"),
            "raw_bytes": (draft / name).stat().st_size,
            "sha256": sha256((draft / name).read_bytes()).hexdigest(),
            "size_bytes": _transferred(draft / name),
        }
        for name in (*packs, wheel.name)
    ]
    own = sum(_transferred(draft / name) for name in (*PYODIDE, LOCK))
    values = {
        "engine": draft.name,
        "quality": order["quality"],
        "folder": f"lite/{draft.name}/",
        "files": {
            "pyodide": PYODIDE[0],
            "packs": listed,
            "feed": FEED,
            "offline": {code: path.name for code, path in offline.items()},
        },
        "total_bytes": own + sum(_transferred(draft / str(pack["name"])) for pack in listed),
    }
    (draft / MANIFEST).write_text(json.dumps(values, indent=1))


def _transferred(path: Path) -> int:
    """Return how many bytes a server sends of a file: of its `.br`, if there is one."""
    compressed = path.with_name(f"{path.name}.br")
    return (compressed if compressed.exists() else path).stat().st_size


def _digest(packs: dict[str, list[Source]], others: Iterable[Path]) -> str:
    digest = sha256()
    for name, sources in packs.items():
        for source in sorted(sources):
            digest.update(f"{name} {source.name}\n".encode() + source.path.read_bytes())
    for path in others:
        digest.update(f"{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:DIGEST_CHARS]
