"""Linters: CI and commits run the same ones, of pinned versions."""

import json
import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_a_commit_is_checked_by_what_ci_begins_with() -> None:
    default = re.search(r"set -- (.+)$", (ROOT / "script" / "lint").read_text("utf-8"), re.MULTILINE)
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    assert default
    assert [hook["entry"] for repo in config["repos"] for hook in repo["hooks"]] == [
        f"script/lint {tool}" for tool in default[1].split()
    ]


def test_the_packages_of_the_modules_linters_are_pinned_and_name_no_registry() -> None:
    wanted = json.loads((ROOT / "package.json").read_text("utf-8"))
    lock = json.loads((ROOT / "package-lock.json").read_text("utf-8"))
    versions = [*wanted["dependencies"].values(), *wanted["devDependencies"].values()]
    assert all(version[0].isdigit() for version in versions), "no ranges"
    assert lock["packages"][""]["devDependencies"] == wanted["devDependencies"]
    assert [name for name, package in lock["packages"].items() if "resolved" in package] == []
