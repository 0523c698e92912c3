"""Attackers against pages and sockets, before an engine port with nothing behind it, as in `tests/web`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from queueviz.sandboxes import demo, visitor_actions
from tests.attacks.databases import fresh, in_use, sqlite
from tests.databases.conftest import postgresql_server
from tests.databases.postgresql import Postgresql
from tests.web.conftest import _fresh_rates, _plain_surroundings, anonymous, mine, port, visitor

__all__ = ["_fresh_rates", "_plain_surroundings", "anonymous", "mine", "port", "postgresql_server", "visitor"]


@pytest.fixture
def still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """No rate refills, however slow the machine."""
    for rate in (visitor_actions.ACTIONS, visitor_actions.QUESTIONS, demo.PRESSES):
        monkeypatch.setattr(rate, "_now", lambda: 0.0)


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """The timers of the demo's faults; none of them runs."""
    started: list[object] = []

    class Timer:
        daemon = False

        def __init__(self, after_s: float, do: object, args: tuple[object, ...]) -> None:
            started.append(args[0])

        def start(self) -> None:
            pass

    monkeypatch.setattr("queueviz.sandboxes.demo.threading.Timer", Timer)
    yield started
    demo._healing.clear()


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def own_database(request: pytest.FixtureRequest, tmp_path: Path, django_db_blocker: Any) -> Iterator[None]:
    """A database of the test's own, which its threads reach, too."""
    is_sqlite = request.param == "SQLite"
    database = sqlite(tmp_path) if is_sqlite else fresh(request.getfixturevalue("postgresql_server"))
    with django_db_blocker.unblock(), in_use(database):
        yield


@pytest.fixture
def own_postgresql(postgresql_server: Postgresql, django_db_blocker: Any) -> Iterator[None]:
    """A fresh database of PostgreSQL's, in use."""
    with django_db_blocker.unblock(), in_use(fresh(postgresql_server)):
        yield


@pytest.fixture
def own_sqlite(tmp_path: Path, django_db_blocker: Any) -> Iterator[Path]:
    """A file of SQLite's, in use."""
    with django_db_blocker.unblock(), in_use(sqlite(tmp_path)):
        yield tmp_path / "web.sqlite3"
