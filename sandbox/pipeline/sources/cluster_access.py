"""Access to a running cluster, from the options of a source or sink: name servers, keys, TLS."""

import ssl
from collections.abc import Mapping
from typing import NamedTuple

NO_NAMES = "The option names is missing. Set it to the name servers, such as 127.0.0.1:9876."
ACCESS = ("names", "accessKey", "secretKey", "tls")
"""The options."""


class Access(NamedTuple):
    """Access to a cluster.  `name_servers`: `host:port`.

    With both keys every request is signed (ACL of 4.x).  `tls`: all connections use TLS.
    """

    name_servers: tuple[str, ...]
    access_key: str = ""
    secret_key: str = ""
    tls: bool = False

    def __repr__(self) -> str:
        """Return the text without the secret key: plans and errors may be logged."""
        return f"Access({';'.join(self.name_servers)}, access_key={self.access_key!r}, tls={self.tls})"

    @property
    def context(self) -> ssl.SSLContext | None:
        """The TLS context, or None without TLS.

        A node must show a certificate that the machine trusts (SSL_CERT_FILE names a cluster's own authority).  The
        name in the certificate is not checked, because name servers list brokers by address.
        """
        if not self.tls:
            return None
        context = ssl.create_default_context()
        context.check_hostname = False
        return context


def access_of(options: Mapping[str, str]) -> Access:
    """Return the access of these options.  Raises ValueError with a sentence."""
    names = tuple(name.strip() for name in options.get("names", "").replace(",", ";").split(";") if name.strip())
    if not names:
        raise ValueError(NO_NAMES)
    for name in names:
        host, _, port = name.rpartition(":")
        if not host or not port.isdigit() or int(port) > 65_535:
            raise ValueError(f"{name} is not an address of a name server. Write it as 127.0.0.1:9876.")
    access_key, secret_key = options.get("accessKey", ""), options.get("secretKey", "")
    if bool(access_key) != bool(secret_key):
        raise ValueError("Set both options accessKey and secretKey, or neither.")
    return Access(names, access_key, secret_key, truth_of("tls", options.get("tls", "false")))


def truth_of(option: str, text: str) -> bool:
    """Return the boolean of an option's text.  Raises ValueError if it is neither true nor false."""
    if (word := text.strip().lower()) not in ("true", "false"):
        raise ValueError(f"Option {option} must be true or false, not {text.strip()}.")
    return word == "true"
