"""A whole run on PostgreSQL: `pytest -p tests.databases.on_postgresql …`, as `script/test databases` does.

One cluster for all workers, started before Django reads its settings and ended with the run; every worker has a
database of its own there.  Where no PostgreSQL is installed every test is skipped, with that as the reason.
`--third DATE` leaves two thirds of the tests outside `tests/databases` to other days.
"""

import os
import zlib
from collections.abc import Generator
from contextlib import ExitStack
from datetime import date
from pathlib import Path

import pytest

from tests.databases.postgresql import NOT_HERE, OF_THE_RUN, is_here, postgresql, running

DATABASES = frozenset({"db", "transactional_db", "own_database", "lease_table", "postgresql_server",
                       "redis_server", "two_machines"})  # fixtures

THIRDS = 3

_started = ExitStack()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--third", type=date.fromisoformat, metavar="DATE", help="one of three parts, for a slow machine")


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests() -> Generator[None, object, object]:
    """Of the process that was called; its workers inherit the variables."""
    if is_here() and running() is None:
        server = _started.enter_context(postgresql())
        os.environ |= {OF_THE_RUN: str(server.folder), "QUEUEVIZ_DATABASE_URL": server.url()}
    return (yield)


def pytest_unconfigure() -> None:
    _started.close()


def pytest_report_header() -> str:
    server = running()
    return f"database: PostgreSQL in {server.folder}" if server else f"database: {NOT_HERE}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What asks no database, or SQLite alone, is left to all other runs."""
    if running() is None:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=NOT_HERE))
    day = config.getoption("--third")
    left = {item for item in items if not _asks_a_database(item) or _is_about_sqlite(item)
            or (day is not None and _is_of_another_day(item, day))}
    config.hook.pytest_deselected(items=list(left))
    items[:] = [item for item in items if item not in left]


def _is_of_another_day(item: pytest.Item, day: date) -> bool:
    return Path(__file__).parent not in item.path.parents and zlib.crc32(item.nodeid.encode()) % THIRDS != (
        day.toordinal() % THIRDS)


def _asks_a_database(item: pytest.Item) -> bool:
    return item.get_closest_marker("django_db") is not None or not DATABASES.isdisjoint(_fixtures(item))


def _is_about_sqlite(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    return "own_sqlite" in _fixtures(item) or (
        callspec is not None and not {"SQLite", "memory"}.isdisjoint(
            callspec.params.get(name) for name in ("own_database", "lease_table")))


def _fixtures(item: pytest.Item) -> list[str]:
    return list(getattr(item, "fixturenames", ()))
