"""Filters of messages by a subscription, as far as a queue entry allows.

RocketMQ: `FilterAPI.buildSubscriptionData`, `ExpressionMessageFilter`.
"""

from typing import NamedTuple, Protocol

from sandbox.message.string_hash import tags_code

ALL = "*"
TAG = "TAG"
SQL92 = "SQL92"

_SEPARATOR = "||"


class MessageFilter(Protocol):
    """A filter that the store applies before it returns a message.

    `codes` is the cheap check, on the queue entry: the matching tags codes, or None for all.  `by_properties`:
    `wants` must be called as well, which costs reading the record.
    """

    @property
    def codes(self) -> frozenset[int] | None: ...
    @property
    def by_properties(self) -> bool: ...
    def wants(self, properties: dict[str, str]) -> bool: ...


class TagFilter(NamedTuple):
    """A parsed tag expression.  Hash codes collide, so the receiver must compare the text again.

    >>> sorted(parse_tags("TagA || TagB").tags)
    ['TagA', 'TagB']
    """

    expression: str
    tags: frozenset[str]
    codes: frozenset[int] | None

    @property
    def by_properties(self) -> bool:
        return False

    def wants(self, properties: dict[str, str]) -> bool:
        """Return True if the tag matches by text, the exact check that a client makes on received messages."""
        return self.codes is None or properties.get("TAGS", "") in self.tags


EVERYTHING = TagFilter(ALL, frozenset(), None)


def parse_tags(expression: str | None) -> TagFilter:
    """Return the filter of an expression: `*`, or tags joined by `||`.

    Raises ValueError for an expression of separators alone.
    """
    if not expression or expression == ALL:
        return EVERYTHING
    pieces = expression.split(_SEPARATOR)
    if not any(pieces):  # Java's split drops empty pieces at the end, here all of them
        raise ValueError("subString split error")
    tags = frozenset(stripped for piece in pieces if (stripped := piece.strip()))
    return TagFilter(expression, tags, frozenset(tags_code(tag) for tag in tags))
