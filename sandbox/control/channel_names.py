"""Names of live channels, each with one spelling, so that equal channels have equal names.

`board/<slug>/<group>/<topic>`, `messages/<slug>?topic=orders&key=k` (catalogue 10).  Parts and values are encoded by
`quote(value, safe="")`; filters are in the order of FILTERS, each at most once and none empty.
"""

from typing import NamedTuple
from urllib.parse import quote, unquote

from sandbox.kernel.errors import SandboxError


class Kind(NamedTuple):
    """Kind of a channel.

    `parts`: number of parts after the slug; `least_interval_s`: minimum time between two readings.  None means that
    the channel is read with its page only.
    """

    parts: tuple[int, ...]
    least_interval_s: float | None


KINDS = {
    "board": Kind((2,), 0.05),
    "locks": Kind((1,), 0.25),
    "rebalance": Kind((1,), 0.25),
    "groups": Kind((0,), 1.0),
    "findings": Kind((0,), None),
    "store": Kind((1, 2), 0.2),
    "index": Kind((1,), 0.5),
    "topics": Kind((0,), None),
    "topology": Kind((0,), 0.5),
    "wire": Kind((0, 1), 0.1),
    "messages": Kind((0,), 0.1),
    "connect": Kind((0,), 0.25),
    "client": Kind((1,), 0.5),
    "lab": Kind((0,), 0.25),  # what a teacher does is seen within a second
    "tile": Kind((0,), 0.5),
    "facts": Kind((0,), 0.2),
}
FILTERS = ("topic", "queue", "tag", "key")  # of messages; or `id` alone
FILTER_CHARS = 255


class ChannelUnknown(SandboxError):
    """Error: no such channel.  Its kind, number of parts or spelling is wrong, or nothing has that name."""


class NodeStopped(ChannelUnknown):
    """Error: the broker of this channel is stopped.  The channel can be read again when the broker starts."""


def parse_channel(name: str) -> tuple[str, str, list[str]]:
    """Return kind, slug and the other parts, decoded; the text after a question mark is the last part, unchanged.

    >>> parse_channel("board/demo/order-svc/%25RETRY%25order-svc")
    ('board', 'demo', ['order-svc', '%RETRY%order-svc'])
    >>> parse_channel("messages/demo?topic=orders&key=a%26b")
    ('messages', 'demo', ['topic=orders&key=a%26b'])

    Raises ChannelUnknown.
    """
    path, mark, query = name.partition("?")
    kind, *rest = path.split("/")
    well_spelled = (
        kind in KINDS
        and name.isascii()
        and len(rest) - 1 in KINDS[kind].parts
        and rest[0]
        and all(map(_is_encoded, rest))
        and (not mark or (kind == "messages" and _is_filter(query)))
    )
    if not well_spelled:
        raise ChannelUnknown(f"{name} is no channel")
    return split_channel(name)


def split_channel(name: str) -> tuple[str, str, list[str]]:
    """Split a name made in this code base, in any spelling, like `parse_channel`."""
    path, mark, query = name.partition("?")
    kind, slug, *rest = (unquote(part) for part in path.split("/"))
    return kind, slug, [*rest, query] if mark else rest


def split_without_slug(name: str) -> tuple[str, list[str]]:
    """Split a name that has no slug into kind and parts.

    >>> split_without_slug("board/order-svc/%25RETRY%25order-svc")
    ('board', ['order-svc', '%RETRY%order-svc'])
    """
    kind, *parts = (unquote(part) for part in name.split("/"))
    return kind, parts


def _is_filter(query: str) -> bool:
    pairs = [pair.partition("=") for pair in query.split("&")]
    names = [name for name, _, _ in pairs]
    return all(map(_is_value, (value for _, _, value in pairs))) and (
        names in (["id"], [name for name in FILTERS if name in names])
    )


def _is_value(text: str) -> bool:
    value = unquote(text)
    return bool(value) and value == value.strip()[:FILTER_CHARS] and _is_encoded(text)


def _is_encoded(text: str) -> bool:
    return quote(unquote(text), safe="") == text
