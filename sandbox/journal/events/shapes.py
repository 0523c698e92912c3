"""Field types of events, as the schema uses them."""

from typing import Annotated

Long = Annotated[int, "int64"]
"""An offset, a size or a seq: 64 bits, so a string in JSON that reaches a browser."""

Runs = tuple[tuple[Long, Long], ...]
"""Offset runs, both ends included."""

QueueRuns = tuple[tuple[str, Runs], ...]
"""Offset runs per queue key (`topic/broker/queue_id`)."""

Labels = tuple[str, ...]
