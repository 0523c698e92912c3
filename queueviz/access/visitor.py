"""The visitor of a request as one value: a signed-in user, a session, a bearer token or a live link."""

import hashlib
import hmac
import ipaddress
from collections.abc import Mapping
from importlib import import_module
from types import SimpleNamespace
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest

BEARER = "bearer "
SESSIONS = import_module(settings.SESSION_ENGINE)
ONE_CUSTOMER = 64  # bits of an IPv6 address: one customer has all addresses that begin alike


class Visitor(NamedTuple):
    """The visitor of a request.

    `session` has the secret of a browser that owns something.  A visitor with a bearer token has no session, since
    cookies are ignored.  `link` is the secret of a live link: its visitor has the link's right and no other.
    `address` is the address in the form that limits count (`counted`).
    """

    user: Any = None
    session: Any = None
    token: str | None = None
    address: str = ""
    link: str | None = None

    @property
    def is_signed_in(self) -> bool:
        return bool(self.user is not None and self.user.is_authenticated)

    @property
    def origin(self) -> str:
        """A keyed hash of the visitor's address."""
        return counting_key(self.address)


def counting_key(text: str) -> str:
    """Return a keyed hash of the text, which can be counted but not traced back."""
    return hmac.new(settings.SECRET_KEY.encode(), text.encode(), hashlib.sha256).hexdigest()


def bearer(header: str) -> str | None:
    """Return the token of an `Authorization` header, or None."""
    return header[len(BEARER) :].strip() if header.lower().startswith(BEARER) else None


def of_request(request: HttpRequest) -> Visitor:
    """Return the visitor of a page or API request."""
    address = _forwarded(request.META.get("HTTP_X_FORWARDED_FOR", ""), request.META.get("REMOTE_ADDR") or "")
    if (mask := getattr(request, "mask", None)) is not None:
        return Visitor(address=address, link=mask.secret)
    token = bearer(request.headers.get("Authorization", ""))
    if token is not None:
        return Visitor(token=token, address=address)
    return Visitor(getattr(request, "user", None), getattr(request, "session", None), None, address)


def of_scope(scope: Mapping[str, Any]) -> Visitor:
    """Return the visitor of a socket.

    Without an Origin header the cookies are not trustworthy, so they are not used.
    """
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope.get("headers", ())}
    client = scope.get("client") or ("", 0)
    address = _forwarded(headers.get("x-forwarded-for", ""), str(client[0]))
    token = bearer(headers.get("authorization", ""))
    if token is not None or "origin" not in headers:
        return Visitor(token=token, address=address)
    return Visitor(scope.get("user"), scope.get("session"), None, address)


def afresh(visitor: Visitor) -> Visitor:
    """Return the same visitor with session and user read again.

    A socket lives long, and both may have ended meanwhile.
    """
    if visitor.session is None:
        return visitor
    session = SESSIONS.SessionStore(visitor.session.session_key)
    return visitor._replace(session=session, user=get_user(cast(HttpRequest, SimpleNamespace(session=session))))


def _forwarded(chain: str, direct: str) -> str:
    """Return the client's address from the `X-Forwarded-For` chain or the direct connection.

    Behind the server's own proxy the address is the last entry, which that proxy added.  Entries before it are not
    trustworthy.
    """
    if settings.BEHIND_HTTPS and chain:
        return counted(chain.rsplit(",", 1)[-1].strip())
    return counted(direct)


def counted(text: str) -> str:
    """Return an address in the form that limits count.

    IPv6: the network of one customer.  A port, which some proxies add, is removed.
    """
    address = _parsed(text) or _parsed(_without_port(text))
    if address is None:
        return text
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.IPv6Network((int(address), ONE_CUSTOMER), strict=False))
    return str(address)


def _parsed(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _without_port(text: str) -> str:
    try:
        return urlsplit(f"//{text}").hostname or ""
    except ValueError:
        return ""
