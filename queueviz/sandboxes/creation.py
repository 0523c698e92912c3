"""The creation of sandboxes: by a visitor, for a course, as a branch, from a reproducible link or a counterexample.

Each creation first deletes a few sandboxes that are past their retention.
"""

from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from typing import NamedTuple

from django.utils import timezone

from queueviz import engine
from queueviz.access import creation_limits, policy
from queueviz.access.database_limits import one_at_a_time
from queueviz.access.visitor import Visitor
from queueviz.models import Grant, Sandbox
from queueviz.sandboxes import initial_histories, ownership
from queueviz.slugs import IN_BROWSER, new_slug
from sandbox.control.branch_orders import BranchOrder, RecipeOrder, RunOrder
from sandbox.kernel.errors import ActionRefused, SandboxError
from sandbox.queries.rows.host import OpenedRow

RESTORABLE = timedelta(days=7)  # after expiry; then the directory goes
BRANCH_SIGN = 22  # of a branch's name: where it begins


class TooManyOwned(ActionRefused):
    """The error if the visitor has the largest number of sandboxes allowed, and must delete one."""


class Created(NamedTuple):
    """A new sandbox.  `token` is shown only now; only its digest is stored."""

    sandbox: Sandbox
    token: str


def create(
    visitor: Visitor,
    template: str,
    *,
    preset: str = "sandbox",
    name: str = "",
    history: bool = True,
    changes: dict[str, object] | None = None,
    seed: str | None = None,
) -> Created:
    """Create a sandbox owned by the visitor.  Raises `ActionRefused`: 429 at a limit, 422 for an unknown template.

    `changes`: keys of the preset to change.  `seed`: None: drawn.  `history`: the sandbox begins
    with the recorded history of its template.  If there is none yet, the server starts to make one for later sandboxes.
    """
    sandbox = Sandbox(name=name, template=template, preset=preset)
    made = _make_owned(
        visitor,
        sandbox,
        lambda slug: engine.port().create(slug, template, preset=preset, seed=seed, history=history, changes=changes),
    )
    if history:
        initial_histories.wish(template, preset)
    return made


def create_granted(
    visitor: Visitor,
    sandbox: Sandbox,
    grants: Callable[[Sandbox], list[Grant]],
    *,
    changes: dict[str, object] | None = None,
    seed: str | None = None,
) -> Sandbox:
    """Create a sandbox of a course, without an owner: `grants` returns its rights.  Raises as `create`.

    The creation counts for the course, not for the visitor.  `seed`: None: drawn.
    """

    def give() -> None:
        Grant.objects.bulk_create(grants(sandbox))

    counted = creation_limits.counted(visitor, sandbox.course)._replace(visitor="")
    return _make(
        visitor,
        sandbox,
        lambda slug: engine.port().create(
            slug, sandbox.template, preset=sandbox.preset, seed=seed, history=False, changes=changes
        ),
        give,
        counted,
    )


def record_granted(visitor: Visitor, sandbox: Sandbox, grants: Callable[[Sandbox], list[Grant]]) -> Sandbox:
    """Create the row of a course's sandbox that runs in a student's browser.  Raises as `create_granted`."""

    def begin(slug: str) -> Future[OpenedRow]:
        return engine.port().begin_in_browser(slug)

    def give() -> None:
        Grant.objects.bulk_create(grants(sandbox))

    counted = creation_limits.counted(visitor, sandbox.course)._replace(visitor="")
    return _make(visitor, sandbox, begin, give, counted, slug=IN_BROWSER + new_slug())


def branch(visitor: Visitor, parent: Sandbox, order: BranchOrder) -> Created:
    """Start to create a branch of the parent's run, owned by the visitor and as private as the parent.

    Raises `ActionRefused`: 429 at a limit, 404, 409, 422 as `EnginePort.branch`.
    """
    name = f"{parent.label[: ownership.NAME_LENGTH - BRANCH_SIGN]} · #{order.at}"
    sandbox = Sandbox(
        name=name,
        template=parent.template,
        preset=parent.preset,
        seed=parent.seed,
        branch_of=parent.slug,
        branch_at=order.at,
        visibility=parent.visibility,
    )
    return _make_owned(visitor, sandbox, lambda slug: engine.port().branch(slug, order))


def from_recipe(visitor: Visitor, parent: Sandbox, order: RecipeOrder) -> Created:
    """Start to create a sandbox owned by the visitor: a run of the parent's template with the order's seed.

    Raises as `branch`.
    """
    name = f"{parent.label[: ownership.NAME_LENGTH - BRANCH_SIGN]} · {order.seed[:18]}"
    sandbox = Sandbox(name=name, template=parent.template, preset=parent.preset)
    return _make_owned(visitor, sandbox, lambda slug: engine.port().branch(slug, order))


def from_run(visitor: Visitor, order: RunOrder, *, name: str = "") -> Created:
    """Start to create a sandbox owned by the visitor from the run in a reproducible link.

    Raises as `branch`, without 404.
    """
    sandbox = Sandbox(
        name=name or f"{order.template} · {order.seed[:18]}", template=order.template, preset=order.preset
    )
    return _make_owned(visitor, sandbox, lambda slug: engine.port().branch(slug, order))


def _make_owned(visitor: Visitor, sandbox: Sandbox, begin: Callable[[str], Future[OpenedRow]]) -> Created:
    made = _make(
        visitor,
        sandbox,
        begin,
        lambda: policy.remember(visitor, sandbox),
        creation_limits.counted(visitor),
        lambda: _demand_room(visitor),
    )
    return Created(made, ownership.new_token(made))


def _make(
    visitor: Visitor,
    sandbox: Sandbox,
    begin: Callable[[str], Future[OpenedRow]],
    give: Callable[[], None],
    counted: creation_limits.Counted,
    demand: Callable[[], None] = lambda: None,
    *,
    slug: str | None = None,
) -> Sandbox:
    """Create the sandbox's row, grants and directory.

    `demand` raises if there is no room; `give` adds the grants, once the row exists.  `slug`: None: a new one.
    """
    slug, now = slug or new_slug(), timezone.now()
    with one_at_a_time("create"):  # the place is taken before the engine makes anything, which takes long
        demand()
        creation_limits.demand(counted)
        row = ownership.record(
            visitor,
            creation_limits.CREATE,
            slug,
            counted=counted,
            template=sandbox.template,
            preset=sandbox.preset,
            **({"branch_of": sandbox.branch_of, "at": sandbox.branch_at} if sandbox.branch_of else {}),
        )
        sandbox.slug, sandbox.name = slug, sandbox.name or slug
        sandbox.visited_at, sandbox.expires_at = now, policy.expiry_of(sandbox, now)
        sandbox.save()
        give()
    try:
        _sweep()
        _open(slug, begin)
    except BaseException:
        row.delete()
        sandbox.delete()
        raise
    return sandbox


def _demand_room(visitor: Visitor) -> None:
    owned = policy.owned_count(visitor)
    allowed = ownership.LIMITS.sandboxes_per_account if visitor.is_signed_in else ownership.LIMITS.sandboxes_per_visitor
    if owned >= allowed:
        raise TooManyOwned(
            429,
            "You have {owned} sandboxes; {allowed} are allowed.",
            "Delete a sandbox, then start a new one.",
            owned=owned,
            allowed=allowed,
        )


def _open(slug: str, begin: Callable[[str], Future[OpenedRow]]) -> None:
    """Make the sandbox's directory and its actors with `begin`; both are removed if that fails."""
    try:
        engine.answer(begin(slug), engine.OPENING_PATIENCE_S)
    except SandboxError:
        engine.port().delete(slug)  # unknown to the engine or half made: either way no one waits for it
        raise


def _sweep() -> None:
    """Delete sandboxes that expired a week ago.  Each creation calls this."""
    gone = Sandbox.objects.filter(of_host=False, expires_at__lt=timezone.now() - RESTORABLE)
    for sandbox in gone[:5]:  # a few at a time: a visitor is waiting for a new one
        try:
            ownership.remove_directory(sandbox.slug)
        except SandboxError:
            continue  # the next creation tries again
        sandbox.delete()
