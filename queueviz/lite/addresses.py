"""Addresses of a sandbox in the browser."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from queueviz.slugs import BEHIND

OF_SITE = {
    "home": "",
    "labs": "labs/",
    "lab-start": "lite/lab/{}/",
    "incidents": "incidents/",
    "fidelity": "fidelity/",
    "course": "c/{}/",
}
"""Pages of the site that offers Lite, below its first page."""

OF_SANDBOX = {"theme": "theme/", "set_language": "language/"}
"""Requests that the server receives at addresses of its own; in Lite they are below the sandbox's root."""


class Addresses(NamedTuple):
    """The addresses of one sandbox: `root`, its first page; `home`, the first page of the site that offers it."""

    slug: str
    root: str
    home: str = "/"

    @property
    def alias(self) -> str:
        return self.slug

    @property
    def api(self) -> str:
        return f"{self.root}api"

    def named(self, name: str, *values: object) -> str:
        """Return the address that the server's URL configuration has under `name`."""
        if name in OF_SANDBOX:
            return self.root + OF_SANDBOX[name]
        return self.home + OF_SITE[name].format(*values)


@contextmanager
def at(addresses: Addresses) -> Iterator[None]:
    """Use these addresses for the sandbox while an answer is made (`slugs.root_of`, `slugs.api_of`)."""
    token = BEHIND.set(addresses)
    try:
        yield
    finally:
        BEHIND.reset(token)
