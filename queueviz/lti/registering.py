"""Dynamic registration: an LMS and this server exchange their settings, through a link that works once."""

import secrets
from datetime import timedelta
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

import requests
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from pylti1p3.dynamic_registration import DynamicRegistration
from pylti1p3.exception import LtiException

from queueviz.access.digests import digest
from queueviz.access.policy import NotFound
from queueviz.access.visitor import Visitor
from queueviz.lti import outgoing
from queueviz.lti.claims import SCORE
from queueviz.lti.models import ID_CHARS, NAME_CHARS, LtiInvitation, LtiPlatform
from sandbox.kernel.errors import ActionRefused

LIFE = timedelta(hours=24)
SECRET_BYTES = 24
MOST_TRIES = 5  # of one link: each makes us ask a server of its choice
MOST_OPEN = 5  # links of one account
MOST_PLATFORMS = 20  # of one account
HOST_CHARS = 80  # shown of what is none
MOST_IDS = 50  # deployments and hosts of a platform
TOKEN_CHARS = 4096
ROSTER = "https://purl.imsglobal.org/spec/lti-nrps/scope/contextmembership.readonly"
LTI = "https://purl.imsglobal.org/spec/lti-platform-configuration"
TOOL = "https://purl.imsglobal.org/spec/lti-tool-configuration"
# All schools in Instructure's cloud are one issuer, and their configurations are at the school's host.
ISSUED_FOR = {"canvas.instructure.com": (".instructure.com", ".canvaslms.com")}


class Ours(NamedTuple):
    """The addresses of this server for a platform's settings."""

    login: str
    launch: str
    jwks: str
    logo: str


def invite(visitor: Visitor) -> str:
    """Return the secret of a new link with which one platform registers.  Raises ActionRefused (403, 429)."""
    if not visitor.is_signed_in:
        raise ActionRefused(403, "Registering an LMS requires an account.", "Sign in first.")
    if _open().filter(made_by=visitor.user).count() >= MOST_OPEN:
        raise ActionRefused(
            429,
            "You have {most} unused registration links.",
            "Use an unused registration link, or wait a day.",
            most=MOST_OPEN,
        )
    if visitor.user.lti_platforms.count() >= MOST_PLATFORMS:
        raise ActionRefused(429, "You have registered {most} LMSs.", "Remove an LMS first.", most=MOST_PLATFORMS)
    secret = secrets.token_urlsafe(SECRET_BYTES)
    LtiInvitation.objects.filter(made_at__lt=timezone.now() - LIFE).delete()
    LtiInvitation.objects.create(digest=digest(secret), made_by=visitor.user)
    return secret


def invitation(secret: str) -> LtiInvitation:
    """Return the open invitation with this secret.

    Raises NotFound if it was never made, was used, or is too old.
    """
    open_invitation: LtiInvitation | None = _open().filter(digest=digest(secret), tries__lt=MOST_TRIES).first()
    if open_invitation is None:
        raise NotFound("This registration link can no longer register an LMS.")
    return open_invitation


def register(secret: str, configuration: str, token: str, ours: Ours) -> LtiPlatform:
    """Register the platform at the address `configuration` and return it.

    Raises NotFound, ActionRefused: 409 it is registered already, 422 an address is not allowed, 502 it failed.

    Errors of the remote server are hidden: the visitor who named it must not read its answers.
    """
    asked = invitation(secret)
    mine = _open().filter(pk=asked.pk, tries=asked.tries)
    if not mine.update(tries=F("tries") + 1):
        raise ActionRefused(409, "This registration link is in use at the moment.", "Try again in a moment.")
    try:
        with transaction.atomic():
            made: Any = _Registration(asked, configuration, token[:TOKEN_CHARS] or None, ours).register()
            if not _open().filter(pk=asked.pk).update(used_at=timezone.now()):
                raise ActionRefused(409, "This registration link is in use at the moment.", "Try again in a moment.")
            return cast(LtiPlatform, made)
    except outgoing.AddressRefused:
        raise ActionRefused(
            422, "An address of this LMS is not allowed.", "All addresses must be https, on public servers."
        ) from None
    except IntegrityError:
        raise ActionRefused(409, "This LMS is already registered.", "Remove the old entry first.") from None
    except (
        requests.exceptions.RequestException,
        LtiException,
        AssertionError,
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
    ):
        raise ActionRefused(
            502,
            "The server at this address did not answer as an LMS.",
            "Register from the external tools page of your LMS.",
        ) from None


def hosts(text: str) -> list[str]:
    """Return the hosts in a text with one per line, in lower case.

    Raises ActionRefused (422), which names the first invalid one.
    """
    names = [host.lower() for host in listed(text)]
    for host in names:
        if not outgoing.is_host(host):
            raise ActionRefused(
                422,
                "{host} is not a host.",
                "Example: files.example.org, without https:// and path.",
                field="hosts",
                host=host[:HOST_CHARS],
            )
    return names


def listed(text: str) -> list[str]:
    """Return the ids or hosts in a text with one per line, each once.  Raises ActionRefused (422)."""
    lines = list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
    if len(lines) > MOST_IDS or any(len(line) > ID_CHARS or not line.isprintable() for line in lines):
        raise ActionRefused(422, "At most {most} lines, each with one ID or host.", "Shorten the list.", most=MOST_IDS)
    return lines


def _open() -> Any:
    return LtiInvitation.objects.filter(used_at__isnull=True, made_at__gte=timezone.now() - LIFE)


class _Registration(DynamicRegistration):
    client_name = "QueueViz"
    description = "Labs on a real RocketMQ-compatible broker"

    def __init__(self, asked: LtiInvitation, configuration: str, token: str | None, ours: Ours) -> None:
        self._asked, self._configuration, self._token, self._ours = asked, configuration, token, ours
        self._host = outgoing.host_of(configuration)

    def get_request_session(self) -> requests.Session:
        return outgoing.Outgoing({self._host})

    def get_openid_configuration_endpoint(self) -> str:
        return self._configuration

    def get_registration_token(self) -> str:
        return self._token  # type: ignore[return-value]  # the library sends none where it is None

    def get_openid_configuration(self) -> dict[str, Any]:
        """Return the platform's configuration.

        Its issuer and its registration endpoint must be on the host that served it.
        """
        configuration = super().get_openid_configuration()
        issuer = outgoing.host_of(configuration["issuer"])
        if issuer != self._host and not self._host.endswith(ISSUED_FOR.get(issuer, (" ",))):
            raise outgoing.AddressRefused("another issuer")
        if outgoing.host_of(configuration["registration_endpoint"]) != self._host:
            raise outgoing.AddressRefused("another host")
        return configuration

    def get_initiate_login_uri(self) -> str:
        return self._ours.login

    def get_jwks_uri(self) -> str:
        return self._ours.jwks

    def get_redirect_uris(self) -> list[str]:
        return [self._ours.launch]

    def get_target_link_uri(self) -> str:
        return self._ours.launch

    def get_domain(self) -> str:
        return urlsplit(self._ours.launch).netloc

    def get_logo_uri(self) -> str:
        return self._ours.logo

    def get_scopes(self) -> list[str]:
        return [SCORE, ROSTER]

    def get_messages(self) -> list[dict[str, str]]:
        return [
            {"type": "LtiResourceLinkRequest"},
            {"type": "LtiDeepLinkingRequest", "target_link_uri": deep_link_uri(self._ours.launch), "label": "QueueViz"},
        ]

    def complete_registration(self, openid_configuration: dict[str, Any], openid_registration: dict[str, Any]) -> Any:
        configuration, client = openid_configuration, openid_registration["client_id"]
        endpoints = [configuration[name] for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")]
        for address in endpoints:
            outgoing.host_of(address)
        deployment = openid_registration[TOOL].get("deployment_id")
        known = [deployment] if isinstance(deployment, str) and len(deployment) <= ID_CHARS else []
        family = str(configuration[LTI].get("product_family_code") or "LMS")
        audience = configuration.get("authorization_server") or ""
        if not isinstance(client, str) or not 0 < len(client) <= ID_CHARS or not isinstance(audience, str):
            raise ValueError("no client")
        return LtiPlatform.objects.create(
            name=f"{family} · {self._host}"[:NAME_CHARS],
            issuer=configuration["issuer"][:ID_CHARS],
            client_id=client,
            auth_url=endpoints[0],
            token_url=endpoints[1],
            key_set_url=endpoints[2],
            audience=audience[:ID_CHARS],
            deployments=known,
            hosts=[self._host],
            owner=self._asked.made_by,
        )


def deep_link_uri(launch: str) -> str:
    """Return the target address of launches that choose labs.  With it the login stays in the LMS's frame."""
    return f"{launch}?choose"
