"""Registered platforms in the interface of `pylti1p3next`, and the hosts of each that requests may go to."""

from collections.abc import Collection
from typing import Any

from pylti1p3.deployment import Deployment
from pylti1p3.registration import Registration
from pylti1p3.service_connector import ServiceConnector
from pylti1p3.tool_config.abstract import ToolConfAbstract

from queueviz.lti import keys, outgoing
from queueviz.lti.models import LtiPlatform

TOKEN_S = 60.0  # a token is used for so long, whatever the platform says


class Registered(ToolConfAbstract[Any]):
    """The registered platforms, for the library.

    Each platform has its own client, by primary key, since several platforms may have one issuer.
    """

    def check_iss_has_one_client(self, iss: str) -> bool:
        return False

    def check_iss_has_many_clients(self, iss: str) -> bool:
        return True

    def find_registration_by_issuer(self, iss: str, *args: Any, **kwargs: Any) -> Registration:
        raise NotImplementedError  # never asked: see above

    def find_deployment(self, iss: str, deployment_id: str) -> Deployment | None:
        raise NotImplementedError

    def find_registration_by_params(self, iss: str, client_id: str, *args: Any, **kwargs: Any) -> Registration:
        platform = platform_of(iss, client_id)
        return registration_of(platform) if platform is not None else None  # type: ignore[return-value]

    def find_deployment_by_params(
        self, iss: str, deployment_id: str, client_id: str, *args: Any, **kwargs: Any
    ) -> Deployment | None:
        platform = platform_of(iss, client_id)
        known = platform is not None and deployment_id in platform.deployments
        return Deployment().set_deployment_id(deployment_id) if known else None


def platform_of(issuer: str, client_id: str | None) -> LtiPlatform | None:
    """Return the platform of this issuer and client.  Without a client, the issuer's platform if it has only one."""
    platforms = LtiPlatform.objects.filter(issuer=issuer)
    if client_id:
        return platforms.filter(client_id=client_id).first()
    first = list(platforms[:2])
    return first[0] if len(first) == 1 else None


def registration_of(platform: LtiPlatform) -> Registration:
    private, public = keys.signing()
    made = Registration().set_issuer(platform.issuer).set_client_id(platform.client_id)
    made.set_auth_login_url(platform.auth_url).set_auth_token_url(platform.token_url)
    made.set_key_set_url(platform.key_set_url).set_tool_private_key(private).set_tool_public_key(public)
    return made.set_auth_audience(platform.audience) if platform.audience else made


def hosts_of(platform: LtiPlatform) -> Collection[str]:
    """Return the hosts of the platform's endpoints and those in `hosts`: requests and forms go to no other."""
    endpoints = (platform.auth_url, platform.token_url, platform.key_set_url)
    further = {host.lower() for host in platform.hosts if isinstance(host, str)}
    return {outgoing.host_of(address) for address in endpoints} | set(filter(outgoing.is_host, further))


def may_ask(platform: LtiPlatform, address: object) -> bool:
    """Return True if this address from a launch is on a host of the platform."""
    try:
        return isinstance(address, str) and outgoing.host_of(address) in hosts_of(platform)
    except outgoing.AddressRefused:
        return False


class Connector(ServiceConnector):
    """A connector for one turn, which caches the platform's access tokens.

    The library's own cache key leaves out the client.
    """

    def __init__(self, platform: LtiPlatform) -> None:
        super().__init__(registration_of(platform), outgoing.Outgoing(hosts_of(platform)))
        self._tokens: dict[str, str] = {}

    def _get_cached_access_token(self, scope_key: str) -> str | None:
        return self._tokens.get(scope_key)

    def _cache_access_token(self, scope_key: str, access_token: str, expires_in: float) -> None:
        if expires_in > TOKEN_S:
            self._tokens[scope_key] = access_token
