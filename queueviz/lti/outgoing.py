"""Requests to platforms: only to the platform's own hosts, encrypted, to public addresses, short, and no further.

Addresses come from registrations and launches, so they are other people's.  These rules guard the servers around
this one.  Only https; the host is one of the platform's.  Its addresses are looked up once, all must be public, and
one of them is connected to.  No redirect is followed; no proxy or password file of this machine is used.
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
    """An address that requests must not go to."""


class AnswerRefused(requests.exceptions.RequestException):
    """A redirect, or an answer that is too long."""


def host_of(address: str) -> str:
    """The host of an https address, in small letters.  Raises AddressRefused: a text of another shape.

    Plain http is for this machine itself, where QUEUEVIZ_LTI_PRIVATE_HOSTS names it.
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
    """Return whether the text is the host of some https address alone: no scheme, port, path or wildcard."""
    if not text or len(text) > MOST_HOST_CHARS or not HOST.fullmatch(text):
        return False
    return all(0 < len(label) <= MOST_LABEL_CHARS for label in text.split("."))


def is_private(host: str) -> bool:
    """Return whether the settings allow this host to have an address of a private net."""
    return host in settings.QUEUEVIZ_LTI_PRIVATE_HOSTS


def adapter() -> BaseAdapter:
    return Guarded()


class Outgoing(requests.Session):
    """`hosts`: where it may ask."""

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
    """One of its addresses.  Raises AddressRefused where any of them is of a private net, or there is none."""
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
    """A connection to the checked address: a name may have another address a moment later."""

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
