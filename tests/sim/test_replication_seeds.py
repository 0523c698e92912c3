"""Whatever happens to a slave and its link, its log is what its master wrote, from where it began."""

from pathlib import Path

import pytest

from sandbox.kernel.chance import Chance
from sandbox.simulation.world import World
from sandbox.store.message_store import MessageStore
from tests.wide import seeds

CALM_S = 60  # a route to the master 30 s, 5 s until the next try, 5 s of silence, and some


def bytes_between(store: MessageStore, start: int, end: int) -> bytes:
    parts: list[bytes] = []
    for file in store.log.files.files:
        low, high = max(start, file.base), min(end, file.end)
        if low < high:
            parts.append(bytes(store.log.files.pool.view(file)[low - file.base : high - file.base]))
    return b"".join(parts)


def assert_prefix(world: World) -> None:
    """The slave has nothing its master has not, and nothing otherwise."""
    master, slave = (world.cluster.nodes.broker("broker-a", number).broker for number in (0, 1))
    if master is None or slave is None:
        return
    start, end = slave.store.min_physical_offset, slave.store.max_physical_offset
    assert end <= master.store.max_physical_offset
    assert bytes_between(slave.store, start, end) == bytes_between(master.store, start, end)


@pytest.mark.parametrize("seed", seeds(4, 10))
def test_a_slave_s_log_is_always_the_beginning_of_its_master_s(tmp_path: Path, seed: int) -> None:
    chance = Chance(f"replication {seed}")
    with World(tmp_path, "cluster", seed=seed, preset="teaching", latency_ms=(0.2, 20.0)) as world:
        world.act("SendMessages", topic="orders", count=200, body_bytes=400)
        world.run(chance.between(1, 30))
        slave, cut = world.cluster.nodes.broker("broker-a", 1), False
        for _ in range(8):
            event = chance.choice(["slave", "slave", "link", "link", "master", "burst"])
            if event == "slave":
                verb = "StartBroker" if slave.broker is None else chance.choice(["KillBroker", "StopBroker"])
                world.act(verb, broker="broker-a", broker_id=1)
            elif event == "link":
                world.act("HealLink" if cut else "CutLink", a="broker-a", b="broker-a.1")
                cut = not cut
            elif event == "master":
                world.act("KillBroker", broker="broker-a")
                world.run(1)
                world.act("StartBroker", broker="broker-a")
            else:
                world.act("SendMessages", topic="orders", count=100, body_bytes=chance.below(1_500) + 1)
            world.run(chance.between(0.05, 25))
            assert_prefix(world)
        if cut:
            world.act("HealLink", a="broker-a", b="broker-a.1")
        if slave.broker is None:
            world.act("StartBroker", broker="broker-a", broker_id=1)
        world.act("StopActor", actor="shop")
        world.run(CALM_S)
        assert_prefix(world)
        master = world.cluster.nodes.broker("broker-a").running.store
        assert slave.running.store.max_physical_offset == master.max_physical_offset
        for topic, queue_id in slave.running.store.queues():
            assert slave.running.store.max_offset(topic, queue_id) == master.max_offset(topic, queue_id)
