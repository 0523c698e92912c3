"""Two engines never open one sandbox: over leases, with clocks that drift and processes that are stopped for 30 s."""

from collections import Counter
from collections.abc import Sequence
from functools import cache

import pytest

from tests.sim.lease_engine import Rules
from tests.sim.lease_world import LeaseWorld
from tests.wide import many

KNOWN_SEEDS = (
    67,  # a sandbox opened after 16 s: engines that wait for a lease to run out have to claim every second
)
SEEDS = [range(20), *many(range(first, first + 35) for first in range(20, 1_000, 35))]
WITHIN = 10  # seeds from the first one that finds it


@cache
def played(seed: int) -> tuple[Sequence[str], Counter[str]]:
    world = LeaseWorld(seed)
    return world.run(), world.checker.counts


@pytest.mark.parametrize("seeds", [*SEEDS, KNOWN_SEEDS], ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_two_engines_never_open_one_sandbox_and_nothing_acknowledged_is_lost(seeds: Sequence[int]) -> None:
    broken = {seed: violations for seed in seeds if (violations := played(seed)[0])}
    assert broken == {}


def test_the_runs_have_troubles_of_every_kind() -> None:
    counts = sum((played(seed)[1] for seed in SEEDS[0]), Counter())
    assert counts["acknowledged"] > 2_000
    assert counts["stops"] > 200
    assert counts["leases lost"] > 100
    assert counts["taken"] > 100
    assert counts["late writes"] > 1, "to files that another engine has copied"


def test_a_run_is_its_seed() -> None:
    again = LeaseWorld(3)
    assert (again.run(), again.checker.counts) == played(3)
    assert again.checker.counts != played(4)[1]


@pytest.mark.parametrize(
    ("rules", "finding", "first"),
    [
        pytest.param(Rules(margin_s=0.0), "may both write to", 0, id="no margin"),
        pytest.param(Rules(counts_from_sending=False), "may both write to", 45, id="validity counts from the answer"),
        pytest.param(
            Rules(checks_before_acknowledging=False),
            "acknowledged and in none",
            7,
            id="no look at the lease before an acknowledgement",
        ),
        pytest.param(Rules(copies=False), "has opened", 7, id="what was not given back is opened as it is"),
        pytest.param(Rules(numbers_copies=False), "are lost", 2, id="one name for all copies"),
        pytest.param(
            Rules(checks_before_discarding=False), "are lost", 11, id="no look before older files are removed"
        ),
        pytest.param(Rules(says_uncopied=False), "has opened", 59, id="what was never copied is given back as clean"),
        pytest.param(Rules(opens_own=False), "has opened", 1, id="a copy that came later is opened"),
        pytest.param(Rules(table_lease_s=20.0), "is open nowhere", 12, id="a table that waits too long"),
    ],
)
def test_a_planted_fault_is_found(rules: Rules, finding: str, first: int) -> None:
    seeds = range(first, first + WITHIN)
    found = next((seed for seed in seeds for said in LeaseWorld(seed, rules).run() if finding in said), None)
    assert found is not None, f"{len(seeds)} seeds found nothing"
    assert played(found)[0] == [], "without the fault nothing is wrong"
