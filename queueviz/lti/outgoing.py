"""Requests to platforms: only to their own hosts, encrypted, to public addresses, short, without redirects.

Addresses come from registrations and launches, so others choose them.  These rules protect the servers in this
server's network.  The scheme is https, and the host one of the platform's.  Its addresses are looked up once, all
must be public, and the connection goes to one of them.  No redirect is followed; no proxy or password file of this
machine is used.
"""

import ipaddress
import re
import socket
import time
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

import requests
from django.conf import settings
from requests.adapters import BaseAdapter, HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from queueviz.lti.models import ADDRESS_CHARS

HOST = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
MOST_HOST_CHARS, MOST_LABEL_CHARS = 253, 63  # RFC 1035
CONNECT_S, READ_S = 5.0, 10.0
WHOLE_S = 20.0  # of an answer, however slowly it comes
MOST_BYTES = 1024 * 1024
CHUNK_BYTES = 64 * 1024


class AddressRefused(requests.exceptions.InvalidURL):
    """The error for an address to which requests must not go."""


class AnswerRefused(requests.exceptions.RequestException):
    """The error for an answer that is a redirect or too long."""


def host_of(address: str) -> str:
    """Return the host of an https address, in lower case.  Raises AddressRefused for any other text.

    Plain http is allowed only to this machine, if QUEUEVIZ_LTI_PRIVATE_HOSTS names it.
    """
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise AddressRefused("no address") from None
    plain = parts.scheme == "http" and host in ("localhost", "127.0.0.1") and is_private(host)
    odd = len(address) > ADDRESS_CHARS or not address.isascii() or not address.isprintable() or " " in address
    if odd or not host or parts.username is not None or parts.fragment or not (parts.scheme == "https" or plain):
        raise AddressRefused("no https address")
    return host


def is_host(text: str) -> bool:
    """Return True if the text is only a host of an https address: no scheme, port, path or wildcard."""
    if not text or len(text) > MOST_HOST_CHARS or not HOST.fullmatch(text):
        return False
    return all(0 < len(label) <= MOST_LABEL_CHARS for label in text.split("."))


def is_private(host: str) -> bool:
    """Return True if the settings allow this host to have an address of a private network."""
    return host in settings.QUEUEVIZ_LTI_PRIVATE_HOSTS


def adapter() -> BaseAdapter:
    return Guarded()


class Outgoing(requests.Session):
    """A session of requests that follows these rules.  `hosts`: the only hosts that requests may go to."""

    def __init__(self, hosts: Collection[str]) -> None:
        super().__init__()
        self.trust_env = False
        self.headers["User-Agent"] = "QueueViz"
        self._hosts = hosts
        for scheme in ("https://", "http://"):
            self.mount(scheme, adapter())

    def send(self, request: requests.PreparedRequest, **more: Any) -> requests.Response:
        if host_of(request.url or "") not in self._hosts:
            raise AddressRefused("no host of this platform")
        limits = {"timeout": (CONNECT_S, READ_S), "stream": True, "allow_redirects": False}
        answer = super().send(request, **{**more, **limits})
        with answer:
            if 300 <= answer.status_code < 400:
                raise AnswerRefused("a redirect")
            answer._content = _read(answer)
        return answer


def _read(answer: requests.Response) -> bytes:
    ends_s, body = time.monotonic() + WHOLE_S, bytearray()
    for chunk in answer.iter_content(CHUNK_BYTES):
        body += chunk
        if len(body) > MOST_BYTES:
            raise AnswerRefused("too long")
        if time.monotonic() > ends_s:
            raise AnswerRefused("too slow")
    return bytes(body)


def public_address(host: str) -> str:
    """Return one IP address of the host.

    Raises AddressRefused if one of its addresses is private, ConnectionError if it has none.
    """
    try:
        addresses = sorted({str(row[4][0]) for row in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)})
    except (OSError, UnicodeError):
        raise requests.exceptions.ConnectionError("no such host") from None
    if not is_private(host) and not all(_is_public(address) for address in addresses):
        raise AddressRefused("not a public address")
    return addresses[0]


def _is_public(text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_global and not address.is_multicast


class _Pinned(HTTPConnection):
    """A connection to the address that was checked: a second lookup of the host could give another address."""

    def _new_conn(self) -> socket.socket:
        named, self._dns_host = self._dns_host, public_address(self._dns_host)
        try:
            return super()._new_conn()
        finally:
            self._dns_host = named


class _PinnedTls(_Pinned, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Pinned


class _PoolTls(HTTPSConnectionPool):
    ConnectionCls = _PinnedTls


class Guarded(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **named: Any) -> None:
        super().init_poolmanager(*args, **named)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _PoolTls}
