"""The simulation finds what it is for: bugs put into the engine on purpose, each within two hundred seeds."""

import pytest

from sandbox.simulation.run import run_seed
from sandbox.simulation.violation import Violation
from tests.sim.planted import (
    Planted,
    answered_before_the_flush,
    clumsy_handler,
    failure_passed_over,
    largest_offset_committed,
    lock_given_to_anyone,
    lock_trusted_for_ever,
    queues_left_long,
    reset_overwritten,
    slave_not_awaited,
)

SEEDS = range(200)


def found(promise: str, profile: str, first: int) -> tuple[int, Violation]:
    """The first seed that breaks the promise, and how; `first` is tried before all others."""
    for seed in (first, *SEEDS):
        for violation in run_seed(seed, profile=profile).violations:
            if violation.promise == promise:
                return seed, violation
    raise AssertionError(f"{len(SEEDS)} seeds and nobody noticed")


@pytest.mark.parametrize(
    ("plant", "promise", "profile", "first"),
    [
        pytest.param(largest_offset_committed, "committed", "concurrent", 0, id="the largest offset is committed"),
        pytest.param(largest_offset_committed, "at least once", "concurrent", 13, id="and so a message never comes"),
        pytest.param(lock_trusted_for_ever, "owners", "orderly", 0, id="a member trusts an expired lock"),
        pytest.param(lock_given_to_anyone, "owners", "orderly", 1, id="a broker gives a lock that has not expired"),
        pytest.param(reset_overwritten, "reset", "reset", 0, id="a late commit overwrites a reset"),
        pytest.param(failure_passed_over, "order", "orderly", 10, id="a failed message is passed over"),
        pytest.param(answered_before_the_flush, "stored", "power", 1, id="SYNC_FLUSH does not wait for the disk"),
        pytest.param(slave_not_awaited, "stored", "power", 27, id="SYNC_MASTER does not wait for its slave"),
        pytest.param(queues_left_long, "files", "power", 3, id="recovery leaves queues beyond the log's end"),
        pytest.param(clumsy_handler, "calm", "mixed", 0, id="a handler fails"),
    ],
)
def test_a_planted_bug_is_found(plant: Planted, promise: str, profile: str, first: int) -> None:
    with plant():
        seed, violation = found(promise, profile, first)
    assert run_seed(seed, profile=profile).violations == [], f"without the bug nothing is wrong: {violation}"
