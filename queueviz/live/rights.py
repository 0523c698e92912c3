"""Repeated checks of the rights of all sockets to the sandboxes they watch, in one call."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from queueviz.access import policy
from queueviz.access.visitor import SESSIONS, Visitor
from sandbox.live.visible_parts import Sight

DECODED_KEPT = 2_048


def still_see(asked: Sequence[tuple[Visitor, str]]) -> list[Sight]:
    """Return the sight of each pair of visitor and slug.  The number of queries does not grow with the pairs."""
    visitors = afresh([visitor for visitor, _ in asked])
    return policy.sights([(visitor, slug) for visitor, (_, slug) in zip(visitors, asked, strict=True)])


def afresh(visitors: Sequence[Visitor]) -> list[Visitor]:
    """Return the visitors with their sessions and users read again, in two queries for all."""
    keys = {visitor.session.session_key for visitor in visitors if visitor.session is not None}
    sessions = _sessions(keys - {None})
    users = _users({str(session[SESSION_KEY]) for session in sessions.values() if SESSION_KEY in session})
    return [_afresh(visitor, sessions, users) for visitor in visitors]


def _afresh(visitor: Visitor, sessions: dict[str, dict[str, object]], users: Mapping[str, AbstractBaseUser]) -> Visitor:
    """Return the visitor with session and user read again, as `visitor.afresh` does."""
    if visitor.session is None:
        return visitor
    session = sessions.get(visitor.session.session_key, {})
    user = users.get(str(session.get(SESSION_KEY, "")))
    return visitor._replace(
        session=session, user=user if user is not None and _is_of(session, user) else AnonymousUser()
    )


def _sessions(keys: set[str]) -> dict[str, dict[str, object]]:
    rows = SESSIONS.SessionStore.get_model_class().objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    return {key: _decoded(data) for key, data in rows.values_list("session_key", "session_data")} if keys else {}


@lru_cache(maxsize=DECODED_KEPT)
def _decoded(data: str) -> dict[str, object]:
    return dict(SESSIONS.SessionStore().decode(data))


def _users(keys: set[str]) -> dict[str, AbstractBaseUser]:
    """Return the active accounts by their key in sessions."""
    model = get_user_model()
    rows = model.objects.filter(pk__in=keys, is_active=True) if keys else ()
    return {model._meta.pk.value_to_string(user): user for user in rows}


def _is_of(session: dict[str, object], user: AbstractBaseUser) -> bool:
    """Return True if the session is valid for the user: a changed password ends sessions.

    As `django.contrib.auth.get_user`.
    """
    known = str(session.get(HASH_SESSION_KEY, ""))
    hashes = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
    return session.get(BACKEND_SESSION_KEY) in settings.AUTHENTICATION_BACKENDS and any(
        constant_time_compare(known, each) for each in hashes
    )
