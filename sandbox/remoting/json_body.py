"""JSON bodies: written as strict JSON, read as fastjson writes them (spec remoting 3).

Every exception about the shape of a body becomes Malformed, so that an invalid body refuses one command and leaves
the connection open.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sandbox.kernel import json_bytes, loose_json
from sandbox.remoting.fields import Malformed

Queue = tuple[str, str, int]
"""Topic, broker name, queue id, as in `message.queue.MessageQueue`."""


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Convert errors in the shape of a body to Malformed; use it as the context in which one body is read."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise Malformed(f"the body is no {what}: {type(error).__name__} {error!s:.120}") from None


def loads(data: bytes | None) -> dict[str, Any]:
    """Return the object in `data`; an empty body is an empty object."""
    if not data:
        return {}
    if b'"$ref"' in data:
        value = loose_json.loads(data)
    else:
        try:
            value = json_bytes.loads(data)
        except json_bytes.JSONDecodeError:
            value = loose_json.loads(data)
    if not isinstance(value, dict):
        raise TypeError(f"{type(value).__name__} instead of an object")
    return value


def dumps(value: object) -> bytes:
    return json_bytes.dumps(value, option=json_bytes.OPT_NON_STR_KEYS)


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} instead of a text")
    return value


def number(value: Any) -> int:
    """Return the value as a number: C++ clients write some numbers as text."""
    if isinstance(value, str | int | float):
        return int(value)
    raise TypeError(f"{value!r:.40} instead of a number")


def table(value: Any) -> dict[str, Any]:
    """Return the value as a map, which may be missing."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError(f"{value!r:.40} instead of a map")
    return value


def rows(value: Any) -> list[Any]:
    """Return the value as a list, which may be missing."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.40} instead of a list")
    return value


def queue_of(value: Any) -> Queue:
    """Return a queue that is an object or the text of a map's key."""
    if isinstance(value, str):
        value = loose_json.loads(value)
    return text(value["topic"]), text(value["brokerName"]), number(value["queueId"])


def queue_json(queue: Queue) -> dict[str, object]:
    topic, broker, queue_id = queue
    return {"brokerName": broker, "queueId": queue_id, "topic": topic}


def queue_key(queue: Queue) -> str:
    """Return a queue as the key of a strict JSON map; Java reads it like its own form (spec remoting 3.5)."""
    return json_bytes.dumps(queue_json(queue)).decode()
