"""The state of a sandbox at a past event, for API and pages."""

from queueviz import engine
from queueviz.access import hidden_names, policy
from queueviz.access.rate_limits import Rate
from queueviz.access.visitor import Visitor
from queueviz.boards.replay import StateAnswer
from sandbox.control.limits import HostLimits
from sandbox.queries.rows.snapshot import Snapshot

LIMITS = HostLimits()
STATES = Rate(LIMITS.states_per_s, LIMITS.states_per_s, what="states")


def state(visitor: Visitor, slug: str, at: int | None) -> StateAnswer:
    """Return the state at event `at`, or at the newest event if it is None.  Raises `NotFound`, `ActionRefused`."""
    sandbox = policy.sandbox_for(visitor, slug, "see")
    STATES.demand(policy.counted_as(visitor))
    past = engine.answer(engine.port().state_at(slug, at), engine.PAST_PATIENCE_S)
    own = hidden_names.shown({**past.snapshot["sandbox"], "slug": slug, "name": sandbox.name})
    whole: Snapshot = {**past.snapshot, "sandbox": own}
    return {
        "seq": str(past.seq),
        "keyframe": str(past.keyframe),
        "exact": not past.of_keyframe,
        "carried": past.carried,
        "of_keyframe": past.of_keyframe,
        "snapshot": whole,
    }
