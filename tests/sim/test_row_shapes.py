"""Snapshots and live channels have the shapes of `queries.rows`, in sandbox and real cluster.

mypy checks who builds and who reads a row; that the value of a channel is the one its page expects, only running shows.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from sandbox.labs.catalogue import LABS
from sandbox.queries.rows.board import Board
from sandbox.queries.rows.clients import Client
from sandbox.queries.rows.connect import Connect
from sandbox.queries.rows.group_states import Groups
from sandbox.queries.rows.labs import LabView
from sandbox.queries.rows.locks import Locks
from sandbox.queries.rows.rebalance import Rebalance
from sandbox.queries.rows.snapshot import Snapshot
from sandbox.queries.rows.storage import Disk, Index, Store
from sandbox.queries.rows.tile import Tile
from sandbox.queries.rows.topics import Topics
from sandbox.queries.rows.topology import Topology
from sandbox.simulation.lab_player import LabPlayer
from sandbox.simulation.world import World
from tests.sim.attached_stage import Office

SCALARS = {float: (int, float), int: (int,), str: (str,), bool: (bool,), type(None): (type(None),)}


def wrong(value: object, shape: Any, at: str) -> Iterator[str]:
    """Each place where a value is not what the shape says."""
    if shape in (Any, object):
        return
    if is_typeddict(shape):
        assert isinstance(value, dict), f"{at}: {value!r} is no row"
        hints = get_type_hints(shape)
        yield from (f"{at}: {name} is missing" for name in sorted(shape.__required_keys__ - value.keys()))
        yield from (f"{at}: {name} is not declared" for name in sorted(value.keys() - hints.keys()))
        for name in value.keys() & hints.keys():
            yield from wrong(value[name], hints[name], f"{at}.{name}")
    elif get_origin(shape) in (Union, UnionType):
        options = [option for option in get_args(shape) if (option is type(None)) == (value is None)]
        yield from min(
            (list(wrong(value, option, at)) for option in options), key=len, default=[f"{at}: None is not declared"]
        )
    elif get_origin(shape) in (dict, Mapping) and isinstance(value, dict):
        for key, inside in value.items():
            yield from wrong(inside, get_args(shape)[1], f"{at}[{key}]")
    elif get_origin(shape) is list and isinstance(value, list):
        for number, inside in enumerate(value):
            yield from wrong(inside, get_args(shape)[0], f"{at}[{number}]")
    elif isinstance(value, bool) != (shape is bool) or not isinstance(value, SCALARS.get(shape, ())):
        yield f"{at}: {value!r} is not {shape}"


def of_groups(snapshot: Any) -> dict[str, Any]:
    """The channels of each group, with their shapes."""
    found: dict[str, Any] = {}
    for group in snapshot["groups"]:
        name = group["group"]
        found |= {f"board/{name}/{sub['topic']}": Board for sub in group["subscription"]}
        found |= {f"locks/{name}": Locks, f"rebalance/{name}": Rebalance}
    return found


def of_nodes(snapshot: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for broker in snapshot["brokers"]:
        node = f"{broker['broker']}.{broker['broker_id']}" if broker["broker_id"] else broker["broker"]
        if broker["state"] == "running":
            found |= {f"store/{node}": Store, f"store/{node}/disk": Disk, f"index/{node}": Index}
    return found


EVERYWHERE = {"topics": Topics, "groups": Groups, "topology": Topology}


def wrong_in(world: World) -> list[str]:
    snapshot = world.snapshot()
    clients = {f"client/{label}": Client for label in world.cluster.actors.by_label}
    channels = {
        **of_groups(snapshot),
        **of_nodes(snapshot),
        **clients,
        **EVERYWHERE,
        "connect": Connect,
        "lab": LabView,
        "tile": Tile,
    }
    return [
        *wrong(snapshot, Snapshot, "snapshot"),
        *(said for name, shape in channels.items() for said in wrong(world.read(name).data, shape, name)),
    ]


@pytest.mark.parametrize("template", ["empty", "orders", "payments", "cluster", "retries"])
def test_a_sandbox_fills_the_declared_rows(tmp_path: Path, template: str) -> None:
    with World(tmp_path, template) as world:
        world.run(8)
        assert wrong_in(world) == []


def test_a_lab_in_progress_fills_the_declared_rows(tmp_path: Path) -> None:
    lab = LABS["members-and-queues"]
    with World(tmp_path, lab.template) as world:
        player = LabPlayer(world, lab)
        assert wrong_in(world) == []
        lab.solve(player)
        assert player.attempt.finished
        assert wrong_in(world) == []


@pytest.mark.parametrize("action", ["KillBroker", "HangBroker"])
def test_so_it_does_with_a_master_away_and_a_consumer_dead(tmp_path: Path, action: str) -> None:
    with World(tmp_path, "cluster") as world:
        world.run(8)
        world.act(action, broker="broker-a")
        actor = next(iter(world.cluster.actors.consumers())).label
        world.act("CrashActor", actor=actor)
        world.run(40)
        assert wrong_in(world) == []


@pytest.mark.parametrize("template", ["orders", "payments", "cluster"])
def test_a_real_cluster_fills_the_same_rows(tmp_path: Path, template: str) -> None:
    with World(tmp_path, template) as world:
        world.run(8)
        office = Office(world)
        office.attach()
        office.glance("topology")
        world.run(10)
        snapshot = office.snapshot()
        assert snapshot["groups"], "there is something to look at"
        found = list(wrong(snapshot, Snapshot, "snapshot"))
        for name, shape in {**of_groups(snapshot), **EVERYWHERE}.items():
            found += wrong(office.read(name), shape, name)
        assert found == []


def test_a_wrong_row_is_noticed() -> None:
    lives = {"broker_ms": 1, "client_ms": None, "more": 2}
    shape = get_type_hints(Locks)["lives"]
    assert sorted(wrong(lives, shape, "lives")) == [
        "lives.client_ms: None is not <class 'int'>",
        "lives: more is not declared",
        "lives: renew_ms is missing",
    ]
