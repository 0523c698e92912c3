"""An engine among several on one data home: what it holds, until others may have it."""

from pathlib import Path

import pytest

from sandbox.cluster.config import HostConfig
from sandbox.hosting.engine_share import Share
from sandbox.hosting.host import RESTED_S, Host
from sandbox.hosting.lease import Lease
from sandbox.hosting.registry import NotHeld
from sandbox.simulation.world import SimulatedEnvironment
from tests.lease_memory import LeasesInMemory

SLUG, ENGINE = "mine", "one"


class Held:
    """A host whose sandbox sleeps and was given back, on a machine that has run for a while."""

    def __init__(self, home: Path) -> None:
        self.machine = SimulatedEnvironment(1, (0, 0))
        self.table = LeasesInMemory(self.machine.sim.time, lease_s=1e9)
        lease = Lease(self.table, ENGINE, self.machine.sim.time, lease_s=1e9)
        lease.enlist("name of one", "host")
        self.look_around_s = HostConfig().look_around_s
        self.host = Host(home, HostConfig(), self.machine, Share(0, frozenset()), lease)
        self.machine.sim.call_soon(self.host.start)
        self.hold(new=True)
        self.machine.sim.run(self.host.create(SLUG, "empty", preset="sandbox", seed=1, changes=None, limits=None))
        self.machine.sim.run(self.host.sleep(SLUG, "test"))
        self.machine.sim.run_for(2 * RESTED_S)

    def hold(self, *, new: bool = False) -> None:
        self.machine.sim.run(self.host.hold(SLUG, new=new))

    def wake(self) -> str:
        return str(self.machine.sim.run(self.host.wake(SLUG))["state"])

    @property
    def holders(self) -> list[str]:
        return [engine for engine in self.table.places().values() if engine]


@pytest.fixture
def held(tmp_path: Path) -> Held:
    return Held(tmp_path)


def test_what_has_no_view_for_long_is_given_back(held: Held) -> None:
    assert held.holders == []
    with pytest.raises(NotHeld):
        held.wake()


def test_what_was_just_taken_is_kept_until_it_can_be_woken(held: Held) -> None:
    """The engine may look around for what rests between the two."""
    held.hold()
    held.machine.sim.run_for(2 * held.look_around_s)
    assert held.holders == [ENGINE]
    assert held.wake() == "live"


def test_who_asks_for_it_again_keeps_it(held: Held) -> None:
    held.hold()
    held.machine.sim.run_for(RESTED_S - held.look_around_s)
    held.hold()
    held.machine.sim.run_for(2 * held.look_around_s)
    assert held.wake() == "live"
