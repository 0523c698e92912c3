"""`manage.py mqstore`, as a shell calls it."""

import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.golden.golden_stores import unpack

MANAGE = Path(__file__).parents[2] / "manage.py"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("basic-clean", tmp_path_factory.mktemp("store"))


def test_lines_go_to_standard_output(root: Path) -> None:
    out = StringIO()
    call_command("mqstore", "messages", str(root), "--json", "--limit", "3", stdout=out)
    assert out.getvalue().count("\n") == 3


def test_a_directory_that_is_no_store_ends_with_1(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="is not a store") as refused:
        call_command("mqstore", "summary", str(tmp_path))
    assert refused.value.returncode == 1


def test_an_unsound_store_ends_with_1(tmp_path: Path) -> None:
    damaged = unpack("basic-clean", tmp_path)
    next((damaged / "consumequeue" / "GoldenOrder" / "0").iterdir()).write_bytes(bytes(20_000))
    with pytest.raises(SystemExit) as ended:
        call_command("mqstore", "verify", str(damaged), stdout=StringIO())
    assert ended.value.code == 1


def test_a_reader_that_has_seen_enough_is_no_error(root: Path) -> None:
    command = [sys.executable, str(MANAGE), "mqstore", "messages", str(root), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0
