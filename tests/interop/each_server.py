"""Fixtures for tests against three brokers: QueueViz, Apache's 4.9 and Apache's 5.x."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

import pytest

from tests.interop.clients import Unavailable
from tests.interop.servers import APACHE_4, APACHE_5, Server, apache_server, our_server

EACH = ["ours", *(pytest.param(f"apache-{release}", marks=pytest.mark.apache) for release in (APACHE_4, APACHE_5))]
"""Parameters of such a fixture."""


@contextmanager
def server_or_skip(name: str, *, properties: Mapping[str, str]) -> Iterator[Server]:
    """One of `EACH`; the properties are Apache's.  Skips where it cannot be had."""
    with ExitStack() as ends:
        try:
            made = ends.enter_context(
                our_server() if name == "ours" else apache_server(name.removeprefix("apache-"), properties=properties)
            )
        except Unavailable as why:
            pytest.skip(f"{name}: {why}")
        yield made
