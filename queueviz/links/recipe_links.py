"""Reproducible links: a run without its journal, in the fragment of an address (docs/sharing.md).

The server stores nothing of them: the link contains all data of the run.
"""

from typing import NamedTuple

from django.urls import reverse
from django.utils.translation import gettext

from queueviz import engine
from queueviz.access import policy
from queueviz.access.visitor import Visitor
from queueviz.sandboxes import creation, visitor_actions
from sandbox.control.actions import parse_action
from sandbox.control.branch_orders import RunOrder
from sandbox.control.limits import HostLimits
from sandbox.control.recipe_program import program_of
from sandbox.control.recipe_text import pack, unpack
from sandbox.control.rights import allows
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.incidents import with_seed

LIMITS = HostLimits()


class Made(NamedTuple):
    """A reproducible link: its path and fragment, and the range of events as a test in Python."""

    address: str
    test: str


def make(slug: str, first: int, at: int) -> Made:
    """Return the reproducible link of the run up to event `at`, with a test of events `first` to `at`.

    Raises ActionRefused: 404, 409, 422.
    """
    text = pack(engine.answer(engine.port().recipe(slug, at)), LIMITS)
    first = min(first, at)
    if at - first >= LIMITS.recipe_test_events:
        raise ActionRefused(
            422, "A test has at most {most} events.", "Choose a later first event.", most=LIMITS.recipe_test_events
        )
    entries = engine.answer(engine.port().entries(slug, first - 1, at - first + 1, longs_as_text=False))
    rows = [row for row in entries.rows if int(row["seq"]) <= at]
    return Made(f"{reverse('recipe')}#{text}", program_of(text, rows, first, at))


def text_of(pasted: str) -> str:
    """Return the text of a recipe in a pasted link, also in one of Lite (`#text:tab`), or in its part after `#`."""
    before, mark, after = pasted.strip().partition("#")
    return (after if mark else before).partition(":")[0]


def read(visitor: Visitor, text: str) -> RunOrder:
    """Return the order in a pasted text: a link, or its part after `#`.  Raises ActionRefused (422, 429)."""
    visitor_actions.ACTIONS.demand(policy.counted_as(visitor))
    order = unpack(text_of(text), LIMITS)
    for entry in order.came:
        if (
            entry.name is not None
            and entry.fields is not None
            and not allows("owner", parse_action({**entry.fields, "action": entry.name}))
        ):
            raise ActionRefused(
                422,
                "This reproducible link contains an action that is not allowed to an owner: {action}.",
                "End the reproducible link at an earlier event.",
                action=entry.name,
            )
    return order


def open_it(visitor: Visitor, order: RunOrder) -> creation.Created:
    """Start to create the visitor's own sandbox from the order and return it.  Raises as `creation.branch`."""
    incident = with_seed(order.seed)
    return creation.from_run(visitor, order, name="" if incident is None else gettext(incident.title))
