"""Guarantees of a lease table: in memory, in an SQLite file, in PostgreSQL."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from threading import Barrier
from typing import Any, TypeVar

import pytest
from django.db import connections, transaction
from django.db.models import F

from queueviz.engines import lease_rows
from queueviz.engines.lease_rows import LeaseRows
from queueviz.models import EngineLease, SandboxPlace
from sandbox.hosting.lease import Figures, Held, HeldElsewhere, LeaseLost, LeaseTable, LeaseUnreachable
from tests.attacks.databases import fresh, in_use, sqlite
from tests.databases.conftest import postgresql_server
from tests.lease_memory import LeasesInMemory

__all__ = ["postgresql_server"]

T = TypeVar("T")
LASTS_S = 600.0  # longer than any test, on the busiest machine
SHORT_S = 0.02
SLUG = "calm-owl-abcdef"

in_rows = pytest.mark.parametrize("lease_table", ["SQLite", "PostgreSQL"], indirect=True, scope="module")
in_postgresql = pytest.mark.parametrize("lease_table", ["PostgreSQL"], indirect=True, scope="module")


class InMemory:
    def __init__(self) -> None:
        self._now_s = 0.0
        self.table: LeaseTable = self.of(LASTS_S)

    def of(self, lease_s: float) -> LeaseTable:
        began_s = time.monotonic()
        return LeasesInMemory(lambda: self._now_s + time.monotonic() - began_s, lease_s=lease_s)

    def set_clock(self, by_s: float) -> None:
        self._now_s += by_s

    def close(self) -> None:
        """There is no connection."""


class InRows:
    def __init__(self) -> None:
        self.table: LeaseTable = self.of(LASTS_S)
        for model in (EngineLease, SandboxPlace):
            model.objects.all().delete()

    def of(self, lease_s: float) -> LeaseTable:
        return LeaseRows(lease_s=lease_s)

    def set_clock(self, by_s: float) -> None:
        """All times in the table the other way."""
        EngineLease.objects.update(expires_at=F("expires_at") - timedelta(seconds=by_s))

    def close(self) -> None:
        connections.close_all()


@pytest.fixture(scope="module", params=["memory", "SQLite", "PostgreSQL"])
def lease_table(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, django_db_blocker: Any
) -> Iterator[Callable[[], Any]]:
    """Makes empty ones."""
    if request.param == "memory":
        yield InMemory
        return
    is_sqlite = request.param == "SQLite"
    database = (
        sqlite(tmp_path_factory.mktemp("leases")) if is_sqlite else fresh(request.getfixturevalue("postgresql_server"))
    )
    with django_db_blocker.unblock(), in_use(database):
        yield InRows
        connections[lease_rows.ALIAS].close()
        del connections.settings[lease_rows.ALIAS]


@pytest.fixture
def leases(lease_table: Callable[[], Any]) -> Any:
    return lease_table()


@pytest.fixture
def table(leases: Any) -> LeaseTable:
    """A table with the engines `one` and `other`."""
    made: LeaseTable = leases.table
    for engine in ("one", "other"):
        made.enlist(engine, f"name of {engine}", "host")
    return made


def at_once(leases: Any, *does: Callable[[], T]) -> list[T]:
    ready = Barrier(len(does))

    def one(do: Callable[[], T]) -> T:
        ready.wait(30)
        try:
            return do()
        finally:
            leases.close()

    with ThreadPoolExecutor(len(does)) as pool:
        return [future.result() for future in [pool.submit(one, do) for do in does]]


def claimed(table: LeaseTable, slugs: list[str], engine: str) -> dict[str, Held]:
    """Return the sandboxes that no other engine had."""
    mine = {}
    for slug in slugs:
        with suppress(HeldElsewhere):
            mine[slug] = table.claim(slug, engine)
    return mine


def run_out(leases: Any, *, but: str) -> None:
    """Let all leases but one expire by 60 s."""
    leases.set_clock(LASTS_S / 2)
    leases.table.renew(but, Figures())
    leases.set_clock(LASTS_S / 2 + 60)


def test_who_claims_first_has_it_and_has_it_again_when_it_asks_again(table: LeaseTable) -> None:
    held = table.claim(SLUG, "one")
    assert held == Held(SLUG, held.fence, is_clean=True)
    assert table.claim(SLUG, "one") == held
    with pytest.raises(HeldElsewhere) as refused:
        table.claim(SLUG, "other")
    assert (refused.value.slug, refused.value.engine) == (SLUG, "one")
    assert table.places() == {SLUG: "one"}


def test_what_is_given_back_others_have_as_clean_as_it_was_given(table: LeaseTable) -> None:
    first = table.claim(SLUG, "one")
    table.give_back(SLUG, "other")  # who has not got it gives nothing
    assert table.places() == {SLUG: "one"}
    table.give_back(SLUG, "one")
    assert table.places() == {}
    second = table.claim(SLUG, "other")
    assert second.is_clean
    table.give_back(SLUG, "other", is_clean=False)
    third = table.claim(SLUG, "one")
    assert not third.is_clean
    assert first.fence < second.fence < third.fence


def test_a_lease_that_ran_out_leaves_its_sandboxes_to_others_as_not_clean(leases: Any, table: LeaseTable) -> None:
    slugs = ["calm-owl-a", "calm-owl-b"]
    fences = [table.claim(slug, "one").fence for slug in slugs]
    run_out(leases, but="other")
    assert table.places() == {}
    with pytest.raises(LeaseLost):
        table.claim("calm-owl-c", "one")
    for slug, fence in zip(slugs, fences, strict=True):
        held = table.claim(slug, "other")
        assert not held.is_clean
        assert held.fence > fence
        assert table.claim(slug, "other") == held, "an answer that was lost is given again"


def test_a_clock_that_is_set_back_gives_nothing_back_to_whom_something_was_taken_from(
    leases: Any, table: LeaseTable
) -> None:
    table.claim(SLUG, "one")
    table.claim("calm-owl-b", "one")
    run_out(leases, but="other")
    table.claim(SLUG, "other")
    leases.set_clock(-120)
    with pytest.raises(LeaseLost):
        table.renew("one", Figures())
    with pytest.raises(LeaseLost):
        table.claim("calm-owl-b", "one")
    assert not table.claim("calm-owl-b", "other").is_clean


def test_a_lease_that_ran_out_is_not_renewed_even_where_nothing_was_taken(leases: Any, table: LeaseTable) -> None:
    run_out(leases, but="other")
    with pytest.raises(LeaseLost):
        table.renew("one", Figures())
    with pytest.raises(LeaseLost):
        table.renew("nobody", Figures())
    assert table.renew("other", Figures()) is False


def test_renewed_in_time_it_stays(leases: Any, table: LeaseTable) -> None:
    table.claim(SLUG, "one")
    for _ in range(5):
        leases.set_clock(LASTS_S - 60)
        table.renew("one", Figures())
    assert table.places() == {SLUG: "one"}


def test_who_ends_cleanly_frees_its_places_as_clean_as_it_got_them(leases: Any, table: LeaseTable) -> None:
    table.claim("calm-owl-a", "one")
    run_out(leases, but="other")
    assert not table.claim("calm-owl-a", "other").is_clean
    table.claim("calm-owl-b", "other")
    table.retire("other")
    table.retire("other")
    table.enlist("third", "third", "host")
    assert not table.claim("calm-owl-a", "third").is_clean
    assert table.claim("calm-owl-b", "third").is_clean
    assert [one.engine for one in table.engines()] == ["third"]


def test_who_ends_too_late_frees_nothing(leases: Any, table: LeaseTable) -> None:
    table.claim(SLUG, "one")
    run_out(leases, but="other")
    table.retire("one")
    assert not table.claim(SLUG, "other").is_clean


def test_fences_rise_over_deletion(table: LeaseTable) -> None:
    first = table.claim(SLUG, "one")
    table.forget(SLUG, "other")
    assert table.places() == {SLUG: "one"}
    table.forget(SLUG, "one")
    assert table.places() == {}
    again = table.claim(SLUG, "other")
    assert again.is_clean
    assert again.fence > first.fence


def test_engines_are_listed_with_what_they_reported(leases: Any, table: LeaseTable) -> None:
    table.claim(SLUG, "other")
    table.renew("one", Figures(awake=3, cap=30, frame_age_ms=120))
    table.drain("name of other")
    assert table.renew("other", Figures()) is True
    assert table.renew("one", Figures(3, 30, 120)) is False
    run_out(leases, but="one")
    one, other = table.engines()
    assert one[:4] == ("one", "name of one", "host", False)
    assert (one.sandboxes, one.figures) == (0, Figures(None, None, None)), "it was too busy to say: unknown, not 0"
    assert other[:4] == ("other", "name of other", "host", True)
    assert other.sandboxes == 1
    assert LASTS_S / 2 > one.expires_in_s > 60
    assert -60 >= other.expires_in_s > -LASTS_S


def test_a_new_incarnation_takes_the_place_of_one_whose_lease_ran_out(leases: Any, table: LeaseTable) -> None:
    table.claim(SLUG, "one")
    with pytest.raises(LeaseLost):
        table.enlist("one", "name of one", "host")
    table.enlist("one more", "name of one", "host")
    assert [one.engine for one in table.engines()] == ["one", "one more", "other"]
    with pytest.raises(HeldElsewhere):
        table.claim(SLUG, "one more")
    run_out(leases, but="other")
    table.enlist("the next", "name of one", "host")
    assert [one.engine for one in table.engines()] == ["the next", "other"]
    assert not table.claim(SLUG, "the next").is_clean


def test_of_two_who_claim_at_once_one_has_it(leases: Any, table: LeaseTable) -> None:
    slugs = [f"calm-owl-{number}" for number in range(200)]

    one, other = at_once(leases, lambda: claimed(table, slugs, "one"), lambda: claimed(table, slugs, "other"))
    assert sorted([*one, *other]) == sorted(slugs)
    assert table.places() == {**dict.fromkeys(one, "one"), **dict.fromkeys(other, "other")}


def test_of_two_who_take_at_once_from_one_whose_lease_ran_out_one_has_it(leases: Any, table: LeaseTable) -> None:
    slugs = [f"calm-owl-{number}" for number in range(40)]
    table.enlist("third", "third", "host")
    for slug in slugs:
        table.claim(slug, "one")
    run_out(leases, but="other")
    table.enlist("fourth", "fourth", "host")

    taken = at_once(leases, lambda: claimed(table, slugs, "other"), lambda: claimed(table, slugs, "fourth"))
    assert sorted([*taken[0], *taken[1]]) == sorted(slugs)
    assert not any(held.is_clean for some in taken for held in some.values())


def test_engines_that_claim_from_each_other_do_not_wait_for_each_other(leases: Any, table: LeaseTable) -> None:
    table.claim("of-one", "one")
    table.claim("of-other", "other")

    def claim(slug: str, engine: str) -> int:
        refused = 0
        for _ in range(100):
            with pytest.raises(HeldElsewhere):
                table.claim(slug, engine)
            table.renew(engine, Figures())
            refused += 1
        return refused

    assert at_once(leases, lambda: claim("of-other", "one"), lambda: claim("of-one", "other")) == [100, 100]


@in_rows
def test_of_a_renewal_and_a_claim_at_once_one_wins(leases: Any, table: LeaseTable) -> None:
    short = leases.of(SHORT_S)
    for number in range(20):
        slug, engine = f"calm-owl-{number}", f"short {number}"
        table.enlist(engine, engine, "host")
        table.claim(slug, engine)
        short.renew(engine, Figures())

        def renew(engine: str = engine, times: int = 1 + number % 5) -> float:
            """When its last renewal that succeeded was sent."""
            last_s = 0.0
            with suppress(LeaseLost):
                for _ in range(times):
                    sent_s = time.monotonic()
                    short.renew(engine, Figures())
                    last_s = sent_s
            return last_s

        def take(slug: str = slug) -> float:
            while True:
                try:
                    assert not table.claim(slug, "one").is_clean
                except HeldElsewhere:
                    continue
                return time.monotonic()

        sent_s, taken_s = at_once(leases, renew, take)
        assert sent_s < taken_s
        with pytest.raises(LeaseLost):
            short.renew(engine, Figures())


@in_rows
def test_a_table_that_is_locked_is_not_waited_for_until_it_is_free(leases: Any, table: LeaseTable) -> None:
    with transaction.atomic():
        list(EngineLease.objects.select_for_update().filter(engine="one"))
        with pytest.raises(LeaseUnreachable):
            table.renew("one", Figures())
    assert table.renew("one", Figures()) is False


@in_postgresql
def test_a_table_whose_connection_ended_is_reached_again(leases: Any, table: LeaseTable) -> None:
    with connections["default"].cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND datname = current_database()"
        )
    with pytest.raises(LeaseUnreachable):
        table.renew("one", Figures())
    assert table.renew("one", Figures()) is False
