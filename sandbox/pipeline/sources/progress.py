"""The number of messages by which a stream is behind, from Spark's progress report."""

from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.kernel import json_bytes


def behind(source: Mapping[str, object]) -> int:
    """Return the number of messages that the stream had not read by the end of its batch.

    `source`: one of the `sources` of its progress, `rocketmq` or `rocketmq-store`.  Offsets are JSON texts there; in
    the progress's own JSON they are objects.
    """
    latest, end = (
        dict(_offsets(json_bytes.loads(text) if isinstance(text, str) else text))
        for text in (source["latestOffset"], source["endOffset"])
    )
    return sum(max(0, high - end.get(queue, 0)) for queue, high in latest.items())


def _offsets(value: Any, name: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield each offset with the names around it, which together identify its queue."""
    if isinstance(value, dict):
        for part, inner in value.items():
            yield from _offsets(inner, (*name, part))
    else:
        yield name, value
