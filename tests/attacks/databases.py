"""Databases that several threads reach at once, as a server's do: a file of SQLite's, and one of a PostgreSQL."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dj_database_url
from django.conf import settings
from django.core.management import call_command
from django.db import connections

from tests.databases.postgresql import Postgresql


def sqlite(folder: Path) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(folder / "web.sqlite3"),
        "OPTIONS": dict(settings.SQLITE_OPTIONS),
    }


def fresh(server: Postgresql) -> dict[str, Any]:
    """A database with nothing in it yet; it ends with its server."""
    return {**dj_database_url.parse(server.fresh()), "OPTIONS": dict(settings.POSTGRESQL_OPTIONS)}


@contextmanager
def in_use(database: dict[str, Any]) -> Iterator[None]:
    """As `connected`, with our tables in it."""
    with connected(database):
        call_command("migrate", verbosity=0, interactive=False)
        yield


@contextmanager
def connected(database: dict[str, Any]) -> Iterator[None]:
    """All threads' `default` from here on."""
    before, settings_before = connections["default"], connections.settings["default"]
    connections.settings["default"] = connections.configure_settings({"default": database})["default"]
    connections["default"] = connections.create_connection("default")
    try:
        yield
    finally:
        connections["default"].close()
        connections.settings["default"] = settings_before
        connections["default"] = before
