"""Files that a browser loads to run a sandbox itself: written by `manage.py build_lite`, listed in its manifest."""

import json
from pathlib import Path
from typing import TypedDict

from django.conf import settings
from django.contrib.staticfiles import finders

MANIFEST = "lite/manifest.json"


class ListedPack(TypedDict):
    """One archive in the manifest: its size as it is transferred and as it is then.

    `use`: stdlib, path, files or wheel.  `sha256`: of its bytes, in hexadecimal.
    """

    name: str
    use: str
    size_bytes: int
    raw_bytes: int
    sha256: str


class Pack(ListedPack):
    """One archive with its address."""

    url: str


class LiteFiles(TypedDict):
    """Addresses of the files, in the order of the manifest."""

    digest: str  # of all files: it names the engine
    pyodide: str
    packs: list[Pack]
    feed: str  # the rest of the feed
    offline: dict[str, str]  # pages for a recording, by language
    total_bytes: int


def lite_files() -> LiteFiles | None:
    """Return the files that this server serves, or None if they were not built."""
    path = _manifest_path()
    if path is None or not path.exists():
        return None
    manifest = json.loads(path.read_text("utf-8"))
    folder = settings.STATIC_URL + manifest["folder"]  # its name has the digest: no hashed names
    files = manifest["files"]
    packs: list[ListedPack] = files["packs"]
    return {
        "digest": manifest["folder"].strip("/").rpartition("/")[2],
        "pyodide": folder + files["pyodide"],
        "feed": folder + files["feed"],
        "packs": [{**pack, "url": folder + pack["name"]} for pack in packs],
        "offline": {language: folder + name for language, name in files["offline"].items()},
        "total_bytes": manifest["total_bytes"],
    }


def known_engines() -> frozenset[str]:
    """Return the digests of the engines that this server gives to browsers."""
    files = lite_files()
    return frozenset() if files is None else frozenset({files["digest"]})


def _manifest_path() -> Path | None:
    if not settings.WHITENOISE_USE_FINDERS:
        return Path(settings.STATIC_ROOT) / MANIFEST
    path = finders.find(MANIFEST)
    return Path(str(path)) if path else None
