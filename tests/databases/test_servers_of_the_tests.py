"""The databases that the tests start: they are what they say, and leave nothing behind."""

import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.databases import on_postgresql, postgresql
from tests.databases.postgresql import Postgresql
from tests.databases.redis_server import RedisServer
from tests.server.server import until

ROOT = Path(__file__).parents[2]
ASKS_WHICH = """
import pytest
from django.db import connection

@pytest.mark.django_db
def test_which():
    assert connection.vendor == "postgresql"

def test_no_database():
    assert False, "left to other runs"
"""

STARTS_ONE = """
import sys
from tests.databases.postgresql import postgresql

with postgresql() as server:
    print(server.folder, flush=True)
    sys.stdin.read()
"""


def test_postgresql_is_reached_by_its_socket_alone(postgresql_server: Postgresql) -> None:
    with psycopg.connect(postgresql_server.url()) as connection:
        shown = [connection.execute(f"SHOW {name}").fetchone() for name in ("listen_addresses", "server_encoding")]
    assert shown == [("",), ("UTF8",)]


def test_a_run_that_is_killed_leaves_no_postgresql(postgresql_server: Postgresql) -> None:
    command = [sys.executable, "-c", STARTS_ONE]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        folder = Path(run.stdout.readline().strip())
        pid = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        run.kill()
    until(lambda: not folder.exists() and not Path(f"/proc/{pid}").exists(), what="the cluster is gone")


def test_a_redis_that_is_killed_starts_again_at_the_same_address(redis_server: RedisServer) -> None:
    url = redis_server.url
    redis_server.kill()
    assert redis_server.start().url == url


def run_on_postgresql(folder: Path, monkeypatch: pytest.MonkeyPatch) -> "subprocess.CompletedProcess[str]":
    for name in (postgresql.OF_THE_RUN, "QUEUEVIZ_DATABASE_URL", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)
    (folder / "test_asking.py").write_text(ASKS_WHICH)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        on_postgresql.__name__,
        "-p",
        "no:cacheprovider",
        "-rs",
        "-c",
        str(ROOT / "pyproject.toml"),
        "--rootdir",
        str(folder),
        str(folder / "test_asking.py"),
    ]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_a_run_on_postgresql_asks_it_and_ends_it(
    postgresql_server: Postgresql, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run_on_postgresql(tmp_path, monkeypatch)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed, 1 deselected" in done.stdout
    folder = Path(done.stdout.split("database: PostgreSQL in ")[1].split()[0])
    assert folder != postgresql_server.folder
    assert not folder.exists()


def test_without_postgresql_a_run_is_skipped_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("import tests.databases.postgresql as p; p._programs = lambda: None")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    done = run_on_postgresql(tmp_path, monkeypatch)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 skipped, 1 deselected" in done.stdout
    assert postgresql.NOT_HERE in done.stdout.replace("\n", " ")
