"""Fixtures of the tests on real databases: a PostgreSQL and a Redis each."""

from collections.abc import Iterator

import pytest

from tests.databases import postgresql
from tests.databases.postgresql import Postgresql
from tests.databases.redis_server import NOT_HERE, RedisServer, is_here


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[Postgresql]:
    """The one that this run is on, or one of this worker's own; skips where there is none."""
    if (server := postgresql.running()) is not None:
        yield server
    elif not postgresql.is_here():
        pytest.skip(postgresql.NOT_HERE)
    else:
        with postgresql.postgresql() as server:
            yield server


@pytest.fixture
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A test's own, which it may kill; skips where there is none to start."""
    if not is_here():
        pytest.skip(NOT_HERE)
    server = RedisServer(tmp_path_factory.mktemp("redis")).start()
    yield server
    server.end()
