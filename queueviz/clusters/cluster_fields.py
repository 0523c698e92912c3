"""Validation of the cluster fields that an administrator edits.  Errors are sentences that name the wrong part."""

import ipaddress
import os
import re

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _

MOST_NAME_SERVERS = 8
HIGHEST_PORT = 65_535
SECRETS = "QUEUEVIZ_ACL_"  # no other variable of the process can be named, so none can be asked for

_BETWEEN = re.compile(r"[;,\s]+")
_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")

name_is_an_address = RegexValidator(
    r"^[a-z0-9][a-z0-9-]*\Z", _("Use lower case letters, digits and dashes, and begin with a letter or a digit.")
)
names_a_variable = RegexValidator(
    rf"^{SECRETS}[A-Z0-9_]+\Z",
    _("Enter the name of an environment variable that begins with QUEUEVIZ_ACL_, not the secret itself."),
)


def addresses_in(text: str) -> tuple[str, ...]:
    """Return the addresses in a text such as `10.0.0.1:9876;10.0.0.2:9876`, also with commas, blanks or one a line."""
    return tuple(part for part in _BETWEEN.split(text) if part)


def are_addresses(text: str) -> None:
    """Check that each address is host:port and occurs once.  Raises ValidationError with the wrong one."""
    addresses = addresses_in(text)
    if not addresses:
        raise ValidationError(_("Enter at least one name server as host:port."))
    if len(addresses) > MOST_NAME_SERVERS:
        raise ValidationError(_("At most %(most)s name servers."), params={"most": MOST_NAME_SERVERS})
    for address in addresses:
        _is_address(address)
    if len(set(addresses)) < len(addresses):
        raise ValidationError(_("A name server is listed twice."))


def _is_address(address: str) -> None:
    host, colon, port = address.rpartition(":")
    if not colon or not host:
        raise ValidationError(
            _("%(address)s has no port. Use host:port, for example 10.0.0.1:9876."), params={"address": address}
        )
    if not (port.isascii() and port.isdigit() and 0 < int(port) <= HIGHEST_PORT):
        raise ValidationError(_("%(port)s is not a port. Use a number from 1 to 65535."), params={"port": port})
    if not _is_host(host):
        raise ValidationError(_("%(host)s is not a host name or an IP address."), params={"host": host})


def _is_host(host: str) -> bool:
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        if ":" not in host:
            return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        parts = host.split(".")
        numbers_only = all(part.isdigit() for part in parts)  # 300.1.1.1 is no name either
        return len(host) <= 253 and not numbers_only and all(_LABEL.fullmatch(part) for part in parts)
    return True


def secret_of(variable: str) -> str | None:
    """Return the secret in this environment variable, or None if the variable is not set."""
    return os.environ.get(variable, "").strip() or None
