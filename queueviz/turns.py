"""Limits that are counted in the database: who counts writes down what it counted before another counts."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def one_at_a_time(what: str) -> Iterator[None]:
    """A transaction that excludes all others with the same `what`, in any process.

    SQLite has one writer at a time anyway (settings: IMMEDIATE).  PostgreSQL would let two count at once, and both be
    the last that fits: there the transaction holds a lock.
    """
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [zlib.crc32(what.encode())])
        yield
