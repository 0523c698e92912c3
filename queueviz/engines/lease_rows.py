"""The lease table in the site's database (`sandbox.hosting.lease`).

Rows are locked in one order, so that no two of these transactions wait for each other: the sandbox's row, then
engines by id.  A commit is sent only after the rows it changes were locked and read.  So a request that lost its
connection either ends soon or has no effect, and the next request waits for it.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, cast

from django.db import IntegrityError, InterfaceError, InternalError, OperationalError, connections, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from queueviz.access.database_limits import number_of
from queueviz.models import EngineLease, SandboxPlace
from sandbox.hosting.lease import LEASE_S, Figures, Held, HeldElsewhere, LeaseLost, LeaseUnreachable, Listed

ALIAS = "leases"  # a connection of its own: a page's may be in a transaction, and waits for longer
WAIT_S = 2  # for a connection, a lock or an answer; several of these fit into one lease
KEPT_FOR = timedelta(days=1)  # rows of engines whose lease expired and that did not restart under their name

_LIMITS = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")


class LeaseRows:
    """The lease table, usable in any thread.  A thread that ends before the process must call `close`."""

    def __init__(self, *, lease_s: float = LEASE_S) -> None:
        self._lease = timedelta(seconds=lease_s)
        connections.settings[ALIAS] = _with_short_waits(connections.settings["default"])
        self.close()
        del connections[ALIAS]  # of this thread: it may be of another database

    def close(self) -> None:
        """Close this thread's connection; the next query opens one again."""
        connections[ALIAS].close()

    def enlist(self, engine: str, name: str, host: str) -> None:
        with self._transaction():
            over = Q(name=name, expires_at__lte=Now()) | Q(expires_at__lte=Now() - KEPT_FOR)
            for row in _engines(over):
                row.delete()
            try:
                EngineLease.objects.using(ALIAS).create(
                    engine=engine, name=name, host=host, expires_at=Now() + self._lease
                )
            except IntegrityError:
                raise LeaseLost(f"there was an engine {engine} before") from None

    def renew(self, engine: str, figures: Figures) -> bool:
        with self._transaction():
            row = _engines(Q(engine=engine)).first()
            if row is None or not _is_good(row):
                raise _lost(engine)
            row.expires_at = row.now + self._lease
            row.awake, row.cap, row.frame_age_ms = (figure or 0 for figure in figures)
            row.save(update_fields=["expires_at", *Figures._fields])
            return bool(row.is_draining)

    def retire(self, engine: str) -> None:
        with self._transaction():
            places = list(SandboxPlace.objects.using(ALIAS).select_for_update().filter(engine=engine))
            for row in _engines(Q(engine=engine)):
                if _is_good(row):
                    SandboxPlace.objects.using(ALIAS).filter(pk__in=[row.pk for row in places]).update(engine="")
                row.delete()

    def claim(self, slug: str, engine: str) -> Held:
        with self._transaction(slug):
            lease = SandboxPlace.objects.using(ALIAS).select_for_update().filter(slug=slug).first()
            holder = lease.engine if lease else ""
            rows = {row.engine: row for row in _engines(Q(engine__in={engine, holder}))}
            if engine not in rows or not _is_good(rows[engine]):
                raise _lost(engine)
            if lease and holder == engine:
                return Held(slug, lease.pk, lease.is_clean)
            if holder in rows:
                if _is_good(rows[holder]):
                    raise HeldElsewhere(slug, holder)
                rows[holder].delete()  # a clock that is set back does not make its lease good again
            if lease:
                lease.delete()
            made = SandboxPlace.objects.using(ALIAS).create(
                slug=slug, engine=engine, is_clean=lease is None or (not holder and lease.is_clean)
            )
            return Held(slug, made.pk, made.is_clean)

    def give_back(self, slug: str, engine: str, *, is_clean: bool = True) -> None:
        with self._transaction(slug):
            for row in SandboxPlace.objects.using(ALIAS).select_for_update().filter(slug=slug, engine=engine):
                row.engine, row.is_clean = "", is_clean
                row.save(update_fields=["engine", "is_clean"])

    def forget(self, slug: str, engine: str) -> None:
        with self._transaction(slug):
            for row in SandboxPlace.objects.using(ALIAS).select_for_update().filter(slug=slug, engine=engine):
                row.delete()

    def drain(self, name: str) -> None:
        with self._transaction():
            for row in _engines(Q(name=name)):
                row.is_draining = True
                row.save(update_fields=["is_draining"])

    def engines(self) -> list[Listed]:
        with self._transaction():
            counts = Counter(SandboxPlace.objects.using(ALIAS).values_list("engine", flat=True))
            rows = EngineLease.objects.using(ALIAS).annotate(now=Now()).order_by("name", "engine")
            return [
                Listed(
                    row.engine,
                    row.name,
                    row.host,
                    row.is_draining,
                    (row.expires_at - row.now).total_seconds(),
                    counts[row.engine],
                    _figures(row),
                )
                for row in rows
            ]

    def places(self) -> dict[str, str]:
        with self._transaction():
            good = EngineLease.objects.using(ALIAS).filter(expires_at__gt=Now()).values("engine")
            return dict(SandboxPlace.objects.using(ALIAS).filter(engine__in=good).values_list("slug", "engine"))

    @contextmanager
    def _transaction(self, slug: str = "") -> Iterator[None]:
        """Open a transaction.  Transactions with the same `slug` run one at a time.

        Locking the sandbox's row is not enough, because the row may not exist yet.
        """
        try:
            with transaction.atomic(using=ALIAS, durable=True):
                if slug and connections[ALIAS].vendor == "postgresql":
                    with connections[ALIAS].cursor() as cursor:
                        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number_of(f"lease {slug}")])
                yield
        except (OperationalError, InterfaceError, InternalError) as error:
            self.close()
            raise LeaseUnreachable(f"the leases in the database cannot be reached: {error}") from error


def _engines(which: Q) -> "QuerySet[Any]":
    """Return a query of the engines that locks their rows and adds the database's time as `now`."""
    return EngineLease.objects.using(ALIAS).select_for_update().filter(which).annotate(now=Now()).order_by("engine")


def _figures(row: Any) -> Figures:
    """Return the figures in an engine's row.

    The table holds only numbers: a cap of 0, which no engine has, marks figures as unknown.
    """
    return Figures(row.awake, row.cap, row.frame_age_ms) if row.cap else Figures()


def _is_good(row: Any) -> bool:
    """Return True if the lease is valid at the row's `now`.

    The row is locked, so a concurrent renewal is complete by then.
    """
    expires_at: datetime = row.expires_at
    return bool(expires_at > row.now)


def _lost(engine: str) -> LeaseLost:
    return LeaseLost(f"the lease of the engine {engine} has run out in the database")


def _with_short_waits(database: dict[str, object]) -> dict[str, object]:
    """Return the settings of the same database with short waits."""
    options = dict(cast(dict[str, object], database.get("OPTIONS", {})))
    backend = str(database["ENGINE"])
    if backend.endswith("sqlite3"):
        options["timeout"] = WAIT_S
    elif backend.endswith("postgresql"):
        options |= {
            "connect_timeout": WAIT_S,
            "tcp_user_timeout": WAIT_S * 1_000,
            "keepalives_idle": 1,
            "keepalives_interval": 1,
            "keepalives_count": WAIT_S,
        }
        options["options"] = str(options.get("options", "")) + "".join(f" -c {name}={WAIT_S}s" for name in _LIMITS)
    return {**database, "OPTIONS": options, "CONN_MAX_AGE": None}
