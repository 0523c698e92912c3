"""The simulation finds what it is for: bugs put into the engine on purpose, each within two hundred seeds."""

import pytest

from sandbox.hosting.simulation.run import run_seed
from sandbox.hosting.simulation.violation import Violation
from tests.sim.planted import (
    Planted,
    answered_before_the_flush,
    failure_passed_over,
    largest_offset_committed,
    lock_given_to_anybody,
    lock_trusted_for_ever,
    reset_overwritten,
)

SEEDS = range(200)


def found(promise: str, profile: str) -> tuple[int, Violation]:
    """The first seed that breaks the promise, and how."""
    for seed in SEEDS:
        for violation in run_seed(seed, profile=profile).violations:
            if violation.promise == promise:
                return seed, violation
    raise AssertionError(f"{len(SEEDS)} seeds and nobody noticed")


@pytest.mark.parametrize(("plant", "promise", "profile"), [
    pytest.param(largest_offset_committed, "committed", "concurrent", id="the largest offset is committed"),
    pytest.param(largest_offset_committed, "at least once", "concurrent", id="and so a message is never delivered"),
    pytest.param(lock_trusted_for_ever, "owners", "orderly", id="a member trusts an expired lock"),
    pytest.param(lock_given_to_anybody, "owners", "orderly", id="a broker gives a lock that has not expired"),
    pytest.param(reset_overwritten, "reset", "reset", id="a late commit overwrites a reset"),
    pytest.param(failure_passed_over, "order", "orderly", id="a failed message is passed over"),
    pytest.param(answered_before_the_flush, "stored", "power", id="SYNC_FLUSH does not wait for the disk"),
])  # fmt: skip
def test_a_planted_bug_is_found(plant: Planted, promise: str, profile: str) -> None:
    with plant():
        seed, violation = found(promise, profile)
    assert run_seed(seed, profile=profile).violations == [], f"without the bug nothing is wrong: {violation}"
