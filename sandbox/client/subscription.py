"""A group's subscription to a topic, and the client's own filter for every pulled message."""

from sandbox.kernel.errors import ClientError
from sandbox.message.filter import ALL, TAG, TagFilter, parse_tags
from sandbox.message.message import Message
from sandbox.remoting.bodies import SubscriptionData


class Subscription:
    """Subscription of one consumer to one topic.  `version` grows when the expression or the assignment changes.

    RocketMQ: `SubscriptionData` with `FilterAPI`.  The broker filters by hash, the client filters again by text.  An
    expression of another type is sent unchanged: only the broker evaluates it.
    """

    def __init__(self, topic: str, expression: str, *, version: int, expression_type: str = TAG) -> None:
        self.topic = topic
        self.expression = expression
        self.expression_type = expression_type
        self.version = version
        self._filter: TagFilter | None = None
        if expression_type == TAG:
            try:
                self._filter = parse_tags(expression)
            except ValueError as error:
                raise ClientError(f"{expression} is not a tag expression: {error}") from error
            self.expression = self._filter.expression or ALL
        elif not expression:
            raise ClientError(f"an expression of type {expression_type} cannot be empty")

    def wanted(self, messages: list[Message]) -> list[Message]:
        """Return the messages whose tag text matches; tags that only collide by hash are removed."""
        chosen = self._filter
        if chosen is None or chosen.codes is None:
            return messages
        return [message for message in messages if chosen.wants(message.properties)]

    def data(self) -> SubscriptionData:
        """Return the subscription as a heartbeat sends it."""
        tags = sorted(self._filter.tags) if self._filter else []
        codes = sorted(self._filter.codes or ()) if self._filter else []
        return SubscriptionData(
            topic=self.topic,
            sub_string=self.expression,
            tags=tuple(tags),
            codes=tuple(codes),
            sub_version=self.version,
            expression_type=self.expression_type,
        )
