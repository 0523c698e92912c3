"""The state of a sandbox at a past event, for API and pages."""

from queueviz import engine
from queueviz.access import policy
from queueviz.access.rate_limits import Rate
from queueviz.access.visitor import Visitor
from queueviz.boards.api_bodies import state_body
from queueviz.boards.replay import StateAnswer
from sandbox.control.limits import HostLimits

LIMITS = HostLimits()
STATES = Rate(LIMITS.states_per_s, LIMITS.states_per_s, what="states")


def state(visitor: Visitor, slug: str, at: int | None) -> StateAnswer:
    """Return the state at event `at`, or at the newest event if it is None.  Raises `NotFound`, `ActionRefused`."""
    sandbox = policy.sandbox_for(visitor, slug, "see")
    STATES.demand(policy.counted_as(visitor))
    past = engine.answer(engine.port().state_at(slug, at), engine.PAST_PATIENCE_S)
    return state_body(past, slug, sandbox.name)
