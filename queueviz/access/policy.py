"""The access policy for sandboxes and attached clusters, used by pages, actions, API and socket (catalogue 3, 8).

A name that does not exist and one that this visitor may not see get the same answer.  An unauthorized visitor learns
nothing.
"""

import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from django.contrib.auth.signals import user_logged_in
from django.core.exceptions import PermissionDenied
from django.db.models import Prefetch, Q, QuerySet
from django.dispatch import receiver
from django.http import Http404, HttpRequest
from django.utils import timezone

from queueviz.access.digests import digest
from queueviz.access.visitor import Visitor
from queueviz.courses.releases import is_released
from queueviz.models import Cluster, Grant, Sandbox
from queueviz.slugs import attached_name
from sandbox.control.actions import Action, ResetOffsets, UndoReset
from sandbox.control.rights import ROLES, VERBS, Role, allows, can
from sandbox.live.visible_parts import Sight

HOLDER = "holder"  # in a session: the secret its grants are found by
SEATS = "seats"  # in a session: course → the secret of its student's place there
HOLDER_BYTES = 32
ANONYMOUS_LIFE = timedelta(hours=24)  # after the last visit
ACCOUNT_LIFE = timedelta(days=30)
COURSE_LIFE = timedelta(days=90)  # after its end
VISIT_NOTED_EVERY = timedelta(minutes=1)  # a live page must not write a row per request
HOST_VERBS = frozenset({"see"})
ATTACHED_ACTIONS = (ResetOffsets, UndoReset)  # all that is ever done to a cluster that is not ours


class NotFound(Http404):
    """The error for a sandbox or cluster that does not exist, or that this visitor may not see."""


class Forbidden(PermissionDenied):
    """The error for an action that a visitor who may see the sandbox or cluster is not allowed to do."""


class Held(NamedTuple):
    """A credential of a visitor: it fits grants of `kind` whose field `field` has one of `values`."""

    kind: str
    field: str
    values: frozenset[Any]

    def fits(self, grant: Grant) -> bool:
        return grant.kind == self.kind and getattr(grant, self.field) in self.values

    @property
    def query(self) -> Q:
        return Q(kind=self.kind, **{f"{self.field}__in": self.values})


class Visit(NamedTuple):
    """A visitor at one sandbox or attached cluster, with its role there."""

    sandbox: Sandbox | Cluster
    role: Role

    @property
    def is_attached(self) -> bool:
        return isinstance(self.sandbox, Cluster)

    @property
    def cluster(self) -> Cluster | None:
        return self.sandbox if isinstance(self.sandbox, Cluster) else None

    def may(self, verb: str) -> bool:
        return verb in HOST_VERBS if self.sandbox.of_host else can(self.role, verb)

    def may_carry_out(self, action: Action) -> bool:
        if self.is_attached and not isinstance(action, ATTACHED_ACTIONS):
            return False
        return self.may(action.verb) and allows(self.role, action)

    @property
    def sight(self) -> Sight:
        return _sight(self.sandbox, self.role)

    @property
    def sees_scores(self) -> bool:
        """Return True if this visitor sees scores of labs.  Scores of a course are visible only after their release."""
        return self.sight is Sight.ALL

    @property
    def wakes(self) -> bool:
        """Return True if a visit of this visitor wakes a sleeping sandbox."""
        return not self.is_attached and (self.may("act") or self.sandbox.of_host)

    @property
    def can(self) -> dict[str, bool]:
        """Return every verb and whether this visitor may do it, for templates."""
        return {verb: self.may(verb) for verb in VERBS}


def sandbox_for(visitor: Visitor, slug: str, verb: str) -> Sandbox:
    """Return the sandbox if `visitor` may `verb` it.  Raises `NotFound` or `Forbidden`."""
    return ours(visit_at(visitor, slug, verb))


def ours(visit: Visit) -> Sandbox:
    """Return the sandbox of the visit.  Raises `NotFound` for an attached cluster."""
    if isinstance(visit.sandbox, Cluster):
        raise NotFound("No sandbox has this address.")
    return visit.sandbox


def visit_at(visitor: Visitor, slug: str, verb: str) -> Visit:
    """Return the visit: the sandbox or cluster with the visitor's role.  Raises `NotFound` or `Forbidden`."""
    visit = _at_sandbox(visitor, slug) if attached_name(slug) is None else _at_cluster(visitor, slug)
    if not visit.may(verb):
        raise forbidden(visitor, visit)
    return visit


def _at_sandbox(visitor: Visitor, slug: str) -> Visit:
    sandbox = Sandbox.objects.select_related("course").filter(slug=slug).first()
    role = _role(visitor, sandbox) if sandbox else None
    if sandbox is None or role is None:
        raise NotFound("No sandbox has this address.")
    return Visit(sandbox, role)


def _at_cluster(visitor: Visitor, slug: str) -> Visit:
    """Return the visit of an attached cluster.  Operators may reset offsets, viewers may look (catalogue 3).

    Raises `NotFound` for a visitor without a role.
    """
    cluster = Cluster.objects.filter(name=attached_name(slug)).first()
    role = _role_at_cluster(visitor, cluster) if cluster else None
    if cluster is None or role is None:
        raise NotFound("No cluster has this address.")
    return Visit(cluster, role)


def sights(asked: Sequence[tuple[Visitor, str]]) -> list[Sight]:
    """Return the sight of each pair of visitor and slug.  The number of queries does not grow with the pairs."""
    slugs = {slug for _, slug in asked}
    live = Prefetch("grants", Grant.objects.filter(live_grants(timezone.now())), to_attr="live")
    sandboxes = Sandbox.objects.filter(slug__in=slugs).select_related("course").prefetch_related(live)
    places: dict[str, Sandbox | Cluster] = {sandbox.slug: sandbox for sandbox in sandboxes}
    if names := {name for slug in slugs if (name := attached_name(slug)) is not None}:
        clusters = Cluster.objects.filter(name__in=names).prefetch_related("operators", "viewers")
        places |= {cluster.slug: cluster for cluster in clusters}
    return [_sight(entry, _role_at(visitor, entry)) for visitor, slug in asked for entry in [places.get(slug)]]


def _role_at(visitor: Visitor, entry: Any) -> Role | None:
    if entry is None:
        return None
    if isinstance(entry, Cluster):
        return _role_at_cluster(visitor, entry)
    held = _held(visitor)
    return _role_with(visitor, entry, [grant.role for grant in entry.live if any(query.fits(grant) for query in held)])


def _sight(entry: Sandbox | Cluster | None, role: Role | None) -> Sight:
    if entry is None or role is None:
        return Sight.NOTHING
    if isinstance(entry, Cluster) or entry.course is None or can(role, "grade") or is_released(entry.course):
        return Sight.ALL
    return Sight.NO_SCORES


def forbidden(visitor: Visitor, visit: Visit) -> Forbidden:
    """Return the error for a visitor who may look but may not do this action."""
    if visit.is_attached:
        if visit.role == "operator":
            return Forbidden("This is a real cluster: only the offsets of its groups can be changed from here.")
        return Forbidden("Only operators of this cluster can do this.")
    if visitor.token:
        return Forbidden("This token does not belong to this sandbox, or it was revoked. It only allows viewing.")
    return Forbidden("Your link to this sandbox does not allow this action.")


def has_expired(sandbox: Sandbox) -> bool:
    """Return True if the sandbox has expired.

    An expired sandbox is kept one more week for its owner: the owner's next visit extends it.
    """
    return sandbox.expires_at is not None and sandbox.expires_at < timezone.now()


def sandboxes_of(visitor: Visitor) -> list[Sandbox]:
    """Return the visitor's own sandboxes, the last visited first."""
    return list(_owned(visitor).order_by("-visited_at"))


def clusters_of(visitor: Visitor) -> list[Cluster]:
    """Return the attached clusters this visitor may look at, by name."""
    return [cluster for cluster in Cluster.objects.all() if _role_at_cluster(visitor, cluster) is not None]


def may_attach(visitor: Visitor) -> bool:
    """Return True if the visitor is an administrator who may add clusters."""
    return visitor.is_signed_in and visitor.user.is_staff and visitor.user.has_perm("queueviz.add_cluster")


def every_sandbox() -> list[Sandbox]:
    """Return all sandboxes, the last visited first, for commands in the server's own terminal."""
    return list(Sandbox.objects.select_related("owner").order_by("-visited_at"))


def owned_count(visitor: Visitor) -> int:
    return _owned(visitor).count()


def counted_as(visitor: Visitor) -> str:
    """Return the key under which a visitor's rate is counted.

    It is the account, else a token or session issued by this server, else the address.  A token or session that this
    server did not issue is ignored: otherwise each invented one would count as a new visitor.
    """
    if visitor.token:
        held = digest(visitor.token)
        if Grant.objects.filter(live_grants(timezone.now()), kind=Grant.Kind.TOKEN, digest=held).exists():
            return f"token:{held}"
    elif visitor.is_signed_in:
        return f"user:{visitor.user.pk}"
    elif visitor.session is not None and visitor.session.keys() and visitor.session.session_key:  # keys: it is read
        return f"session:{visitor.session.session_key}"
    return f"address:{visitor.address}"


def note_visit(visit: Visit) -> None:
    """Record the visit and extend the sandbox's life, if the visitor may act in the sandbox.

    A sandbox is kept for its life time after the last such visit.  Visits are recorded at most every
    `VISIT_NOTED_EVERY`.
    """
    now = timezone.now()
    sandbox = visit.sandbox
    if isinstance(sandbox, Cluster) or sandbox.of_host or not visit.may("act"):
        return
    if now - sandbox.visited_at < VISIT_NOTED_EVERY:
        return
    sandbox.visited_at = now
    sandbox.expires_at = expiry_of(sandbox, now)
    sandbox.save(update_fields=["visited_at", "expires_at"])


def expiry_of(sandbox: Sandbox, visited_at: datetime) -> datetime | None:
    """Return when the sandbox expires.  None: it is kept as long as its course (`courses.retention`)."""
    if sandbox.course_id:
        return None
    return visited_at + (ACCOUNT_LIFE if sandbox.owner_id else ANONYMOUS_LIFE)


def remember(visitor: Visitor, sandbox: Sandbox) -> None:
    """Make the visitor an owner of the sandbox, beside its present owners.

    A signed-in visitor owns by the account, any other one by the session.
    """
    if visitor.is_signed_in:
        _give(sandbox, visitor.user)
    elif visitor.session is not None:
        secret = visitor.session.setdefault(HOLDER, secrets.token_urlsafe(HOLDER_BYTES))
        Grant.objects.create(sandbox=sandbox, kind=Grant.Kind.SESSION, role="owner", holder=digest(secret))


def owns(visitor: Visitor, sandbox: Sandbox) -> bool:
    return _role(visitor, sandbox) == "owner"


@receiver(user_logged_in)
def adopt(sender: object, request: HttpRequest, user: object, **kwargs: object) -> None:
    """Give the account the sandboxes of the session at sign-in.  Memberships in courses stay with the session."""
    held = _granted(Visitor(session=request.session)).filter(role="owner")
    for grant in held.select_related("sandbox"):
        _give(grant.sandbox, user)
    held.delete()
    request.session.pop(HOLDER, None)


def _give(sandbox: Sandbox, user: Any) -> None:
    """Make the account an owner of the sandbox.

    The first account becomes the `owner` and extends the life to that of an account's sandbox.  Further accounts own
    it by a grant.
    """
    if sandbox.owner_id is None:
        sandbox.owner = user
        sandbox.expires_at = timezone.now() + ACCOUNT_LIFE
        sandbox.save(update_fields=["owner", "expires_at"])
    elif sandbox.owner_id != user.pk:
        Grant.objects.create(sandbox=sandbox, kind=Grant.Kind.EDITOR, role="owner", user=user)


def _owned(visitor: Visitor) -> QuerySet[Sandbox]:
    mine = Q(pk__in=_granted(visitor).filter(role="owner").values("sandbox"))
    if visitor.is_signed_in:
        mine |= Q(owner=visitor.user)
    return Sandbox.objects.filter(mine, of_host=False)


def _role(visitor: Visitor, sandbox: Sandbox) -> Role | None:
    return _role_with(visitor, sandbox, _granted(visitor).filter(sandbox=sandbox).values_list("role", flat=True))


def _role_with(visitor: Visitor, sandbox: Sandbox, granted: Iterable[str]) -> Role | None:
    """Return the visitor's strongest role in the sandbox, or None.  In an expired sandbox only owners have a role.

    Owner by account, session or token; editor by grant; viewer by live link or address.
    """
    role = _role_ever(visitor, sandbox, set(granted))
    return role if role == "owner" or not has_expired(sandbox) else None


def _role_ever(visitor: Visitor, sandbox: Sandbox, granted: set[str]) -> Role | None:
    if visitor.link is not None:  # no right elsewhere, not even where the address alone gives one
        return "viewer" if granted and sandbox.visibility == Sandbox.Visibility.LINK else None
    if sandbox.of_host:
        return "viewer"
    if visitor.is_signed_in and sandbox.owner_id == visitor.user.pk:
        return "owner"
    if granted:
        return next(role for role in ROLES if role in granted)
    return "viewer" if sandbox.visibility == Sandbox.Visibility.LINK else None


def _role_at_cluster(visitor: Visitor, cluster: Cluster) -> Role | None:
    """Return the visitor's role.  Only named accounts are operators; administrators of clusters may view them.

    Tokens and links are for sandboxes only.
    """
    if visitor.link is not None:
        return None
    if visitor.is_signed_in:
        if visitor.user in cluster.operators.all():
            return "operator"
        named = cluster.audience == Cluster.Audience.NAMED
        if not named or visitor.user in cluster.viewers.all():
            return "viewer"
        return "viewer" if visitor.user.is_staff and visitor.user.has_perm("queueviz.view_cluster") else None
    return "viewer" if cluster.audience == Cluster.Audience.EVERYONE else None


def _granted(visitor: Visitor) -> QuerySet[Grant]:
    """Return the grants of the visitor that are neither revoked nor expired."""
    held = [link.query for link in _held(visitor)]
    return Grant.objects.filter(live_grants(timezone.now()), reduce(or_, held)) if held else Grant.objects.none()


def _held(visitor: Visitor) -> tuple[Held, ...]:
    """Return the visitor's credentials.

    They are its link, else its token, else its account, browser session and course memberships.
    """
    if visitor.link is not None:
        return (Held(Grant.Kind.LIVE, "digest", frozenset({digest(visitor.link)})),)
    if visitor.token is not None:
        return (Held(Grant.Kind.TOKEN, "digest", frozenset({digest(visitor.token)})),)
    session = visitor.session if visitor.session is not None else {}
    held = [Held(Grant.Kind.EDITOR, "user_id", frozenset({visitor.user.pk}))] if visitor.is_signed_in else []
    secrets_of = list(session.get(SEATS, {}).values())
    if not visitor.is_signed_in and HOLDER in session:
        secrets_of.append(session[HOLDER])
    if secrets_of:
        held.append(Held(Grant.Kind.SESSION, "holder", frozenset(map(digest, secrets_of))))
    return tuple(held)


def live_grants(now: datetime) -> Q:
    """Return the query condition for grants that are neither revoked nor expired."""
    return Q(revoked_at__isnull=True) & (Q(expires_at__isnull=True) | Q(expires_at__gt=now))
