"""A whole run on PostgreSQL: `pytest -p tests.databases.on_postgresql …`, as `script/test databases` does.

One cluster for all workers, started before Django reads its settings and ended with the run; every worker has a
database of its own there.  Where no PostgreSQL is installed every test is skipped, with that as the reason.
"""

import os
from collections.abc import Generator
from contextlib import ExitStack

import pytest
from asgiref.sync import SyncToAsync
from django.db import connections

from tests.databases.postgresql import NOT_HERE, OF_THE_RUN, is_here, postgresql, running

DATABASES = frozenset(
    {"db", "transactional_db", "own_database", "lease_table", "postgresql_server", "redis_server", "two_machines"}
)  # fixtures

_started = ExitStack()


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests() -> Generator[None, object, object]:
    """Set the variables in the called process; its workers inherit them."""
    if is_here() and running() is None:
        server = _started.enter_context(postgresql())
        os.environ |= {OF_THE_RUN: str(server.folder), "QUEUEVIZ_DATABASE_URL": server.url()}
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    """The thread in which coroutines of a process ask for rows lives on: PostgreSQL drops no database that it is in."""
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()
    return (yield)


def pytest_unconfigure() -> None:
    _started.close()


def pytest_report_header() -> str:
    server = running()
    return f"database: PostgreSQL in {server.folder}" if server else f"database: {NOT_HERE}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests without a database or with SQLite only; all other runs have them."""
    if running() is None:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=NOT_HERE))
    left = {item for item in items if not _asks_a_database(item) or _is_about_sqlite(item)}
    config.hook.pytest_deselected(items=list(left))
    items[:] = [item for item in items if item not in left]


def _asks_a_database(item: pytest.Item) -> bool:
    return item.get_closest_marker("django_db") is not None or not DATABASES.isdisjoint(_fixtures(item))


def _is_about_sqlite(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    return "own_sqlite" in _fixtures(item) or (
        callspec is not None
        and not {"SQLite", "memory"}.isdisjoint(callspec.params.get(name) for name in ("own_database", "lease_table"))
    )


def _fixtures(item: pytest.Item) -> list[str]:
    return list(getattr(item, "fixturenames", ()))
