"""An engine's own view of its lease: when it may write."""

from collections.abc import Callable
from typing import Any

import pytest

from sandbox.hosting.lease import (
    LEASE_S,
    MARGIN_S,
    Figures,
    Held,
    HeldElsewhere,
    Lease,
    LeaseLost,
    LeaseUnreachable,
)
from tests.lease_memory import LeasesInMemory

LASTS_S = LEASE_S - MARGIN_S


class Slow:
    """A table behind a wire: before and after each call, what a test does meanwhile."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.table = LeasesInMemory(lambda: self.now_s)
        self.before: Callable[[], None] = lambda: None
        self.after: Callable[[], None] = lambda: None

    def __getattr__(self, name: str) -> Any:
        def ask(*given: Any, **named: Any) -> Any:
            self.before()
            answer = getattr(self.table, name)(*given, **named)
            self.after()
            return answer

        return ask

    def later(self, by_s: float) -> Callable[[], None]:
        def wait() -> None:
            self.now_s += by_s

        return wait

    def lease(self, engine: str = "one") -> Lease:
        lease = Lease(self, engine, lambda: self.now_s)
        lease.enlist(f"name of {engine}", "host")
        return lease


@pytest.fixture
def wire() -> Slow:
    return Slow()


def fail() -> None:
    raise LeaseUnreachable("the connection was lost")


def test_before_it_is_enlisted_and_after_its_end_it_is_not_good(wire: Slow) -> None:
    lease = Lease(wire, "one", lambda: wire.now_s)
    with pytest.raises(LeaseLost):
        lease.check()
    lease.enlist("one", "host")
    lease.check()
    lease.retire()
    assert not lease.is_good
    with pytest.raises(LeaseLost):
        lease.claim("s")


def test_it_counts_from_the_moment_a_renewal_was_sent(wire: Slow) -> None:
    lease = wire.lease()
    wire.now_s = 3.0
    wire.before, wire.after = wire.later(1.0), wire.later(2.0)
    lease.renew_once(Figures())
    wire.now_s = 3.0 + LASTS_S - 0.001
    lease.check()
    wire.now_s = 3.0 + LASTS_S
    assert not lease.is_good


def test_once_it_ran_out_no_answer_makes_it_good_again(wire: Slow) -> None:
    """An answer that comes when the table's own lease is good, but ours was not for a moment."""
    lease = wire.lease()
    wire.now_s = LASTS_S - 0.1
    wire.after = wire.later(0.2)
    with pytest.raises(LeaseLost):
        lease.renew_once(Figures())
    assert wire.table.engines()[0].expires_in_s > 0
    wire.after = wire.later(0)
    with pytest.raises(LeaseLost):
        lease.renew_once(Figures())
    wire.now_s = 0.0
    assert not lease.is_good, "and no clock that goes back"


def test_a_claim_whose_answer_comes_too_late_is_none(wire: Slow) -> None:
    lease = wire.lease()
    wire.after = wire.later(LASTS_S)
    with pytest.raises(LeaseLost):
        lease.claim("s")


def test_a_renewal_that_does_not_arrive_costs_nothing_before_time_is_up(wire: Slow) -> None:
    lease = wire.lease()
    wire.before = fail
    wire.now_s = 3.0
    with pytest.raises(LeaseUnreachable):
        lease.renew_once(Figures())
    lease.check()
    wire.before = wire.later(0)
    assert lease.renew_once(Figures(1, 2, 3)) is False
    assert wire.table.engines()[0].figures == Figures(1, 2, 3)
    wire.table.drain("name of one")
    assert lease.renew_once(Figures()) is True


def test_what_the_table_refuses_is_lost_at_once(wire: Slow) -> None:
    lease = wire.lease()
    wire.table.retire("one")  # as when another engine took something from it
    with pytest.raises(LeaseLost):
        lease.renew_once(Figures())
    assert not lease.is_good


def test_an_id_is_used_once(wire: Slow) -> None:
    wire.lease()
    with pytest.raises(LeaseLost):
        wire.lease()


def test_sandboxes_go_from_hand_to_hand(wire: Slow) -> None:
    one, other = wire.lease(), wire.lease("other")
    held = one.claim("s")
    assert held == Held("s", held.fence, is_clean=True)
    with pytest.raises(HeldElsewhere):
        other.claim("s")
    one.give_back("s", is_clean=False)
    assert not other.claim("s").is_clean
    other.forget("s")
    assert one.claim("s").is_clean


def test_without_a_lease_nothing_is_asked(wire: Slow) -> None:
    lease = wire.lease()
    held = lease.claim("s")
    wire.now_s = LASTS_S
    for ask in (lease.retire, lambda: lease.give_back("s"), lambda: lease.forget("s"), lambda: lease.claim("t")):
        with pytest.raises(LeaseLost):
            ask()
    assert wire.table.claim("s", "one") == held
