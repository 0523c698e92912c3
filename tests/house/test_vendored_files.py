"""Vendored files equal those of the lock file; no Node.js is needed."""

import base64
import hashlib
import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
VENDOR = ROOT / "static" / "vendor"
LISTING = json.loads((VENDOR / "VENDOR.json").read_text("utf-8"))


def test_every_file_has_the_hash_it_was_taken_with() -> None:
    for entry in LISTING:
        digest = base64.b64encode(hashlib.sha384((VENDOR / entry["file"]).read_bytes()).digest()).decode()
        assert entry["integrity"] == f"sha384-{digest}", entry["file"]


def test_nothing_lies_beside_the_listing() -> None:
    files = {str(path.relative_to(VENDOR)) for path in VENDOR.rglob("*") if path.is_file()}
    assert files - {"VENDOR.json"} == {entry["file"] for entry in LISTING}


def test_versions_are_those_of_the_lock_file() -> None:
    locked = json.loads((ROOT / "package-lock.json").read_text("utf-8"))["packages"]
    for entry in LISTING:
        assert locked[f"node_modules/{entry['package']}"]["version"] == entry["version"]


def test_every_package_brings_its_licence() -> None:
    for package in {entry["package"] for entry in LISTING}:
        assert any(entry["package"] == package and entry["file"].endswith("LICENSE") for entry in LISTING), package


def test_no_page_asks_a_third_party() -> None:
    for top in ("templates", "static/queueviz"):
        for path in (ROOT / top).rglob("*"):
            if path.suffix in (".html", ".js", ".css"):
                text = path.read_text("utf-8").replace("http://www.w3.org/", "")
                assert "http://" not in text, path
                assert "https://" not in text, path
