"""Branches of a sandbox: a sandbox of one's own that was the same run up to an event (docs/branches.md)."""

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
    """Begin to make a branch of the visible run.  Raises `NotFound`, `Forbidden`, `ActionRefused`."""
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
    """Raises ActionRefused (409) while a lab of a course or an exam is in progress: a second run of it would be a
    place to try answers, without the teacher's pace; and until the scores of its course are released.  Teachers may.
    Wakes the sandbox.
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
    """Return the progress of a branch: `state`, `progress` from 0 to 1, `failed`."""
    row: HostedRow | None = engine.answer(engine.port().status())["sandboxes"].get(slug)
    if row is None:
        raise ActionRefused(404, "Sandbox {slug} does not exist.", "It may have expired.", slug=slug)
    return row
