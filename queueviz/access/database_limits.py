"""Locks in the database for limits: each transaction records its count before another one counts."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def one_at_a_time(what: str) -> Iterator[None]:
    """Open a transaction that excludes all others with the same `what`, in any process.

    SQLite has one writer at a time anyway (settings: IMMEDIATE).  In PostgreSQL two transactions could count at the
    same time, and both would pass as the last one allowed: there the transaction holds a lock.  Raises
    OperationalError if another transaction holds the lock for too long.
    """
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number_of(what)])
        yield


@contextmanager
def one_process_at_a_time(what: str) -> Iterator[None]:
    """Hold the lock of `what` for work of many transactions.  Wait without a time limit until it is free.

    On SQLite this does nothing: the data home is locked there, and no other process opens the file.
    """
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 0")
        cursor.execute("SELECT pg_advisory_lock(%s)", [number_of(what)])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [number_of(what)])
            cursor.execute("RESET lock_timeout")


def number_of(what: str) -> int:
    """Return the number of PostgreSQL's advisory lock for `what`."""
    return zlib.crc32(what.encode())
