"""Actions and questions of visitors, from their fields to the engine's answer: rate, guards, engine.

Pages, htmx forms and the API all use this module, so a button and a program are refused for the same reasons.
"""

from collections.abc import Mapping

from queueviz import engine
from queueviz.access import hidden_names, policy
from queueviz.access.rate_limits import Rate
from queueviz.access.visitor import Visitor
from queueviz.clusters import cluster_resets
from queueviz.sandboxes import demo, guards
from sandbox.control.actions import parse_action
from sandbox.control.limits import SandboxLimits
from sandbox.control.questions import LabState, parse_question
from sandbox.control.rights import Actor
from sandbox.queries.rows.labs import view_without_score

LIMITS = SandboxLimits()

ACTIONS = Rate(LIMITS.actions_per_s, LIMITS.actions_per_s, what="actions")
QUESTIONS = Rate(LIMITS.questions_per_s, LIMITS.questions_per_s, what="questions")


def act(visitor: Visitor, slug: str, fields: Mapping[str, object], *, counted: bool = True) -> int:
    """Execute the action in `fields` and return the `seq` of its `ActionTaken`.

    `counted`: the action counts for the visitor's rate limit.  Raises `NotFound`, `Forbidden`, `ActionRefused` or
    `EngineBusy`.
    """
    visit = policy.visit_at(visitor, slug, "see")
    if counted:
        ACTIONS.demand(policy.counted_as(visitor))
    action = guards.admit(visitor, visit, parse_action(fields))
    policy.note_visit(visit)
    by = Actor(role=visit.role, name=_pseudonym(visitor, visit))
    if visit.is_attached:
        return cluster_resets.act(visitor, visit, action, by)
    seq = engine.answer(engine.port().act(slug, action, by))
    if visit.sandbox.of_host:
        demo.heal_later(action)
    return seq


def ask(visitor: Visitor, slug: str, name: str, fields: Mapping[str, object]) -> dict[str, object]:
    """Return the answer to a read-only question, as this visitor may see it.  Raises as `act`."""
    visit = policy.visit_at(visitor, slug, "see")
    QUESTIONS.demand(policy.counted_as(visitor))
    question = parse_question(name, fields)
    if visit.is_attached:
        return cluster_resets.ask(visit, question)
    answer: dict[str, object] = engine.answer(engine.port().ask(slug, question))
    if isinstance(question, LabState):
        answer = answer if visit.sees_scores else dict(view_without_score(answer))
        answer = answer if visitor.link is None else hidden_names.without_teacher(answer)
    return answer


def _pseudonym(visitor: Visitor, visit: policy.Visit) -> str:
    """Return the visitor's name for the journal: the account's name, `token`, or the role; never an address."""
    if visitor.is_signed_in:
        return str(visitor.user.get_username())
    return "token" if visitor.token else visit.role
