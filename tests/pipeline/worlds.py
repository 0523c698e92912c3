"""Sandboxes in virtual time whose journal and stores lie on disk, for jobs to read."""

from pathlib import Path
from typing import NamedTuple

from sandbox.simulation.world import World

GROUP = "g"


class Recorded(NamedTuple):
    """A sandbox's input for a job, and its engine's own counts: group → cause → deliveries."""

    journal: Path
    stores: dict[str, Path]
    again: dict[str, dict[str, int]]


def record(world: World, home: Path) -> Recorded:
    """The world stops, and its disks are copied out of memory."""
    world.sleep()
    again = {group: dict(stats.again_by_cause) for group, stats in world.cluster.actors.group_stats.items()}
    stores = {}
    for name, disk in world.environment.disks.items():
        node = name.rpartition("/")[2]
        stores[node] = home / "stores" / node
        for path, data in disk.image().items():
            file = stores[node] / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    return Recorded(home / "sandboxes" / "world" / "journal", stores, again)


def sent(world: World, count: int, **fields: object) -> None:
    world.act("SendMessages", topic="plain", rows=[{"key": f"k-{n}", "body": "x", **fields} for n in range(count)])
    world.run(2)


def begun(home: Path) -> World:
    world = World(home)
    world.act("CreateTopic", topic="plain", write_queues=1, read_queues=1)
    return world


def member(world: World, actor: str = "A", expression: str = "*", **fields: object) -> None:
    world.act(
        "StartConsumer",
        actor=actor,
        group=GROUP,
        subscriptions=[["plain", expression]],
        work_ms=[10],
        from_where="CONSUME_FROM_FIRST_OFFSET",
        **fields,
    )
    world.run(25)
