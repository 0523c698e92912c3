"""Replacement of a sandbox's name behind a live link.

The name is an address that still works after the link has ended, so readers of the link must not see it.  This
module lists the parts that carry the name: addresses (made by `slugs`, for each reader), the sandbox's own row,
channels, refusals.  The addresses of other sandboxes (its parent, the source of its seed) are left out.  An actor is
shown as a role alone.  Stored content stays as it is: bodies, keys, properties, names of topics and groups.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from queueviz import slugs
from queueviz.access.digests import digest
from sandbox.journal.event_filter import Row, without_own_names
from sandbox.kernel import json_bytes

if TYPE_CHECKING:
    from django.http import HttpRequest

ALIAS_CHARS = 8
OTHER = "another-sandbox"
TEACHER = "instructor"
HELD = ("lab", "tile")  # channels that name a teacher who has taken over
FACTS = "facts"
HEAD = re.compile(r'\{"k":"(\w+)","ch":("(?:[^"\\]|\\.)*")')  # as `live.frames` begins each message of a channel


class Mask(NamedTuple):
    """The replacement of one sandbox's name for readers of one live link.

    `slug` is the sandbox's name, `secret` the secret of the link.
    """

    slug: str
    secret: str

    @property
    def alias(self) -> str:
        """The name of the sandbox that readers of the link see."""
        return f"link-{digest(self.secret)[:ALIAS_CHARS]}"

    @property
    def root(self) -> str:
        return f"/v/{self.secret}/"

    @property
    def api(self) -> str:
        return f"/v/{self.secret}/api"

    def address(self, text: str) -> str:
        """Return an address, such as the target of a redirect, with the link's root in place of the sandbox's."""
        return text.replace(f"/s/{self.slug}/", self.root).replace(f"/api/sandboxes/{self.slug}", self.api)

    def text(self, text: str) -> str:
        """Return a name or sentence of the product without the names of this and other sandboxes."""
        return slugs.ANY.sub(OTHER, self.address(text).replace(self.slug, self.alias))

    def texts(self, value: Any) -> Any:
        """Return a value, such as a row of the sandbox, with `text` applied to every string inside."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {name: self.texts(item) for name, item in value.items()}
        return [self.texts(item) for item in value] if isinstance(value, list | tuple) else value

    def channel(self, name: str) -> str:
        return _renamed(name, self.slug, self.alias)

    def inner_channel(self, name: str) -> str:
        return _renamed(name, self.alias, self.slug)

    def row(self, row: Row) -> Row:
        """Return an event row without the sandbox's own names."""
        row = without_own_names(row)
        if row["type"] != "Keyframe":
            return row
        whole = row["snapshot"]
        return {**row, "snapshot": {**whole, "sandbox": {**whole["sandbox"], "slug": self.alias, "name": self.alias}}}

    def frame(self, text: str) -> str:
        """Return a socket message from the server with the channel names and rows that readers of the link may see."""
        head = HEAD.match(text)
        if head is None:
            return text
        name = self.channel(json_bytes.loads(head[2]))
        kind = name.partition("/")[0]
        if kind == FACTS and head[1] == FACTS:
            message = json_bytes.loads(text)
            return _json({**message, "ch": name, "rows": [self.row(row) for row in message["rows"]]})
        if kind in HELD and head[1] in ("snap", "delta"):
            message = json_bytes.loads(text)
            part = "data" if head[1] == "snap" else "set"
            return _json({**message, "ch": name, part: without_teacher(message[part])})
        return f"{text[: head.start(2)]}{_json(name)}{text[head.end(2) :]}"

    def message(self, message: Mapping[str, object]) -> dict[str, object]:
        """Return a socket message from a reader of the link with the server's own channel names."""
        masked = dict(message)
        if isinstance(ch := masked.get("ch"), str):
            masked["ch"] = self.inner_channel(ch)
        if isinstance(painted := masked.get("n"), dict):
            masked["n"] = {self.inner_channel(name): n for name, n in painted.items()}
        return masked


@contextmanager
def behind(mask: Mask) -> Iterator[None]:
    """Hide the sandbox's name while the server makes an answer for a reader of the link."""
    token = slugs.BEHIND.set(mask)
    try:
        yield
    finally:
        slugs.BEHIND.reset(token)


def current() -> Mask | None:
    """Return the mask that `behind` has set for the current answer, or None."""
    mask = slugs.BEHIND.get()
    return mask if isinstance(mask, Mask) else None


def of_request(request: "HttpRequest") -> Mask | None:
    """Return the mask of the request, or None.  Answers made after the view and refusals need it."""
    mask: Mask | None = getattr(request, "mask", None)
    return mask


def shown(value: Any) -> Any:
    """Return a name, a sentence or a row of the sandbox as the current reader may see it."""
    mask = current()
    return value if mask is None else mask.texts(value)


def shown_channel(name: str) -> str:
    mask = current()
    return name if mask is None else mask.channel(name)


def without_teacher(view: Mapping[str, object]) -> dict[str, object]:
    """Return a view of a tile or lab in progress, without the name of a teacher who has taken over.

    The name is replaced by the role.
    """
    shown_view = dict(view)
    for part in ("hold", "tile"):
        if isinstance(row := shown_view.get(part), dict) and row.get("acts"):
            shown_view[part] = {**row, "acts": TEACHER}
    return shown_view


def _renamed(name: str, old: str, new: str) -> str:
    """Return a channel name (kind, sandbox, subject) with the sandbox's name `old` replaced by `new`."""
    kind, slash, rest = name.partition("/")
    match = re.match(rf"{re.escape(old)}(?=[/?]|$)", rest)
    return name if match is None else f"{kind}{slash}{new}{rest[match.end() :]}"


def _json(value: Any) -> str:
    return json_bytes.dumps(value).decode()
