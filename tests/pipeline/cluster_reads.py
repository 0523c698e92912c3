"""Reading a cluster of virtual time as Spark does it: planned, then read."""

from collections.abc import Coroutine
from typing import Any, TypeVar

from sandbox.pipeline.sources.cluster import ClusterReader, RangePartition
from sandbox.pipeline.sources.cluster_access import Access
from sandbox.pipeline.sources.cluster_line import Dial
from sandbox.pipeline.sources.cluster_link import Link
from sandbox.pipeline.sources.cluster_options import asked_of, stream_of
from sandbox.pipeline.sources.cluster_stream import ClusterStreamReader
from tests.pipeline.streams import Stream
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
    """Return the offsets of T's queues, read once, in the order of the rows."""
    found: dict[int, list[int]] = {}
    for row in rows(world, **given):
        found.setdefault(row["queueId"], []).append(row["queueOffset"])
    return found


def ranges(world: World, **given: str) -> list[tuple[str, int, int]]:
    """Return the planned ranges: queue, begin, end."""
    found = []
    for partition in ClusterReader(asked_of(options(**given)), dial(world)).partitions():
        assert isinstance(partition, RangePartition)
        found.append((partition.piece.queue.row, partition.piece.begin, partition.piece.end))
    return found


def streaming(world: World, **given: str) -> Stream:
    """Its rows are places."""

    def made() -> ClusterStreamReader:
        return ClusterStreamReader(stream_of(options(columns=",".join(PLACE), **given)), dial(world))

    return Stream(made, PLACE, idle=lambda: world.pass_s(0.2))
