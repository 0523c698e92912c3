"""Files that a browser loads to run a sandbox itself: written by `manage.py build_lite`, listed in its manifest."""

import json
from pathlib import Path
from typing import Any, TypedDict

from django.conf import settings
from django.contrib.staticfiles import finders

MANIFEST = "lite/manifest.json"


class Pack(TypedDict):
    """One archive: its size as it is transferred and as it is then.  `use`: stdlib, path, files or wheel."""

    url: str
    use: str
    size_bytes: int
    raw_bytes: int


class LiteFiles(TypedDict):
    """Addresses of the files, in the order of the manifest."""

    pyodide: str
    packs: list[Pack]
    feed: str  # the rest of the feed
    total_bytes: int


def lite_files() -> LiteFiles | None:
    """Return the files that this server serves, or None if they were not built."""
    path = _manifest_path()
    if path is None or not path.exists():
        return None
    manifest = json.loads(path.read_text("utf-8"))
    folder = settings.STATIC_URL + manifest["folder"]  # its name has the digest: no hashed names
    files = manifest["files"]
    return {
        "pyodide": folder + files["pyodide"],
        "feed": folder + files["feed"],
        "packs": [_pack(folder, pack) for pack in files["packs"]],
        "total_bytes": manifest["total_bytes"],
    }


def _pack(folder: str, pack: dict[str, Any]) -> Pack:
    return {
        "url": folder + pack["name"],
        "use": pack["use"],
        "size_bytes": pack["size_bytes"],
        "raw_bytes": pack["raw_bytes"],
    }


def _manifest_path() -> Path | None:
    if not settings.WHITENOISE_USE_FINDERS:
        return Path(settings.STATIC_ROOT) / MANIFEST
    path = finders.find(MANIFEST)
    return Path(str(path)) if path else None
