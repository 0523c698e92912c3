"""The export of Lite: one folder with pages and static files, for any web server under any path."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from queueviz.operations.lite_files import ListedPack, LiteFiles, Pack
from queueviz.translations import compile_translations

MARK = ".queueviz-lite"  # in the folder: a later export may replace it
OWN = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json")
STATIC = ("queueviz", "vendor")


class NotExported(Exception):
    """Error: the folder cannot be written; the text says why."""


class Exported(NamedTuple):
    """The result of an export.  `raw_bytes`: of a first visit from a host that does not compress."""

    pages: int
    total_bytes: int
    raw_bytes: int


def export(site: Path, built: Path, out: Path, texts: Mapping[str, Mapping[str, str]]) -> Exported:
    """Write the export to the folder `out`, in place of an earlier one.

    `built`: the folder of `build_lite`.  `texts`: of the pages' module, by language.  Raises NotExported if `out` has
    other files.
    """
    if out.exists() and not out.is_dir():
        raise NotExported(f"{out} is not a folder.")
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).exists():
        raise NotExported(f"{out} has other files. Name an empty folder, or an earlier export.")
    files = _files(built)
    compile_translations()
    pages = _pages(site, {"files": files, "texts": texts})
    if out.is_dir():
        for path in out.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    out.mkdir(parents=True, exist_ok=True)
    (out / MARK).write_text(f"{built.name}\n")
    for name, text in pages.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    for name in STATIC:
        shutil.copytree(site / "static" / name, out / "static" / name)
    folder = out / "static" / "lite" / built.name
    folder.mkdir(parents=True)
    urls = [files["feed"], *files["offline"].values(), *(pack["url"] for pack in files["packs"])]
    for name in (*OWN, *(url.rpartition("/")[2] for url in urls)):
        shutil.copyfile(built / name, folder / name)
    total_bytes = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    return Exported(len(pages), total_bytes, files["total_bytes"])


def _files(built: Path) -> LiteFiles:
    """Return the files of a run, below the folder of static files.

    Archives are those that `build_lite` compressed: many hosts send files as they are.
    """
    manifest = json.loads((built / "manifest.json").read_bytes())
    folder, files = manifest["folder"], manifest["files"]
    listed: list[ListedPack] = files["packs"]
    packs: list[Pack] = []
    for pack in listed:
        name = _sent(built, pack["name"])
        size_bytes = (built / name).stat().st_size
        packs.append({**pack, "url": folder + name, "size_bytes": size_bytes, "raw_bytes": size_bytes})
    own = sum((built / name).stat().st_size for name in OWN)
    return {
        "digest": built.name,
        "pyodide": folder + files["pyodide"],
        "feed": folder + _sent(built, files["feed"]),
        "packs": packs,
        "offline": {language: folder + name for language, name in files["offline"].items()},
        "total_bytes": own + sum(pack["size_bytes"] for pack in packs),
    }


def _sent(built: Path, name: str) -> str:
    compressed = f"{name}.gz"
    return compressed if (built / compressed).exists() else name


def _pages(site: Path, order: Mapping[str, object]) -> dict[str, str]:
    command = [sys.executable, "-m", "queueviz.lite.export_pages"]
    done = subprocess.run(command, cwd=site, input=json.dumps(order), capture_output=True, text=True, check=True)
    pages: dict[str, str] = json.loads(done.stdout)
    return pages
