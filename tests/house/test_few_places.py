"""One more action, event, page, question and pipeline job: the recipes of two pages of docs, in a copy."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"^```(python|po|html|js|diff)\n(?:# |\{# |// |--- )(\S+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
NEEDED = (
    "queueviz",
    "sandbox",
    "static",
    "templates",
    "docs/spec",
    "tests/web",
    "tests/house",
    "pyproject.toml",
    ":(glob)tests/*.py",
)
RECIPES = ("adding-actions.md", "adding-pages.md")
TRIAL = Path(__file__).with_name("recipes_trial.py")


def carry_out(page: str, tree: Path) -> None:
    for language, name, text in BLOCK.findall(page):
        path = tree / name
        before = path.read_text("utf-8") if path.exists() else ""
        if language != "diff":
            path.write_text(before + text, "utf-8")
            continue
        lines = text.splitlines()
        old, new = ("\n".join(line[1:] for line in lines if line[0] == sign) for sign in "-+")
        assert before.count(old) == 1, f"{name} has no one place that says {old!r}"
        path.write_text(before.replace(old, new), "utf-8")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    listed = subprocess.run(["git", "ls-files", *NEEDED], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    shutil.copyfile(TRIAL, tmp_path / "tests" / "web" / "test_recipes.py")
    return tmp_path


def test_what_the_recipes_add_works_and_keeps_the_rules_of_the_house(copy: Path) -> None:
    for name in RECIPES:
        carry_out((ROOT / "docs" / name).read_text("utf-8"), copy)
    tests = [
        "tests/web/test_recipes.py",
        "tests/house/test_words.py",
        "tests/house/test_events_are_written.py",
        "tests/house/test_spec_lists.py",
        "tests/web/test_page_scripts.py",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=copy,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
