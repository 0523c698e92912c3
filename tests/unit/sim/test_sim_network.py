"""A network that a seed rules: the same seed is the same run, and every cruelty does what it says."""

import pytest

from sandbox.kernel.chance import Chance
from sandbox.kernel.errors import ConnectFailed
from sandbox.remoting.channel import Channel
from sandbox.remoting.command import RemotingCommand
from sandbox.sim.loop import SimLoop
from sandbox.sim.network import CONNECT_TIMEOUT_S, SimNetwork

BROKER = "10.0.0.1:10911"
CLIENT = "10.0.0.2"


class World:
    """One broker that answers everything, some clients, and the transcript of what was heard when."""

    def __init__(self, seed: int = 1, latency_ms: tuple[float, float] = (1, 200), *, wire: bool = False) -> None:
        self.loop = SimLoop()
        self.network = SimNetwork(self.loop, Chance(seed), latency_ms=latency_ms, wire=wire)
        self.transcript: list[tuple[float, str]] = []
        self.network.listen(BROKER, self)

    def connected(self, channel: Channel) -> None:
        self.note(f"broker meets {channel.remote}")

    def handle(self, commands: list[RemotingCommand], channel: Channel) -> None:
        for command in commands:
            self.note(f"broker hears {command.opaque}")
            channel.send(command.reply(0))

    def disconnected(self, channel: Channel) -> None:
        self.note(f"broker loses {channel.remote}")

    def note(self, what: str) -> None:
        self.transcript.append((round(self.loop.time(), 6), what))

    def connect(self, ip: str = CLIENT) -> Channel:
        def heard(commands: list[RemotingCommand], _: Channel) -> None:
            for command in commands:
                self.note(f"{ip} hears {command.opaque}")

        return self.loop.run(self.network.connector(ip).connect(BROKER, heard, lambda _: self.note(f"{ip} loses")))

    def after(self, seconds: float) -> list[str]:
        """Return the bytes received within the next seconds."""
        known = len(self.transcript)
        self.loop.run_for(seconds)
        return [what for _, what in self.transcript[known:]]


def send(channel: Channel, *numbers: int) -> None:
    for number in numbers:
        channel.send(RemotingCommand(10, opaque=number))


def run(seed: int) -> list[tuple[float, str]]:
    world = World(seed)
    channels = [world.connect(f"10.0.0.{n}") for n in (2, 3, 4)]
    for n in range(20):
        send(channels[n % 3], n)
        world.loop.run_for(0.01)
    world.loop.run_for(2)
    return world.transcript


def test_a_seed_is_a_run() -> None:
    assert run(7) == run(7)
    assert run(7) != run(8)


def test_each_connection_keeps_its_order_whatever_the_latency() -> None:
    for seed in range(30):
        world = World(seed, wire=seed % 2 == 0)
        channel = world.connect()
        for number in range(25):
            send(channel, number)
            world.loop.run_for(0.003)
        heard = world.after(10)
        whole = [what for _, what in world.transcript]
        assert [what for what in whole if what.startswith("broker hears")] == [f"broker hears {n}" for n in range(25)]
        assert [what for what in whole if what.startswith(CLIENT)] == [f"{CLIENT} hears {n}" for n in range(25)]
        assert heard


def test_latency_stays_within_its_limits() -> None:
    world = World(3, latency_ms=(5, 10))
    channel = world.connect()
    assert 0.01 <= world.loop.time() <= 0.02
    began = world.loop.time()
    send(channel, 1)
    world.loop.run_for(1)
    times = {what: at - began for at, what in world.transcript}
    assert 0.005 <= times["broker hears 1"] <= 0.010
    assert 0.010 <= times[f"{CLIENT} hears 1"] <= 0.020


def test_in_a_partition_bytes_vanish_and_healing_brings_none_back() -> None:
    world = World()
    channel = world.connect()
    world.network.partition(CLIENT, BROKER)
    send(channel, 1)
    assert world.after(10) == []
    world.network.heal(BROKER, CLIENT)
    send(channel, 2)
    assert world.after(10) == ["broker hears 2", f"{CLIENT} hears 2"]
    assert world.network.lost == 1


def test_a_partition_may_be_one_way() -> None:
    world = World()
    channel, other = world.connect(), world.connect("10.0.0.3")
    world.network.partition(BROKER, CLIENT, one_way=True)
    send(channel, 1)
    send(other, 2)
    assert sorted(world.after(10)) == ["10.0.0.3 hears 2", "broker hears 1", "broker hears 2"]
    world.network.heal()
    send(channel, 3)
    assert world.after(10) == ["broker hears 3", f"{CLIENT} hears 3"]


def test_what_is_under_way_arrives_before_a_partition() -> None:
    world = World(latency_ms=(100, 100))
    channel = world.connect()
    send(channel, 1)
    world.loop.run_for(0.05)
    world.network.partition(CLIENT, "*")
    assert world.after(1) == ["broker hears 1"]


def test_held_bytes_go_on_in_order_when_released() -> None:
    world = World()
    channel = world.connect()
    world.network.hold(CLIENT, BROKER, one_way=True)
    send(channel, 1)
    world.loop.run_for(1)
    send(channel, 2)
    channel.close()
    assert world.after(10) == [f"{CLIENT} loses"]
    world.network.release(CLIENT, BROKER)
    assert world.after(10) == ["broker hears 1", "broker hears 2", f"broker loses {CLIENT}:32768"]
    world.network.hold("*", BROKER)
    world.network.release()
    send(world.connect(), 3)
    assert world.after(10) == ["broker hears 3", f"{CLIENT} hears 3"]


def test_over_a_cut_or_held_link_no_one_connects() -> None:
    world = World()
    for verb in (world.network.partition, world.network.hold):
        began = world.loop.time()
        verb("*", BROKER)
        with pytest.raises(ConnectFailed):
            world.connect()
        assert world.loop.time() - began == pytest.approx(CONNECT_TIMEOUT_S)
        world.network.heal()
        world.network.release()
    assert world.connect().is_open


def test_a_refusing_node_keeps_the_connections_it_has() -> None:
    world = World()
    channel = world.connect()
    world.network.refuse(BROKER)
    with pytest.raises(ConnectFailed, match=f"nothing listens at {BROKER}"):
        world.connect()
    send(channel, 1)
    assert world.after(1) == ["broker hears 1", f"{CLIENT} hears 1"]
    world.network.accept(BROKER)
    assert world.connect().is_open


def test_a_broken_connection_is_heard_at_both_ends() -> None:
    world = World()
    channel, other = world.connect(), world.connect("10.0.0.3")
    assert world.network.reset(CLIENT, BROKER) == 1
    assert world.after(1) == [f"{CLIENT} loses", f"broker loses {CLIENT}:32768"]
    assert (channel.is_open, other.is_open) == (False, True)
    assert world.network.connections() == [("10.0.0.3:32768", BROKER)]


def test_a_node_that_dies_takes_its_connections_along() -> None:
    world = World()
    channel = world.connect()
    send(channel, 1)
    world.network.unlisten(BROKER)
    assert world.after(1) == [f"{CLIENT} loses"]
    with pytest.raises(ConnectFailed):
        world.connect()
    assert not channel.is_open
