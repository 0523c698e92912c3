"""Making, sharing and ending sandboxes: the rows beside the engine's directories (catalogue 7 and 8)."""

import secrets
from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from queueviz import engine
from queueviz.access import creation_limits, policy
from queueviz.access.database_limits import one_at_a_time
from queueviz.access.visitor import Visitor, digest
from queueviz.live.hubs import rights_changed
from queueviz.models import AuditRecord, Grant, Sandbox
from queueviz.sandboxes import initial_histories
from queueviz.slugs import new_slug
from sandbox.control.access_keys import Keys
from sandbox.control.branch_orders import BranchOrder, RecipeOrder, RunOrder
from sandbox.control.limits import HostLimits
from sandbox.kernel.errors import ActionRefused, SandboxError
from sandbox.queries.rows.host import ListeningRow, OpenedRow

TOKEN_PREFIX = "qv_"
TOKEN_BYTES = 32
CLAIM_LIFE = timedelta(hours=24)
RESTORABLE = timedelta(days=7)  # after expiry; then the directory goes
NAME_LENGTH = 80
WORD_LENGTH = 32  # of a template and a preset, as their columns
BRANCH_SIGN = 22  # of a branch's name: where it begins
KEY_PREFIX = "qv-"
ACCESS_KEY_BYTES = 8
DEMO_SLUG = "landing"
DEMO_TEMPLATE = "flights"
LIMITS = HostLimits()
USED_UP = "This link was already used, was ended, or is expired."
GIVEN_OUT = {Grant.Kind.TOKEN: "API tokens", Grant.Kind.CLAIM: "claim links"}


class TooManyOwned(ActionRefused):
    """The visitor has as many sandboxes as one may: delete one."""


class Created(NamedTuple):
    """`token` is shown this once; only its digest is kept."""

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
) -> Created:
    """A new sandbox of the visitor's.  Raises `ActionRefused`: 429 at a limit, 422 for an unknown template.

    `changes`: keys of the preset.  `history`: it begins with that of its template; where there is none, one is made
    for those that come after it.
    """
    sandbox = Sandbox(name=name, template=template, preset=preset)
    made = _make_owned(
        visitor,
        sandbox,
        lambda slug: engine.port().create(slug, template, preset=preset, history=history, changes=changes),
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
) -> Sandbox:
    """Create a sandbox of a course, without an owner: `grants` are its rights.  Raises as `create`.

    It counts as one of the course's creations, not of the visitor's."""

    def give() -> None:
        Grant.objects.bulk_create(grants(sandbox))

    counted = creation_limits.counted(visitor, sandbox.course)._replace(visitor="")
    return _make(
        visitor,
        sandbox,
        lambda slug: engine.port().create(
            slug, sandbox.template, preset=sandbox.preset, history=False, changes=changes
        ),
        give,
        counted,
    )


def branch(visitor: Visitor, parent: Sandbox, order: BranchOrder) -> Created:
    """Begin to make a sandbox of the visitor's from the parent's run, as private as the parent.

    Raises `ActionRefused`: 429 at a limit, 404, 409, 422 as `EnginePort.branch`."""
    name = f"{parent.label[: NAME_LENGTH - BRANCH_SIGN]} · #{order.at}"
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
    """A new sandbox of the visitor's: a run of the parent's template with that seed.  Raises as `branch`."""
    name = f"{parent.label[: NAME_LENGTH - BRANCH_SIGN]} · {order.seed[:18]}"
    sandbox = Sandbox(name=name, template=parent.template, preset=parent.preset)
    return _make_owned(visitor, sandbox, lambda slug: engine.port().branch(slug, order))


def from_run(visitor: Visitor, order: RunOrder, *, name: str = "") -> Created:
    """A new sandbox of the visitor's: a run that was handed on as a text.  Raises as `branch`, without 404."""
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
    return Created(made, new_token(made))


def _make(
    visitor: Visitor,
    sandbox: Sandbox,
    begin: Callable[[str], Future[OpenedRow]],
    give: Callable[[], None],
    counted: creation_limits.Counted,
    demand: Callable[[], None] = lambda: None,
) -> Sandbox:
    """Make a sandbox.  `demand` raises if there is no room; `give` adds the grants, once the row exists."""
    slug, now = new_slug(), timezone.now()
    with one_at_a_time("create"):  # the place is taken before the engine makes anything, which takes long
        demand()
        creation_limits.demand(counted)
        row = record(
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


def new_token(sandbox: Sandbox, *, label: str = "") -> str:
    """An API token for this sandbox, role owner.  Raises `ActionRefused`: 429 it has enough of them."""
    token = TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    with one_at_a_time(f"grants of {sandbox.slug}"):
        _demand_few(sandbox, Grant.Kind.TOKEN)
        Grant.objects.create(sandbox=sandbox, kind=Grant.Kind.TOKEN, role="owner", digest=digest(token), label=label)
    return token


def revoke(visitor: Visitor, sandbox: Sandbox) -> int:
    """End every API token and every claim link of the sandbox; visitors who claimed it before stay owners."""
    given_out = sandbox.grants.filter(policy.live_grants(timezone.now()), kind__in=GIVEN_OUT)
    ended = given_out.update(revoked_at=timezone.now())
    record(visitor, "revoke", sandbox.slug, ended=ended)
    rights_changed(sandbox.slug)
    return ended


def claim_link(visitor: Visitor, sandbox: Sandbox) -> str:
    """Return a one-time token that makes its user an owner, too.  Raises `ActionRefused`: 429 it has enough of them."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    with one_at_a_time(f"grants of {sandbox.slug}"):
        _demand_few(sandbox, Grant.Kind.CLAIM)
        Grant.objects.create(
            sandbox=sandbox,
            kind=Grant.Kind.CLAIM,
            role="owner",
            digest=digest(token),
            expires_at=timezone.now() + CLAIM_LIFE,
        )
    record(visitor, "claim-link", sandbox.slug)
    return token


def claimable(token: str) -> Sandbox:
    """The sandbox a claim link is for; raises `NotFound` where it was used, has expired or never was."""
    return _claim(token).sandbox


def claim(visitor: Visitor, token: str) -> Sandbox:
    """Use up the link and make the visitor an owner, too.  An owner who opens it does not use it up.

    Raises `NotFound`, or `ActionRefused` (409) for a visitor that cannot be an owner: the link stays good."""
    with transaction.atomic():
        grant = _claim(token)
        if policy.owns(visitor, grant.sandbox):
            return grant.sandbox
        if visitor.token is not None:
            raise ActionRefused(
                409, "A program with a token cannot become an owner of a sandbox.", "Open the link in a browser."
            )
        now = timezone.now()
        if not Grant.objects.filter(pk=grant.pk, revoked_at__isnull=True).update(revoked_at=now):
            raise policy.NotFound(USED_UP)  # by another visitor, just now
        policy.remember(visitor, grant.sandbox)
        record(visitor, "claim", grant.sandbox.slug)
    return grant.sandbox


def change(visitor: Visitor, sandbox: Sandbox, *, name: str | None = None, visibility: str | None = None) -> None:
    """Rename it, or change its visibility.  If it is made private, its live and fork links end for good."""
    if name:
        sandbox.name = name[:80]
    if visibility in Sandbox.Visibility.values:
        sandbox.visibility = visibility
    sandbox.save(update_fields=["name", "visibility"])
    if sandbox.visibility == Sandbox.Visibility.PRIVATE:
        to_it = sandbox.grants.filter(kind__in=Grant.TO_SANDBOX, revoked_at__isnull=True)
        to_it.update(revoked_at=timezone.now())
    record(visitor, "change", sandbox.slug, name=sandbox.name, visibility=sandbox.visibility)
    rights_changed(sandbox.slug)


def extend(visitor: Visitor, sandbox: Sandbox) -> None:
    """A whole life from now on."""
    sandbox.visited_at = timezone.now()
    sandbox.expires_at = policy.expiry_of(sandbox, sandbox.visited_at)
    sandbox.save(update_fields=["visited_at", "expires_at"])
    record(visitor, "extend", sandbox.slug)


def open_listener(visitor: Visitor, sandbox: Sandbox) -> ListeningRow:
    """Let real clients in.  Raises `ActionRefused`: 409 a port is taken, 503 it sleeps."""
    listener = engine.answer(engine.port().open_listener(sandbox.slug), engine.OPENING_PATIENCE_S)
    record(visitor, "listen", sandbox.slug, name_servers=listener["name_servers"])
    return listener


def close_listener(visitor: Visitor, sandbox: Sandbox) -> ListeningRow:
    """Close the ports, and disconnect the clients."""
    listener = engine.answer(engine.port().close_listener(sandbox.slug), engine.OPENING_PATIENCE_S)
    record(visitor, "unlisten", sandbox.slug)
    return listener


def make_keys(visitor: Visitor, sandbox: Sandbox) -> Keys:
    """Make the only keys real clients sign with from now on.  Raises `ActionRefused`: 503 it sleeps."""
    keys = Keys(KEY_PREFIX + secrets.token_hex(ACCESS_KEY_BYTES), secrets.token_urlsafe(TOKEN_BYTES))
    engine.answer(engine.port().set_keys(sandbox.slug, keys))
    record(visitor, "keys", sandbox.slug, access_key=keys.access_key)
    return keys


def drop_keys(visitor: Visitor, sandbox: Sandbox) -> None:
    """Drop the keys: clients sign no more.  Raises `ActionRefused`: 409 other machines reach its ports, 503 it
    sleeps."""
    engine.answer(engine.port().set_keys(sandbox.slug, None))
    record(visitor, "no-keys", sandbox.slug)


def delete(visitor: Visitor, sandbox: Sandbox) -> None:
    """End it for good: directory first, then the row."""
    _remove_directory(sandbox.slug)
    record(visitor, "delete", sandbox.slug)
    sandbox.delete()
    rights_changed(sandbox.slug)


def demo_sandbox() -> Sandbox:
    """The host's own sandbox, opened with the first visit and woken by later ones."""
    now = timezone.now()
    sandbox, _ = Sandbox.objects.get_or_create(
        slug=DEMO_SLUG,
        defaults={"name": "Flights", "template": DEMO_TEMPLATE, "of_host": True, "visited_at": now},
    )
    port = engine.port()
    try:
        engine.answer(port.wake(DEMO_SLUG), engine.OPENING_PATIENCE_S)
    except ActionRefused as refused:
        if refused.status != 404:
            raise
        engine.answer(port.create(DEMO_SLUG, DEMO_TEMPLATE, history=True), engine.OPENING_PATIENCE_S)
    return sandbox


def demo_slug() -> str | None:
    """The host's own sandbox, if it was visited; opens nothing."""
    return DEMO_SLUG if Sandbox.objects.filter(slug=DEMO_SLUG).exists() else None


def record(
    visitor: Visitor, what: str, slug: str, *, counted: creation_limits.Counted | None = None, **details: object
) -> AuditRecord:
    """Write one line of the audit, without a person's address.  `counted`: its keys, if not the address alone."""
    by = counted or creation_limits.Counted("", visitor.origin, None)
    return AuditRecord.objects.create(
        slug=slug, what=what, who=called(visitor), origin=by.origin, visitor=by.visitor, details=details
    )


def called(visitor: Visitor) -> str:
    """Return the name for records: that of the account, or the kind of access."""
    return str(visitor.user)[:80] if visitor.is_signed_in else ("token" if visitor.token else "anonymous")


def records_of(slug: str, most: int = 50) -> list[AuditRecord]:
    """The newest lines of the audit about it."""
    return list(AuditRecord.objects.filter(slug=slug).order_by("-pk")[:most])


def _demand_room(visitor: Visitor) -> None:
    owned = policy.owned_count(visitor)
    allowed = LIMITS.sandboxes_per_account if visitor.is_signed_in else LIMITS.sandboxes_per_visitor
    if owned >= allowed:
        raise TooManyOwned(
            429,
            "You have {owned} sandboxes; {allowed} are allowed.",
            "Delete one, then start a new one.",
            owned=owned,
            allowed=allowed,
        )


def _demand_few(sandbox: Sandbox, kind: Grant.Kind) -> None:
    """Refuse another grant of this kind if the sandbox has too many live ones."""
    if sandbox.grants.filter(policy.live_grants(timezone.now()), kind=kind).count() >= LIMITS.tokens_per_sandbox:
        raise ActionRefused(
            429,
            "This sandbox already has {allowed} {what}.",
            "End them in the settings, then create new ones.",
            allowed=LIMITS.tokens_per_sandbox,
            what=GIVEN_OUT[kind],
        )


def _open(slug: str, begin: Callable[[str], Future[OpenedRow]]) -> None:
    """Make its directory and its actors; both are removed if that fails."""
    try:
        engine.answer(begin(slug), engine.OPENING_PATIENCE_S)
    except SandboxError:
        engine.port().delete(slug)  # unknown to the engine or half made: either way no one waits for it
        raise


def _remove_directory(slug: str) -> None:
    """Delete the sandbox's directory, if it exists: it may have been removed by hand."""
    try:
        engine.answer(engine.port().delete(slug), engine.OPENING_PATIENCE_S)
    except ActionRefused as refused:
        if refused.status != 404:
            raise


def _claim(token: str) -> Grant:
    current = policy.live_grants(timezone.now())
    grant = Grant.objects.filter(current, kind=Grant.Kind.CLAIM, digest=digest(token)).first()
    if grant is None:
        raise policy.NotFound(USED_UP)
    return grant


def _sweep() -> None:
    """Delete sandboxes that expired a week ago, and ended courses.  It runs when room is needed: no timer."""
    from queueviz.courses import retention  # it ends sandboxes by this module

    retention.sweep()
    gone = Sandbox.objects.filter(of_host=False, expires_at__lt=timezone.now() - RESTORABLE)
    for sandbox in gone[:5]:  # a few at a time: a visitor is waiting for a new one
        try:
            _remove_directory(sandbox.slug)
        except SandboxError:
            continue  # the next creation tries again
        sandbox.delete()
