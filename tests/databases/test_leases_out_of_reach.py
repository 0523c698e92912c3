"""A database that does not answer is an error within seconds: an engine has a lease of ten."""

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import dj_database_url
import pytest
from django.conf import settings
from django.db import connections

from queueviz.engines.lease_rows import ALIAS, WAIT_S, LeaseRows
from sandbox.hosting.lease import Figures, LeaseUnreachable
from tests.attacks.databases import connected, in_use
from tests.databases.postgresql import Postgresql
from tests.server.server import free_port


def at(url: str) -> dict[str, Any]:
    return {**dj_database_url.parse(url), "OPTIONS": dict(settings.POSTGRESQL_OPTIONS)}


@pytest.fixture(autouse=True)
def _own_connections(postgresql_server: Postgresql, django_db_blocker: Any) -> Iterator[None]:
    """Also where a test needs no server: it is run with those that do."""
    with django_db_blocker.unblock():
        yield
    connections[ALIAS].close()
    del connections.settings[ALIAS]


def refused_after_s(table: LeaseRows) -> float:
    began_s = time.monotonic()
    with pytest.raises(LeaseUnreachable):
        table.renew("one", Figures())
    return time.monotonic() - began_s


def test_where_nothing_listens_it_is_an_error() -> None:
    with connected(at(f"postgres://postgres@127.0.0.1:{free_port()}/postgres")):
        refused_after_s(LeaseRows())


def test_a_server_that_says_nothing_is_waited_for_shortly() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        connected(at(f"postgres://postgres@127.0.0.1:{silent.getsockname()[1]}/postgres")),
    ):
        assert refused_after_s(LeaseRows()) > WAIT_S - 0.5


def test_a_session_that_hangs_in_a_transaction_is_ended_by_the_database(postgresql_server: Postgresql) -> None:
    """As of an engine that is stopped in the midst of a renewal: its locks do not last."""
    with in_use(at(postgresql_server.fresh())):
        table = LeaseRows()
        table.enlist("one", "one", "host")
        with pytest.raises(LeaseUnreachable):
            hang(table)
        assert table.renew("one", Figures()) is False


def hang(table: LeaseRows) -> None:
    """Locks what is there, until another session gets it, and then goes on."""
    lock = "SELECT * FROM queueviz_enginelease FOR UPDATE"
    with table._transaction():
        with connections[ALIAS].cursor() as cursor:
            cursor.execute(lock)
        with closing(connections.create_connection(ALIAS)) as other, other.cursor() as cursor:
            cursor.execute("SET lock_timeout = '20s'; SET statement_timeout = '20s'")
            cursor.execute(lock)
            assert len(cursor.fetchall()) == 1
        with connections[ALIAS].cursor() as cursor:
            cursor.execute("SELECT 1")
