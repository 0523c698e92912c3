"""Limits counted in the database: each transaction records its count before another one counts."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def one_at_a_time(what: str) -> Iterator[None]:
    """Open a transaction that excludes all others with the same `what`, in any process.

    SQLite has one writer at a time anyway (settings: IMMEDIATE).  PostgreSQL would let two transactions count at
    once, and both be the last that fits: there the transaction holds a lock.  Raises OperationalError if others hold
    it for too long.
    """
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number_of(what)])
        yield


@contextmanager
def one_process_at_a_time(what: str) -> Iterator[None]:
    """Hold the lock as `one_at_a_time` does, for work of many transactions, however long other holders take.

    On SQLite this does nothing: the data home is locked there, and no other process has the file.
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
    """Return the key of the lock in PostgreSQL."""
    return zlib.crc32(what.encode())
