"""`manage.py findings` in a process of its own: sentences and exit status, with a broker process and without one."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE_S
from tests.server.server import ROOT, environment
from tests.server.test_headless_broker import SMALL, free_ports, running

SECONDS = "3"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("findings")


@pytest.fixture(scope="module")
def broker(home: Path) -> Iterator[str]:
    """The address of a broker process that is healthy and has no topic of its own."""
    settings = home / "broker.conf"
    settings.write_text(SMALL)
    address = f"127.0.0.1:{free_ports()}"
    with running(home, "--store", home / "store", "--listen", address, "--properties", settings):
        yield address


def findings(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "findings", "--seconds", SECONDS, *arguments],
        cwd=ROOT,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def checks_by_code(answer: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {check["code"]: (check["known"], check["all"]) for check in answer["checks"]}


def test_a_healthy_broker_has_a_line_of_counts_and_exit_status_0(home: Path, broker: str) -> None:
    ended = findings(home, "--name-server", broker)
    assert ended.stderr == ""
    assert ended.stdout.startswith("Groups: 0, topics: 0, brokers: 1. Findings: 0. Checks that hold: ")
    assert ended.returncode == 0


def test_json_has_the_rows_of_the_api_and_no_trouble(home: Path, broker: str) -> None:
    ended = findings(home, "--name-server", broker, "--json")
    answer = json.loads(ended.stdout)
    assert ended.returncode == 0
    assert answer["trouble"] is None
    assert answer["findings"] == []
    assert answer["brokers"] == 1
    assert checks_by_code(answer)["broker_down"] == (1, 1)
    assert checks_by_code(answer)["delay_waiting"] == (0, 1), "a real cluster does not report delayed messages"


def test_a_name_server_that_does_not_answer_is_a_sentence_and_exit_status_1(home: Path) -> None:
    address = f"127.0.0.1:{free_ports()}"
    ended = findings(home, "--name-server", address)
    assert ended.returncode == 1
    assert ended.stdout == f"No name server answers: nothing listens at {address}.\n", "and counts no check as healthy"


def test_an_address_without_a_port_is_refused(home: Path) -> None:
    ended = findings(home, "--name-server", "10.0.0.1")
    assert ended.returncode == 1
    assert "10.0.0.1" in ended.stderr
    assert "Traceback" not in ended.stderr
