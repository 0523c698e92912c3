"""The wheel, installed where neither the tree nor other packages can be imported."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.server.installed import installed, run
from tests.server.server import ROOT, Server


@pytest.fixture(scope="module")
def queueviz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed command."""
    return installed(ROOT, tmp_path_factory.mktemp("installed")) / "queueviz"


def numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def test_the_installed_command_has_all_commands_and_the_changelog_s_version(queueviz: Path, tmp_path: Path) -> None:
    version = re.search(r'__version__ = "(.+)"', (ROOT / "queueviz" / "__init__.py").read_text("utf-8"))
    assert version
    assert run(queueviz, "--version", cwd=tmp_path) == f"QueueViz {version[1]}\n"
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    if f"\n## [{version[1]}] - 20" not in changelog:  # its changes are not released yet
        released = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - 20", changelog, re.M)
        assert "\n## [Unreleased]\n" in changelog
        assert max(map(numbers, released)) < numbers(version[1])
    assert "no issues" in run(queueviz, "check", cwd=tmp_path)
    assert run(queueviz, "mqstore", "--help", cwd=tmp_path).startswith("usage: queueviz mqstore")
    assert "--listen" in run(queueviz, "broker", "--help", cwd=tmp_path)


def test_the_installed_command_keeps_its_data_beside_the_person_s_not_the_program_s(
    queueviz: Path, tmp_path: Path
) -> None:
    asked = "import os, queueviz.settings as it; print(it.QUEUEVIZ_HOME, it.__file__)"
    given = {**os.environ, "HOME": str(tmp_path)}
    given.pop("QUEUEVIZ_HOME", None)
    done = subprocess.run(
        [queueviz.with_name("python"), "-c", asked],
        cwd=tmp_path,
        env=given,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    home, module = done.stdout.split()
    assert home == str(tmp_path / ".local" / "share" / "queueviz")
    assert module.startswith(str(queueviz.parents[1])), "nothing of the tree it was built from"


def test_the_installed_server_has_its_pages_styles_scripts_and_languages(queueviz: Path, tmp_path: Path) -> None:
    server = Server(tmp_path / "home", command=(str(queueviz),), cwd=tmp_path).start()
    try:
        with server.browser() as visitor:
            page = visitor.get("/")
            assert page.status_code == 200
            addresses = set(re.findall(r'(?:href|src)="(/static/[^"#]+)', page.text))
            assert {address.rsplit(".", 1)[-1] for address in addresses} >= {"css", "js"}
            assert {address: visitor.get(address).status_code for address in addresses} == dict.fromkeys(addresses, 200)
            assert "启动沙盒" in visitor.get("/", headers={"Accept-Language": "zh-hans"}).text
    finally:
        server.end()
    assert "Traceback" not in server.log
