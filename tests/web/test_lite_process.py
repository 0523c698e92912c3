"""The pages of Lite, rendered in a process that has no settings module, no models and no sockets of the web."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import ports
from tests.web.lite_child import LANGUAGES, TEMPLATES

ROOT = Path(__file__).parents[2]
ABSENT = (
    "channels",
    "daphne",
    "django.contrib",
    "django.db.backends",
    "django.db.models",
    "django.http",
    "django.urls",
    "ninja",
    "queueviz.access.policy",
    "queueviz.api",
    "queueviz.engine",
    "queueviz.models",
    "queueviz.pages",
    "socketserver",
)


def run(*arguments: object, folder: Path) -> str:
    """Return what a Python process without a settings module prints: `django` and `queueviz` are those of `folder`."""
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    result = subprocess.run(
        [sys.executable, "-m", *map(str, arguments)],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the listed contents and nothing else of Django and of the site."""
    folder = tmp_path_factory.mktemp("archive")
    contents = json.loads(run("queueviz.lite.contents", folder=ROOT))
    for name, source in contents["files"].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / name)
    for name, text in contents["written"].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for engine in ("sandbox", "tests"):
        (folder / engine).symlink_to(ROOT / engine)
    return folder


@pytest.fixture(scope="module")
def child(tmp_path_factory: pytest.TempPathFactory, flights_table: Path, archive: Path) -> Any:
    home = tmp_path_factory.mktemp("lite")
    (home / flights_table.name).symlink_to(flights_table)
    return json.loads(run("tests.web.lite_child", home, ports.OF_ENGINES, folder=archive))


@pytest.mark.parametrize("template", TEMPLATES)
def test_every_page_of_every_template_is_rendered_in_both_languages(child: Any, template: str) -> None:
    answers = child["pages"][template]
    assert {language for _, language, *_ in answers} == set(LANGUAGES)
    assert [(path, language) for path, language, status, *_ in answers if status != 200] == []
    assert [path for path, _, _, length, _ in answers if not length] == []


def test_chinese_pages_are_in_chinese(child: Any) -> None:
    characters = {(path, language): chinese for path, language, _, _, chinese in child["pages"]["orders"]}
    menu = len("简体中文")
    for path in ("", "rebalance/", "settings/", "part/ask/?form=burst"):
        assert characters[path, "en"] in (0, menu)
        assert characters[path, "zh-hans"] > 10 * menu


def test_no_module_of_the_database_or_of_the_server_is_loaded(child: Any) -> None:
    modules = child["modules"]
    assert [name for name in modules if any(f"{name}.".startswith(f"{absent}.") for absent in ABSENT)] == []
    assert [name for name in modules if f"{name}.".startswith("django.db.")] == ["django.db", "django.db.utils"]


def test_an_action_changes_the_state_and_says_which_event_it_is(child: Any) -> None:
    before, (status, headers, body), states, *_ = child["acted"]
    acted = json.loads(headers["HX-Trigger"])["queueviz:acted"]
    assert (status, body, acted["follow"]) == (204, "", True)
    assert int(acted["seq"]) > int(before)
    assert states["A"] == "crashed"


def test_a_refused_action_is_a_sentence_beside_its_form(child: Any) -> None:
    status, _, body = child["acted"][3]
    assert status == 422
    assert 'class="refusal"' in body
    assert 'data-field="actor"' in body
    assert "missing" in body
    assert "does not exist" not in body, "it is in Chinese"


def test_an_unknown_page_and_one_that_needs_a_server_say_so_in_the_frame_of_the_site(child: Any) -> None:
    *_, unknown, server, question = child["acted"]
    assert (unknown[0], server[0], question[0]) == (404, 422, 404)
    assert "No page has this address." in unknown[2]
    assert "A sandbox in the browser has no ports for real clients." in server[2]
    assert 'href="/lite/orders/"' in server[2]
    assert set(json.loads(question[2])) >= {"error", "hint"}


def test_questions_messages_and_the_past_are_answered(child: Any) -> None:
    assert [(path, status, body) for path, status, body in child["asked"] if status != 200] == []


def test_a_lab_is_done_beside_the_board(child: Any) -> None:
    begun, page, panel, progress, hint, other, board, unknown = child["learned"]
    assert begun[0] == 204
    assert [page[0], panel[0], progress[0], hint[0]] == [200] * 4
    assert 'hx-post="/lite/lab/labs/pinned-offset/progress/"' in page[1]
    assert "<html" not in panel[1]
    assert 'id="lab-title"' in panel[1]
    assert 'class="hints"' in hint[1]
    assert other[0] == 422
    assert "Labs do not accept this action." in other[1]
    assert 'href="/lite/lab/labs/pinned-offset/"' in board[1], "the way back"
    assert unknown[0] == 404
