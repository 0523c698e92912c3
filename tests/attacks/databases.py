"""Databases that several threads reach at once, as a server's do: a file of SQLite's, and a PostgreSQL of our own."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import dj_database_url
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections

SERVER_S = 60


def sqlite(folder: Path) -> dict[str, Any]:
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "web.sqlite3"),
            "OPTIONS": dict(settings.DATABASES["default"]["OPTIONS"])}  # fmt: skip


@contextmanager
def postgresql() -> Iterator[dict[str, Any]]:
    """Skips the test where there is none to start."""
    programs = _programs()
    if programs is None:
        pytest.skip("no PostgreSQL is installed here (initdb, pg_ctl)")
    home = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path is short
    as_user: list[str] = []
    if os.geteuid() == 0:  # PostgreSQL does not run as root
        shutil.chown(home, "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]

    def run(program: str, *arguments: str) -> None:
        subprocess.run([*as_user, str(programs / program), "-D", str(home / "data"), *arguments], check=True, cwd="/",
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SERVER_S)

    run("initdb", "-A", "trust", "-U", "postgres", "-N")
    run("pg_ctl", "-w", "-o", f"-F -h '' -k {home}", "-l", str(home / "log"), "start")
    try:
        yield dict(dj_database_url.parse(f"postgres://postgres@{quote(str(home), safe='')}/postgres"))
    finally:
        run("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(home, ignore_errors=True)


def _programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or [shutil.which("initdb")]
    return Path(found[-1]).parent if found[-1] else None


@contextmanager
def in_use(database: dict[str, Any]) -> Iterator[None]:
    """All threads' `default` from here on, with our tables in it."""
    before, settings_before = connections["default"], connections.settings["default"]
    connections.settings["default"] = connections.configure_settings({"default": database})["default"]
    connections["default"] = connections.create_connection("default")
    try:
        call_command("migrate", verbosity=0, interactive=False)
        yield
    finally:
        connections["default"].close()
        connections.settings["default"] = settings_before
        connections["default"] = before
