"""The two hooks by which links are cut and slowed mean the same on both networks."""

from collections.abc import Callable

import pytest

from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock
from sandbox.remoting.channel import Channel
from sandbox.remoting.command import RemotingCommand
from sandbox.sim.loop import SimLoop
from sandbox.sim.network import SimNetwork
from sandbox.transport.loopback import LoopbackNetwork

BROKER = "10.0.0.1:10911"
CLIENT = "10.0.0.2"
Network = LoopbackNetwork | SimNetwork


class Ends:
    """A broker that answers, a client, and what each of them heard when, in sandbox seconds."""

    def __init__(self, make: "Callable[[SimLoop, ScaledClock], Network]") -> None:
        self.loop = SimLoop()
        self.clock = ScaledClock(self.loop, start_ms=0)
        self.network = make(self.loop, self.clock)
        self.heard: list[tuple[str, int, float]] = []
        self.network.listen(BROKER, self)

    def connected(self, channel: Channel) -> None:
        self.heard.append(("connected", 0, self.clock.monotonic()))

    def handle(self, commands: list[RemotingCommand], channel: Channel) -> None:
        for command in commands:
            self.heard.append(("broker", command.opaque, self.clock.monotonic()))
            channel.send(command.reply(0))

    def disconnected(self, channel: Channel) -> None:
        self.heard.append(("lost", 0, self.clock.monotonic()))

    def open(self) -> list[Channel | None]:
        def reported(commands: list[RemotingCommand], _: Channel) -> None:
            self.heard.extend(("client", command.opaque, self.clock.monotonic()) for command in commands)

        answers: list[Channel | None] = []
        self.network.connector(CLIENT).open(BROKER, reported, lambda _: None, answers.append)
        return answers

    def connect(self) -> Channel:
        answers = self.open()
        self.loop.run_for(0.01)
        assert answers[0] is not None
        self.heard.clear()
        return answers[0]


@pytest.fixture(params=["loopback", "sim"])
def ends(request: pytest.FixtureRequest) -> Ends:
    if request.param == "loopback":
        return Ends(lambda loop, clock: LoopbackNetwork(loop, clock=clock))
    return Ends(lambda loop, clock: SimNetwork(loop, Chance(1), clock=clock))


def test_what_is_sent_over_a_cut_link_vanishes_and_the_end_of_the_connection_too(ends: Ends) -> None:
    channel = ends.connect()
    ends.network.gate = lambda sender, receiver: receiver != BROKER
    channel.send(RemotingCommand(10, opaque=1))
    channel.close()
    ends.loop.run_for(60)
    assert ends.heard == []
    assert len(ends.network.connections()) == 1, "the broker believes in it still"
    ends.network.gate = None
    ends.loop.run_for(60)
    assert ends.heard == [], "nothing is sent again"


def test_one_direction_may_pass(ends: Ends) -> None:
    channel = ends.connect()
    ends.network.gate = lambda sender, receiver: sender != BROKER
    channel.send(RemotingCommand(10, opaque=1))
    ends.loop.run_for(1)
    assert [(who, number) for who, number, _ in ends.heard] == [("broker", 1)]


def test_no_one_connects_over_a_cut_link_and_learns_so_after_three_seconds(ends: Ends) -> None:
    ends.network.gate = lambda sender, receiver: sender != BROKER  # the way back is enough
    answers = ends.open()
    ends.loop.run_for(2.9)
    assert answers == []
    ends.loop.run_for(0.2)
    assert answers == [None]


def test_a_delay_is_of_the_clock_and_a_connection_takes_two(ends: Ends) -> None:
    ends.clock.set_rate(4)
    ends.network.delay = lambda sender, receiver: 1.0 if receiver == BROKER else 0.5
    answers = ends.open()
    ends.loop.run_for(1.49 / 4)
    assert answers == []
    ends.loop.run_for(0.02 / 4)
    [channel] = answers
    assert channel is not None
    ends.heard.clear()
    began = ends.clock.monotonic()
    channel.send(RemotingCommand(10, opaque=1))
    ends.loop.run_for(2)
    assert [(who, round(at - began, 3)) for who, _, at in ends.heard] == [("broker", 1.0), ("client", 1.5)]


def test_a_connection_that_would_take_longer_than_three_seconds_fails(ends: Ends) -> None:
    ends.network.delay = lambda sender, receiver: 1.6
    answers = ends.open()
    ends.loop.run_for(2.9)
    assert answers == []
    ends.loop.run_for(0.2)
    assert answers == [None]


def test_nothing_overtakes_when_a_delay_becomes_shorter(ends: Ends) -> None:
    channel = ends.connect()
    ends.network.delay = lambda sender, receiver: 2.0 if receiver == BROKER else 0.0
    channel.send(RemotingCommand(10, opaque=1))
    ends.loop.run_for(0.5)
    ends.network.delay = None
    channel.send(RemotingCommand(10, opaque=2))
    ends.loop.run_for(5)
    assert [number for who, number, _ in ends.heard if who == "broker"] == [1, 2]
