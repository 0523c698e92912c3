"""Addresses of sandboxes and clusters: slugs of two words and six letters, and the URLs of each slug's pages."""

import re
import secrets
from contextvars import ContextVar
from typing import Protocol

from sandbox.attached.settings import PREFIX, is_attached

IN_BROWSER = "lite-"  # begins the slug of a course's sandbox that runs in the student's browser
LETTERS = "abcdefghjkmnpqrstuvwxyz"  # no i, l, o: they are misheard and misread
LETTER_COUNT = 6
FIRST = (
    "amber",
    "brisk",
    "calm",
    "clear",
    "dusky",
    "early",
    "fleet",
    "green",
    "happy",
    "light",
    "lucky",
    "mellow",
    "noble",
    "plain",
    "quick",
    "quiet",
    "rapid",
    "silver",
    "sunny",
    "swift",
    "tidy",
    "vivid",
    "warm",
    "young",
)
SECOND = (
    "badger",
    "beaver",
    "crane",
    "curlew",
    "falcon",
    "finch",
    "gecko",
    "heron",
    "ibex",
    "lark",
    "lynx",
    "marten",
    "otter",
    "owl",
    "panda",
    "petrel",
    "plover",
    "puffin",
    "raven",
    "robin",
    "seal",
    "stork",
    "swan",
    "wren",
)
ANY = re.compile(rf"\b(?:{'|'.join(FIRST)})-(?:{'|'.join(SECOND)})-[{LETTERS}]{{{LETTER_COUNT}}}\b")


def new_slug() -> str:
    """Return a new random slug such as `quiet-otter-hqnzrp`.

    It is hard to guess, since a visitor who has the address may watch the sandbox.
    """
    letters = "".join(secrets.choice(LETTERS) for _ in range(LETTER_COUNT))
    return f"{secrets.choice(FIRST)}-{secrets.choice(SECOND)}-{letters}"


def is_in_browser(slug: str) -> bool:
    """Return True if the sandbox of this slug runs in a student's browser (`queueviz.browsers`)."""
    return slug.startswith(IN_BROWSER)


def attached_slug(name: str) -> str:
    """Return the slug of an attached cluster, its name in the engine."""
    return PREFIX + name


def attached_name(slug: str) -> str | None:
    """Return the name of the attached cluster, or None if the slug is a sandbox's."""
    return slug.removeprefix(PREFIX) if is_attached(slug) else None


class Behind(Protocol):
    """A live link, whose readers see one sandbox under another name and at other addresses (`hidden_names`)."""

    @property
    def slug(self) -> str: ...
    @property
    def alias(self) -> str: ...
    @property
    def root(self) -> str: ...
    @property
    def api(self) -> str: ...


BEHIND: ContextVar[Behind | None] = ContextVar("behind", default=None)
"""The link whose reader is being answered."""


def root_of(slug: str) -> str:
    """Return the URL path of the pages of a sandbox or cluster.

    `/s/<slug>/`; `/k/<name>/` of an attached cluster; `/v/<secret>/` behind a live link.
    """
    behind = BEHIND.get()
    if behind is not None and slug in (behind.slug, behind.alias):
        return behind.root
    name = attached_name(slug)
    return f"/s/{slug}/" if name is None else f"/k/{name}/"


def api_of(slug: str) -> str:
    """Return the URL path of its JSON API (`api.sandboxes`, `api.clusters`), without a slash at the end."""
    behind = BEHIND.get()
    if behind is not None and slug in (behind.slug, behind.alias):
        return behind.api
    name = attached_name(slug)
    return f"/api/sandboxes/{slug}" if name is None else f"/api/clusters/{name}"


class AttachedName:
    """A path converter: `<attached:slug>` in a URL has the name of a cluster, which the view receives as its slug."""

    regex = "[a-z0-9][a-z0-9-]{0,47}"

    def to_python(self, value: str) -> str:
        return attached_slug(value)

    def to_url(self, value: str) -> str:
        return value.removeprefix(PREFIX)
