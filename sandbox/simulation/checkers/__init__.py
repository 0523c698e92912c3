"""The invariants of a run.  Each checker is a pure function from `Observed` to a list of `Violation`s.

docs/simulation.md names the guarantee behind each and its source in RocketMQ.
"""

from sandbox.simulation.checkers.calm import check_calm
from sandbox.simulation.checkers.delivered import check_delivered
from sandbox.simulation.checkers.offsets import check_offsets
from sandbox.simulation.checkers.order import check_order
from sandbox.simulation.checkers.owners import check_owners
from sandbox.simulation.checkers.resets import check_resets
from sandbox.simulation.checkers.stored import check_stored
from sandbox.simulation.observed import Observed
from sandbox.simulation.violation import Violation

CHECKERS = (check_stored, check_delivered, check_owners, check_order, check_offsets, check_resets, check_calm)


def check(observed: Observed) -> list[Violation]:
    return [violation for checker in CHECKERS for violation in checker(observed)]
