"""A sleeping sandbox shows its last state: its channels as they were when it fell asleep."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster.config import HostConfig
from sandbox.control.actions import KillBroker
from sandbox.control.questions import RecentLag
from sandbox.control.readings import Reading, Refusal
from sandbox.hosting import last_readings
from sandbox.hosting.host import Host
from sandbox.simulation.world import SimulatedEnvironment

PAGES = [
    "board/one/gate-display/flights",
    "board/one/gate-display/%25RETRY%25gate-display",
    "findings/one",
    "groups/one",
    "locks/one/maintenance",
    "rebalance/one/gate-display",
    "topology/one",
    "topics/one",
    "client/one/A",
]
LAG = RecentLag(group="gate-display", topic="flights")


class Stage:
    """A host with one sandbox that has run for 30 s, the last 15 of them without its broker."""

    def __init__(self, tmp_path: Path) -> None:
        self.environment = SimulatedEnvironment(1, (0, 0))
        self.host = Host(tmp_path, HostConfig(), self.environment)
        self.host.start()
        self.run(self.host.create("one", "flights", preset="sandbox", seed=1, changes=None, limits=None))
        self.environment.sim.run_for(15)
        self.host.awake("one").act(KillBroker(broker="broker-a"), "owner")
        self.environment.sim.run_for(15)

    def run(self, coroutine: Any) -> Any:
        return self.environment.sim.run(coroutine)

    def read(self, *, last: bool = True) -> list[Reading | Refusal]:
        answer: list[Reading | Refusal] = self.run(self.host.read(PAGES, last=last))
        return answer


@pytest.fixture
def stage(tmp_path: Path) -> Any:
    stage = Stage(tmp_path)
    yield stage
    stage.run(stage.host.close())
    stage.environment.close()


def data(readings: list[Reading | Refusal]) -> list[Any]:
    return [reading.data if isinstance(reading, Reading) else reading for reading in readings]


def test_its_pages_show_what_they_showed_when_it_fell_asleep(stage: Stage) -> None:
    awake = stage.read()
    assert all(isinstance(reading, Reading) for reading in awake)
    stage.run(stage.host.sleep("one", "test"))
    asleep = stage.read()
    assert data(asleep) == data(awake)
    assert {reading.rate for reading in asleep if isinstance(reading, Reading)} == {0.0}, "its clock stands"
    codes = [row["code"] for row in data(asleep)[2]["findings"]]
    assert codes[0] == "broker_down"
    assert stage.host.snapshot("one")["sandbox"]["killed"] is False


def test_its_last_five_minutes_of_lag_stay(stage: Stage) -> None:
    stage.run(stage.host.sleep("one", "test"))
    lag: Any = stage.run(stage.host.ask("one", LAG))
    assert len(lag["queues"]) == 8
    assert all(values[10] is not None for values in lag["queues"].values())


def test_a_reader_of_live_channels_hears_that_it_sleeps(stage: Stage) -> None:
    stage.run(stage.host.sleep("one", "test"))
    assert stage.read(last=False) == [Refusal("asleep")] * len(PAGES)
    assert stage.run(stage.host.read_within(PAGES[:1], 1.0))[0].answer == Refusal("asleep")


def test_a_killed_server_leaves_no_older_state(stage: Stage) -> None:
    stage.run(stage.host.sleep("one", "test"))
    stage.run(stage.host.wake("one"))
    assert not (stage.host.awake("one").directory / last_readings.FILE_NAME).exists()
    stage.host.awake("one").crash()
    stage.host._registry.scan()
    assert stage.host.snapshot("one")["sandbox"]["killed"] is True
    assert stage.read() == [Refusal("asleep")] * len(PAGES)


def test_a_damaged_file_is_no_state(stage: Stage) -> None:
    directory = stage.host.awake("one").directory
    stage.run(stage.host.sleep("one", "test"))
    (directory / last_readings.FILE_NAME).write_bytes(b"damaged")
    assert stage.read() == [Refusal("asleep")] * len(PAGES)
