"""Connection settings of a cluster, as its administrator entered them."""

from typing import NamedTuple

from sandbox.kernel.errors import ActionRefused

PREFIX = "k."
"""Prefix of the slugs of attached clusters; a sandbox's slug has no dot."""

MAX_NAME_SERVERS = 8


class AttachedSettings(NamedTuple):
    """The connection settings of a cluster.

    `name_servers`: `host:port`.  With both keys every request is signed (ACL of 4.x); `tls`: for all connections.
    """

    name_servers: tuple[str, ...]
    access_key: str | None = None
    secret_key: str | None = None
    tls: bool = False

    def __repr__(self) -> str:
        """Return the settings as text without the secret, since they may be logged."""
        return f"AttachedSettings({', '.join(self.name_servers)}, access_key={self.access_key!r}, tls={self.tls})"


def is_attached(slug: str) -> bool:
    return slug.startswith(PREFIX)


def checked(settings: AttachedSettings) -> AttachedSettings:
    """Return the settings.  Raises ActionRefused (422) for unusable addresses."""
    if not settings.name_servers:
        raise ActionRefused(
            422,
            "A cluster is reached through its name servers.",
            "Enter the address of a name server.",
            field="name_servers",
        )
    if len(settings.name_servers) > MAX_NAME_SERVERS:
        raise ActionRefused(
            422,
            "At most {most} name servers are queried.",
            "Remove some name servers.",
            field="name_servers",
            most=MAX_NAME_SERVERS,
        )
    for address in settings.name_servers:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
            raise ActionRefused(
                422,
                "{address} is not an address.",
                "Use host:port, for example 10.0.0.1:9876.",
                field="name_servers",
                address=address,
            )
    return settings
