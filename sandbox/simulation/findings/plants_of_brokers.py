"""Troubles of brokers: down, full, damaged, served by a slave, without their locks."""

from sandbox.kernel.chance import Chance
from sandbox.simulation.findings.baseline import Baseline
from sandbox.simulation.findings.plant import Act, Plant, act
from sandbox.simulation.world import World
from sandbox.store.table_files import BACKUP, TOPICS, path_of


def _full_disk(base: Baseline, chance: Chance) -> list[Act]:
    return [act("FillDisk", broker="broker-a")]


def _down(base: Baseline, chance: Chance) -> list[Act]:
    return [act(chance.choice(("KillBroker", "StopBroker", "HangBroker")), broker="broker-a")]


def _slave(base: Baseline, chance: Chance) -> list[Act]:
    return [act("KillBroker", broker="broker-a")]


def _lost_locks(base: Baseline, chance: Chance) -> list[Act]:
    """Restart the broker at least 4 s before the members lock again, 10 s after the planting."""
    at_s = chance.between(2.0, 5.5)
    return [act("KillBroker", at_s, broker="broker-a"), act("StartBroker", at_s + 0.5, broker="broker-a")]


def _damage(world: World) -> None:
    """Overwrite a table of the stopped broker and its backup with NUL bytes."""
    [disk] = [disk for name, disk in world.environment.disks.items() if name.endswith("/broker-a")]
    for path in (path_of(TOPICS), path_of(TOPICS) + BACKUP):
        disk.write(path, bytes(100))


def _damaged(base: Baseline, chance: Chance) -> list[Act]:
    return [
        act(chance.choice(("StopBroker", "KillBroker")), broker="broker-a"),
        Act(4.0, "", {}, _damage),
        act("StartBroker", 5.0, broker="broker-a")._replace(may_fail=True),
    ]


PLANTS = (
    Plant("writes_refused", _full_disk, 2.0, alone=True),
    Plant(
        "broker_down",
        _down,
        2.0,
        ("queue_without_reader", "member_hung"),
        ordered=True,
        alone=True,
        stays_s=150.0,
        says=("unread_by", "ordered"),
    ),
    Plant("table_damaged", _damaged, 5.0, ("broker_down",), alone=True),
    Plant("slave_serves", _slave, 4.0, ("broker_down",), slave=True, alone=True),
    Plant("lock_table_lost", _lost_locks, 4.0, ("broker_down",), ordered=True, alone=True),
)
