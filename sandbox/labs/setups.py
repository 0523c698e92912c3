"""Parts of a setup that most labs use: their topic, and members of their group."""

from typing import Any

from sandbox.control.actions import CreateTopic, StartConsumer, Subscription
from sandbox.labs.evidence import Numbers


def topic(n: Numbers, queues: int, **fields: Any) -> CreateTopic:
    """Return the action that creates the lab's topic with as many write queues as read queues."""
    return CreateTopic(topic=n["topic"], write_queues=queues, read_queues=queues, **fields)


def member(n: Numbers, expression: str = "*", *, group: str = "group", **fields: Any) -> StartConsumer:
    """Return the action that starts members of a lab's group: `member(n, actor="left", work_ms=(20, 60))`."""
    return StartConsumer(group=n[group], subscriptions=(Subscription(n["topic"], expression),), **fields)
