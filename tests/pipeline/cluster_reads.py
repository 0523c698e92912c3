"""Reading a cluster of virtual time as Spark does it: planned, read, and of a stream written down between."""

import json
from collections.abc import Coroutine
from typing import Any, TypeVar

import pyarrow as pa

from sandbox.pipeline.access import Access
from sandbox.pipeline.sources.cluster import ClusterReader, RangePartition
from sandbox.pipeline.sources.cluster_line import Dial
from sandbox.pipeline.sources.cluster_link import Link
from sandbox.pipeline.sources.cluster_options import asked_of, stream_of
from sandbox.pipeline.sources.cluster_stream import ClusterStreamReader
from tests.sim.client_world import NAME_SERVER, World

READER = "10.0.9.9"
T = TypeVar("T")
Place = tuple[str, str, int, int]
PLACE = ["topic", "broker", "queueId", "queueOffset"]


class SimLine:
    """A line over the world's network, on its loop."""

    def __init__(self, world: World, access: Access) -> None:
        self._world = world
        self.link = Link(access, clock=world.clock, connector=world.network.connector(READER))

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        found: T = self._world.run(coroutine)
        return found

    def close(self) -> None:
        async def closed() -> None:
            self.link.close()

        self._world.run(closed())


def dial(world: World) -> Dial:
    return lambda access: SimLine(world, access)


def options(**given: str) -> dict[str, str]:
    chosen = {} if {"subscribePattern", "assign"} & given.keys() else {"subscribe": "T"}
    return {"names": NAME_SERVER, **chosen, **given}


def rows(world: World, **given: str) -> list[dict[str, Any]]:
    """Read once."""
    reader = ClusterReader(asked_of(options(**given)), dial(world))
    return [row for partition in reader.partitions() for batch in reader.read(partition) for row in batch.to_pylist()]


def offsets(world: World, **given: str) -> dict[int, list[int]]:
    """Of queues of T, read once, in the order of the rows."""
    found: dict[int, list[int]] = {}
    for row in rows(world, **given):
        found.setdefault(row["queueId"], []).append(row["queueOffset"])
    return found


def ranges(world: World, **given: str) -> list[tuple[str, int, int]]:
    """What is planned: queue, begin, end."""
    found = []
    for partition in ClusterReader(asked_of(options(**given)), dial(world)).partitions():
        assert isinstance(partition, RangePartition)
        found.append((partition.piece.queue.row, partition.piece.begin, partition.piece.end))
    return found


class Stream:
    """A query with a checkpoint: ends are written down before they are read, and committed after."""

    def __init__(self, world: World, **given: str) -> None:
        self.world, self.given = world, given
        self.ends: list[str] = []
        self.committed = 0
        self.places: list[Place] = []
        self.start()

    def start(self) -> None:
        """Also a new start of a query that was killed."""
        self.reader = ClusterStreamReader(stream_of(options(columns=",".join(PLACE), **self.given)), dial(self.world))
        self.begin = json.dumps(self.reader.initialOffset()) if not self.committed else ""

    @property
    def last(self) -> str:
        return self.ends[self.committed - 1] if self.committed else self.begin

    def plan(self) -> bool:
        """Whether there is a batch to read."""
        if len(self.ends) == self.committed:
            end = json.dumps(self.reader.latestOffset(json.loads(self.last), self.reader.getDefaultReadLimit()))
            if self.ends and end == self.last:
                return False
            self.ends.append(end)
        return True

    def read(self) -> list[Place]:
        """The planned batch."""
        start, end = json.loads(self.last), json.loads(self.ends[-1])
        batches = [batch for partition in self.reader.partitions(start, end) for batch in self.reader.read(partition)]
        return [tuple(row.values()) for batch in batches for row in pa.RecordBatch.to_pylist(batch)]

    def commit(self, places: list[Place]) -> None:
        self.places += places
        self.committed = len(self.ends)

    def step(self) -> int | None:
        """A whole batch: its rows; None: there is nothing to do now."""
        if not self.plan():
            self.world.pass_s(0.2)
            return None
        found = self.read()
        self.commit(found)
        return len(found)

    def run(self) -> list[Place]:
        """All that is there."""
        while self.step() is not None:
            pass
        return self.places
