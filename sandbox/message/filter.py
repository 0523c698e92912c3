"""Which messages a subscription wants, as far as a queue unit can tell.

RocketMQ: `FilterAPI.buildSubscriptionData`, `ExpressionMessageFilter`.
"""

from typing import NamedTuple, Protocol

from sandbox.message.string_hash import tags_code

ALL = "*"
TAG = "TAG"
SQL92 = "SQL92"

_SEPARATOR = "||"


class MessageFilter(Protocol):
    """What the store asks about each message it is about to give out.

    `codes` is the cheap question, answered from the queue unit: None lets every tags code pass.
    `by_properties` says that `wants` must be asked as well, which costs reading the record.
    """

    @property
    def codes(self) -> frozenset[int] | None: ...
    @property
    def by_properties(self) -> bool: ...
    def wants(self, properties: dict[str, str]) -> bool: ...


class TagFilter(NamedTuple):
    """A tag expression, parsed.  Hash codes collide, so who receives must look at the text again.

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
        """The exact question, by text: what the client asks of what it was given."""
        return self.codes is None or properties.get("TAGS", "") in self.tags


EVERYTHING = TagFilter(ALL, frozenset(), None)


def parse_tags(expression: str | None) -> TagFilter:
    """`*`, or tags joined by `||`.  Raises ValueError for an expression of separators alone."""
    if not expression or expression == ALL:
        return EVERYTHING
    pieces = expression.split(_SEPARATOR)
    if not any(pieces):  # Java's split drops empty pieces at the end, here all of them
        raise ValueError("subString split error")
    tags = frozenset(stripped for piece in pieces if (stripped := piece.strip()))
    return TagFilter(expression, tags, frozenset(tags_code(tag) for tag in tags))
