"""Ownership of sandboxes: tokens, claim links, sharing and deletion (catalogue 7 and 8).

The rows are in the database, beside the engine's directories.
"""

import secrets
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from queueviz import engine
from queueviz.access import creation_limits, policy
from queueviz.access.database_limits import one_at_a_time
from queueviz.access.digests import digest
from queueviz.access.visitor import Visitor
from queueviz.live.hubs import rights_changed
from queueviz.models import AuditRecord, Grant, Sandbox
from sandbox.control.access_keys import Keys
from sandbox.control.limits import HostLimits
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.rows.host import ListeningRow

TOKEN_PREFIX = "qv_"
TOKEN_BYTES = 32
CLAIM_LIFE = timedelta(hours=24)
NAME_LENGTH = 80
WORD_LENGTH = 32  # of a template and a preset, as their columns
KEY_PREFIX = "qv-"
ACCESS_KEY_BYTES = 8
DEMO_SLUG = "landing"
DEMO_TEMPLATE = "flights"
LIMITS = HostLimits()
USED_UP = "This owner link was already used, was ended, or is expired."
GIVEN_OUT = {Grant.Kind.TOKEN: "API tokens", Grant.Kind.CLAIM: "claim links"}


def new_token(sandbox: Sandbox, *, label: str = "") -> str:
    """Create an API token with the role owner for this sandbox and return it.

    Raises `ActionRefused` (429) if the sandbox has too many.
    """
    token = TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    with one_at_a_time(f"grants of {sandbox.slug}"):
        _demand_few(sandbox, Grant.Kind.TOKEN)
        Grant.objects.create(sandbox=sandbox, kind=Grant.Kind.TOKEN, role="owner", digest=digest(token), label=label)
    return token


def revoke(visitor: Visitor, sandbox: Sandbox) -> int:
    """Revoke every API token and every claim link of the sandbox; return their number.

    Visitors who claimed it before stay owners.
    """
    given_out = sandbox.grants.filter(policy.live_grants(timezone.now()), kind__in=GIVEN_OUT)
    ended = given_out.update(revoked_at=timezone.now())
    record(visitor, "revoke", sandbox.slug, ended=ended)
    rights_changed(sandbox.slug)
    return ended


def claim_link(visitor: Visitor, sandbox: Sandbox) -> str:
    """Return a one-time token that makes its user an owner, too.

    Raises `ActionRefused` (429) if the sandbox has too many.
    """
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
    """Return the sandbox of a claim link.  Raises `NotFound` if the link was used, has expired or never existed."""
    return _claim(token).sandbox


def claim(visitor: Visitor, token: str) -> Sandbox:
    """Make the visitor an owner, too, and invalidate the link.  An owner who opens it does not use it up.

    Raises `NotFound`, or `ActionRefused` (409) for a visitor that cannot be an owner: the link stays valid.
    """
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
    """Rename the sandbox, or change its visibility.  If it is made private, its live and fork links end for good."""
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
    """Restart the sandbox's time to live from now."""
    sandbox.visited_at = timezone.now()
    sandbox.expires_at = policy.expiry_of(sandbox, sandbox.visited_at)
    sandbox.save(update_fields=["visited_at", "expires_at"])
    record(visitor, "extend", sandbox.slug)


def open_listener(visitor: Visitor, sandbox: Sandbox) -> ListeningRow:
    """Open the ports to real clients.  Raises `ActionRefused`: 409 a port is taken, 503 the sandbox sleeps."""
    listener = engine.answer(engine.port().open_listener(sandbox.slug), engine.OPENING_PATIENCE_S)
    record(visitor, "listen", sandbox.slug, name_servers=listener["name_servers"])
    return listener


def close_listener(visitor: Visitor, sandbox: Sandbox) -> ListeningRow:
    """Close the ports, and disconnect the clients."""
    listener = engine.answer(engine.port().close_listener(sandbox.slug), engine.OPENING_PATIENCE_S)
    record(visitor, "unlisten", sandbox.slug)
    return listener


def make_keys(visitor: Visitor, sandbox: Sandbox) -> Keys:
    """Create new access keys; from now on real clients must sign with them.

    Raises `ActionRefused`: 503 the sandbox sleeps.
    """
    keys = Keys(KEY_PREFIX + secrets.token_hex(ACCESS_KEY_BYTES), secrets.token_urlsafe(TOKEN_BYTES))
    engine.answer(engine.port().set_keys(sandbox.slug, keys))
    record(visitor, "keys", sandbox.slug, access_key=keys.access_key)
    return keys


def drop_keys(visitor: Visitor, sandbox: Sandbox) -> None:
    """Delete the access keys: clients need not sign any more.

    Raises `ActionRefused`: 409 other machines reach its ports, 503 the sandbox sleeps.
    """
    engine.answer(engine.port().set_keys(sandbox.slug, None))
    record(visitor, "no-keys", sandbox.slug)


def delete(visitor: Visitor, sandbox: Sandbox) -> None:
    """Delete the sandbox for good: the directory first, then the row."""
    remove_directory(sandbox.slug)
    record(visitor, "delete", sandbox.slug)
    sandbox.delete()
    rights_changed(sandbox.slug)


def demo_sandbox() -> Sandbox:
    """Return the demo sandbox of the host.  The first visit creates it, later ones wake it."""
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
    """Return the slug of the demo sandbox, or None if no visit has created it.  This opens nothing."""
    return DEMO_SLUG if Sandbox.objects.filter(slug=DEMO_SLUG).exists() else None


def record(
    visitor: Visitor, what: str, slug: str, *, counted: creation_limits.Counted | None = None, **details: object
) -> AuditRecord:
    """Write one audit record, without a person's address, and return it.

    `counted`: the keys under which it counts, if not the address alone.
    """
    by = counted or creation_limits.Counted("", visitor.origin, None)
    return AuditRecord.objects.create(
        slug=slug, what=what, who=called(visitor), origin=by.origin, visitor=by.visitor, details=details
    )


def called(visitor: Visitor) -> str:
    """Return the visitor's name for records: that of the account, or the kind of access."""
    return str(visitor.user)[:80] if visitor.is_signed_in else ("token" if visitor.token else "anonymous")


def records_of(slug: str, most: int = 50) -> list[AuditRecord]:
    """Return the newest audit records of the sandbox."""
    return list(AuditRecord.objects.filter(slug=slug).order_by("-pk")[:most])


def _demand_few(sandbox: Sandbox, kind: Grant.Kind) -> None:
    """Raise ActionRefused (429) if the sandbox has too many valid grants of this kind."""
    if sandbox.grants.filter(policy.live_grants(timezone.now()), kind=kind).count() >= LIMITS.tokens_per_sandbox:
        raise ActionRefused(
            429,
            "This sandbox already has {allowed} {what}.",
            "Revoke all tokens and links in the settings, then create new ones.",
            allowed=LIMITS.tokens_per_sandbox,
            what=GIVEN_OUT[kind],
        )


def remove_directory(slug: str) -> None:
    """Delete the sandbox's directory, if it exists.  It may have been removed by hand."""
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
