"""Branches of a sandbox: a new sandbox with the same run up to an event (docs/branches.md)."""

from collections.abc import Iterable, Mapping

from queueviz import engine
from queueviz.access import policy
from queueviz.access.visitor import Visitor
from queueviz.courses import releases
from queueviz.sandboxes import creation, visitor_actions
from sandbox.control.actions import Action, parse_action
from sandbox.control.branch_orders import BranchOrder
from sandbox.control.rights import allows
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.rows.host import HostedRow


def branch(
    visitor: Visitor,
    slug: str,
    *,
    at: int,
    without: Iterable[int] = (),
    instead: Mapping[int, Mapping[str, object]] | None = None,
) -> creation.Created:
    """Start to create a branch of the sandbox and return it.  Raises `NotFound`, `Forbidden`, `ActionRefused`.

    `without` and `instead`: actions left out and replaced, by number.
    """
    visit = policy.visit_at(visitor, slug, "see")
    parent = policy.ours(visit)
    demand_answers_given(visit)
    visitor_actions.ACTIONS.demand(policy.counted_as(visitor))
    changes: dict[int, Action | None] = dict.fromkeys(without)
    for seq, fields in (instead or {}).items():
        changes[seq] = action = parse_action(fields)
        if not allows("owner", action):
            raise policy.forbidden(visitor, visit)
    return creation.branch(visitor, parent, BranchOrder(parent=slug, at=at, changes=changes))


def demand_answers_given(visit: policy.Visit) -> None:
    """Raise ActionRefused (409) while the visitor may not replay the sandbox because of its lab.

    This holds while a lab of a course or an exam is in progress: a student could try answers in a second run,
    without the teacher's pace.  It also holds until the scores of the course are released.  Teachers may always
    replay.  The call wakes the sandbox.
    """
    sandbox = policy.ours(visit)
    if visit.may("grade"):
        return
    try:
        lab = engine.lab_of(sandbox.slug)
    except ActionRefused:  # it is asleep
        engine.answer(engine.port().wake(sandbox.slug), engine.OPENING_PATIENCE_S)
        lab = engine.lab_of(sandbox.slug)
    if lab is None:
        return
    if not lab["finished"] and (lab["exam"] or sandbox.course_id is not None):
        raise ActionRefused(409, "A run cannot be replayed while its lab is in progress.", "Finish the lab first.")
    if not visit.sees_scores:  # the run that is played again would show its own
        raise releases.withheld()


def state(slug: str) -> HostedRow:
    """Return the progress of a branch: `state`, `progress` from 0 to 1, `failed`.  Raises ActionRefused (404)."""
    row: HostedRow | None = engine.answer(engine.port().status())["sandboxes"].get(slug)
    if row is None:
        raise ActionRefused(404, "Sandbox {slug} does not exist.", "The sandbox may have expired.", slug=slug)
    return row
