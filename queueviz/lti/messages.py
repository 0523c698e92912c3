"""Verification of a launch, from its beginning to the check of its signature.

The checks are those of `pylti1p3next`, in its order.  This module adds what that library leaves open: audience,
issuer, tokens without an expiry, other algorithms, changed keys.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import jwt
import requests
from django.core.cache import cache
from django.http import HttpRequest
from pylti1p3.contrib.django.redirect import DjangoRedirect
from pylti1p3.contrib.django.request import DjangoRequest
from pylti1p3.cookie import CookieService
from pylti1p3.exception import LtiException, OIDCException
from pylti1p3.message_launch import MessageLaunch
from pylti1p3.oidc_login import OIDCLogin
from pylti1p3.registration import TKey, TKeySet
from pylti1p3.session import SessionService

from queueviz.access.digests import digest
from queueviz.lti import claims, cookies, outgoing
from queueviz.lti.models import LtiPlatform
from queueviz.lti.registered import Registered, hosts_of, platform_of
from sandbox.kernel.errors import ActionRefused

ALGORITHM = "RS256"
LEEWAY_S = 30  # between two clocks
KEYS_KEPT_S = 3600
KEYS_PAUSE_S = 30  # an unknown key is looked for again after this
AGAIN = "Open the link in your LMS again."
ADMINISTRATOR = "Ask the administrator of your LMS."


class Verified(NamedTuple):
    platform: LtiPlatform
    claims: claims.Claims
    begun: cookies.Begun
    launch: Launch


class _Cookie(CookieService):
    """The library's interface to the login cookie.

    `begun`: this browser's launch; at a login, `set_cookie` sets the state.
    """

    def __init__(self, begun: cookies.Begun | None = None) -> None:
        self._begun, self.state = begun, ""

    def get_cookie(self, name: str) -> str | None:
        return self._begun.state if self._begun is not None else None

    def set_cookie(self, name: str, value: str | int, exp: int | None = 3600) -> None:
        self.state = str(value)


class _Nonce(SessionService):
    """The library's interface to the nonce, which is not in the session.

    Another site's form brings the launch, without the session's cookie.
    """

    def __init__(self, expected: str = "") -> None:
        self.nonce = expected

    def save_nonce(self, nonce: str) -> None:
        self.nonce = nonce

    def check_nonce(self, nonce: str) -> bool:
        return bool(nonce) and nonce == self.nonce

    def check_state_is_valid(self, state: str, id_token_hash: str) -> bool:
        return False  # the library lets the same token through again; here a launch is used once


class Login(OIDCLogin[Any, Registered, _Nonce, _Cookie, Any]):
    def get_redirect(self, url: str) -> Any:
        return DjangoRedirect(url)


class Launch(MessageLaunch[Any, Registered, _Nonce, _Cookie]):
    def _get_request_param(self, key: str) -> str:
        return str(self._request.get_param(key) or "")

    def get_client_id(self) -> str:
        """Return the token's audience; of several, the one it was issued to.

        The library would use the first one.
        """
        body: Any = self._get_jwt_body()
        audience = body.get("aud")
        named = audience if isinstance(audience, list) else [audience]
        client = named[0] if len(named) == 1 else body.get("azp")
        return client if isinstance(client, str) and client in named else ""

    def fetch_public_key(self, key_set_url: str) -> TKeySet:
        name = f"lti-keys-{digest(key_set_url)}"
        key_set = cache.get(name)
        if key_set is None or (not _has_key(key_set, self._jwt) and cache.add(f"{name}-looked-for", 1, KEYS_PAUSE_S)):
            key_set = super().fetch_public_key(key_set_url)
            if not isinstance(key_set, dict) or not isinstance(key_set.get("keys"), list):
                raise LtiException("no key set")
            cache.set(name, key_set, KEYS_KEPT_S)
        return {"keys": [cast(TKey, key) for key in key_set["keys"] if isinstance(key, dict)]}

    def validate_jwt_signature(self) -> Launch:
        public_key, algorithm = self.get_public_key()
        if algorithm != ALGORITHM:
            raise LtiException("another algorithm")
        try:
            jwt.decode(
                self._get_id_token(),
                public_key,
                algorithms=[ALGORITHM],
                audience=self.get_client_id(),
                issuer=self.get_iss(),
                leeway=LEEWAY_S,
                options={"require": ["exp", "iat", "nonce"]},
            )
        except (jwt.InvalidTokenError, TypeError, ValueError) as error:
            raise LtiException(str(error)) from error
        return self


def _has_key(key_set: Any, token: Any) -> bool:
    key_id = token.get("header", {}).get("kid")
    return any(isinstance(key, dict) and key.get("kid") == key_id for key in key_set["keys"])


def begin(request: HttpRequest, launch_url: str) -> tuple[str, cookies.Begun]:
    """Return the address of the LMS's login, and the launch to store in the browser's cookie meanwhile.

    Raises ActionRefused (400, 403).
    """
    cookie, nonce, wrapped = _Cookie(), _Nonce(), DjangoRequest(request)
    platform = platform_of(str(wrapped.get_param("iss") or ""), wrapped.get_param("client_id"))
    if platform is None:
        raise ActionRefused(403, "This LMS is not registered here.", ADMINISTRATOR)
    wrapped = DjangoRequest(request, default_params={"client_id": platform.client_id})
    try:
        login = Login(wrapped, Registered(), session_service=nonce, cookie_service=cookie)
        address = login.get_redirect_object(launch_url).get_redirect_url()
    except OIDCException:
        raise ActionRefused(400, "The data from your LMS does not start a launch.", AGAIN) from None
    return str(address), cookies.Begun(cookie.state, nonce.nonce, platform.pk)


def verify(request: HttpRequest) -> Verified:
    """Return the verified launch of a form.  Raises ActionRefused: 400, 403, 503 the platform's keys cannot be read."""
    begun = cookies.begun(request, request.POST.get("state", ""))
    if begun is None:
        raise ActionRefused(400, "This launch was not started in this browser, or it is expired.", AGAIN)
    platform = LtiPlatform.objects.filter(pk=begun.platform).first()
    if platform is None:
        raise ActionRefused(403, "This LMS is not registered here.", ADMINISTRATOR)
    launch = Launch(
        DjangoRequest(request, post_only=True),
        Registered(),
        session_service=_Nonce(begun.nonce),
        cookie_service=_Cookie(begun),
        requests_session=outgoing.Outgoing(hosts_of(platform)),
    )
    launch.set_auto_validation(False)
    _step(launch.validate_state, 400, "This launch was not started in this browser, or it is expired.", AGAIN)
    _step(launch.validate_jwt_format, 400, "The data from your LMS is not a launch.", AGAIN)
    _step(launch.validate_nonce, 400, "This launch does not match the launch that was started.", AGAIN)
    if _step(
        lambda: (launch.get_iss(), launch.get_client_id()), 403, "This LMS is not registered here.", ADMINISTRATOR
    ) != (platform.issuer, platform.client_id):
        raise ActionRefused(403, "This LMS is not registered here.", ADMINISTRATOR)
    _step(launch.validate_registration, 403, "This LMS is not registered here.", ADMINISTRATOR)
    try:
        _step(
            launch.validate_jwt_signature,
            403,
            "The signature of this launch is not from your LMS, or is expired.",
            AGAIN,
        )
    except ActionRefused as error:
        raise _unreachable() if isinstance(_root(error), requests.exceptions.RequestException) else error from None
    _step(launch.validate_deployment, 403, "This deployment of your LMS is not registered here.", ADMINISTRATOR)
    _step(launch.validate_message, 400, "This kind of launch is not supported here.", AGAIN)
    return Verified(platform, claims.read(launch.get_launch_data()), begun, launch)


def _step(check: Any, status: int, message: str, hint: str) -> Any:
    """Run a check and return its result.  A malformed token is refused like a wrong one, with ActionRefused."""
    try:
        return check()
    except (LtiException, AssertionError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise ActionRefused(status, message, hint) from error


def _root(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _unreachable() -> ActionRefused:
    return ActionRefused(503, "Your LMS is not reachable from here at the moment.", "Try again in a moment.")
