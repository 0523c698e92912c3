"""Commands over nothing at all: in order, in batches, never re-entrantly; and how a connection ends."""

import asyncio
from collections.abc import Iterator

import pytest

from sandbox.kernel.clock import ScaledClock
from sandbox.kernel.errors import ConnectFailed, ProtocolViolation
from sandbox.remoting.channel import Channel
from sandbox.remoting.command import RemotingCommand
from sandbox.sim.loop import SimLoop
from sandbox.transport.loopback import CONNECT_TIMEOUT_S, LoopbackNetwork

BROKER = "10.0.0.1:10911"


class Node:
    """A listener, or the application behind a connection, that writes down what it hears."""

    def __init__(self, *, answers: bool = False) -> None:
        self.transcript: list[object] = []
        self.channels: list[Channel] = []
        self.answers = answers

    def connected(self, channel: Channel) -> None:
        self.channels.append(channel)
        self.transcript.append(f"connected {channel.remote}")

    def handle(self, commands: list[RemotingCommand], channel: Channel) -> None:
        self.transcript.append([command.opaque for command in commands])
        if self.answers:
            for command in commands:
                channel.send(command.reply(0))

    def disconnected(self, channel: Channel) -> None:
        self.transcript.append(f"disconnected {channel.remote}")


@pytest.fixture
def loop() -> Iterator[SimLoop]:
    with SimLoop() as loop:
        yield loop


@pytest.fixture
def network(loop: SimLoop) -> LoopbackNetwork:
    return LoopbackNetwork(loop)


def connect(loop: SimLoop, network: LoopbackNetwork, node: Node, ip: str = "10.0.0.2", to: str = BROKER) -> Channel:
    return loop.run(network.connector(ip).connect(to, node.handle, node.disconnected))


def request(number: int) -> RemotingCommand:
    return RemotingCommand(34, opaque=number)


def test_what_is_sent_in_one_turn_is_one_batch_in_a_later_one(loop: SimLoop, network: LoopbackNetwork) -> None:
    broker, client = Node(answers=True), Node()
    network.listen(BROKER, broker)
    channel = connect(loop, network, client)
    for number in (1, 2, 3):
        channel.send(request(number))
    assert broker.transcript == ["connected 10.0.0.2:32768"]
    loop.run_until_idle()
    channel.send(request(4))
    loop.run_until_idle()
    assert broker.transcript[1:] == [[1, 2, 3], [4]]
    assert client.transcript == [[1, 2, 3], [4]]


def test_nothing_is_heard_inside_a_send(loop: SimLoop, network: LoopbackNetwork) -> None:
    depth = 0

    class Deep(Node):
        def handle(self, commands: list[RemotingCommand], channel: Channel) -> None:
            nonlocal depth
            depth += 1
            assert depth == 1
            if commands[0].opaque < 50:
                channel.send(request(commands[0].opaque + 1))
            depth -= 1

    network.listen(BROKER, Deep())
    connect(loop, network, Deep()).send(request(0))
    loop.run_until_idle()
    assert depth == 0


def test_every_connection_has_addresses_of_its_own(loop: SimLoop, network: LoopbackNetwork) -> None:
    broker = Node()
    network.listen(BROKER, broker)
    first, second = connect(loop, network, Node()), connect(loop, network, Node())
    connect(loop, network, Node(), ip="10.0.0.3")
    assert (first.remote, second.remote) == (BROKER, BROKER)
    assert [channel.remote for channel in broker.channels] == ["10.0.0.2:32768", "10.0.0.2:32769", "10.0.0.3:32768"]
    assert network.connections() == [(channel.remote, BROKER) for channel in broker.channels]


def test_ports_go_round_and_pass_over_those_in_use(
    loop: SimLoop, network: LoopbackNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox.remoting.exchange.LAST_PORT", 32_770)
    broker = Node()
    network.listen(BROKER, broker)
    kept, given_back = connect(loop, network, Node()), connect(loop, network, Node())
    connect(loop, network, Node())
    given_back.close()
    loop.run_until_idle()
    connect(loop, network, Node())
    assert broker.channels[-1].remote == "10.0.0.2:32769"
    assert kept.is_open
    with pytest.raises(ValueError, match=r"all ports of 10\.0\.0\.2 are taken"):
        connect(loop, network, Node())


def test_no_one_listens_there(loop: SimLoop, network: LoopbackNetwork) -> None:
    with pytest.raises(ConnectFailed, match=f"nothing listens at {BROKER}"):
        connect(loop, network, Node())
    answers: list[object] = []
    network.connector("10.0.0.2").open(BROKER, Node().handle, Node().disconnected, answers.append)
    assert answers == []
    loop.run_until_idle()
    assert answers == [None]


def test_open_answers_in_a_later_turn(loop: SimLoop, network: LoopbackNetwork) -> None:
    broker, client = Node(answers=True), Node()
    network.listen(BROKER, broker)
    network.connector("10.0.0.2").open(
        BROKER, client.handle, client.disconnected, lambda channel: channel.send(request(7)) if channel else None
    )
    assert broker.transcript == []
    loop.run_until_idle()
    assert client.transcript == [[7]]


def test_an_address_is_listened_at_once(network: LoopbackNetwork) -> None:
    network.listen(BROKER, Node())
    with pytest.raises(ValueError, match=f"something listens at {BROKER} already"):
        network.listen(BROKER, Node())
    network.unlisten(BROKER)
    network.listen(BROKER, Node())


def test_a_close_is_heard_at_both_ends_after_all_that_was_sent(loop: SimLoop, network: LoopbackNetwork) -> None:
    broker, client = Node(), Node()
    network.listen(BROKER, broker)
    channel = connect(loop, network, client)
    channel.send(request(1))
    channel.close()
    channel.close()
    channel.send(request(2))
    assert client.transcript == []
    loop.run_until_idle()
    assert broker.transcript[1:] == [[1], "disconnected 10.0.0.2:32768"]
    assert client.transcript == [f"disconnected {BROKER}"]
    assert not broker.channels[0].is_open
    assert network.connections() == []


def test_after_its_own_close_an_end_hears_no_more_commands(loop: SimLoop, network: LoopbackNetwork) -> None:
    broker, client = Node(), Node()
    network.listen(BROKER, broker)
    channel = connect(loop, network, client)
    broker.channels[0].send(request(1))
    channel.close()
    loop.run_until_idle()
    assert client.transcript == [f"disconnected {BROKER}"]


def test_both_ends_may_close_at_once_and_each_hears_it_once(loop: SimLoop, network: LoopbackNetwork) -> None:
    broker, client = Node(), Node()
    network.listen(BROKER, broker)
    channel = connect(loop, network, client)
    channel.close()
    broker.channels[0].close()
    loop.run_until_idle()
    assert broker.transcript == ["connected 10.0.0.2:32768", "disconnected 10.0.0.2:32768"]
    assert client.transcript == [f"disconnected {BROKER}"]


def test_a_node_that_leaves_hears_nothing_more_and_its_clients_do(loop: SimLoop, network: LoopbackNetwork) -> None:
    broker, client = Node(), Node()
    network.listen(BROKER, broker)
    channel = connect(loop, network, client)
    channel.send(request(1))
    network.unlisten(BROKER)
    loop.run_until_idle()
    assert broker.transcript == ["connected 10.0.0.2:32768"]
    assert client.transcript == [f"disconnected {BROKER}"]
    assert not channel.is_open
    with pytest.raises(ConnectFailed):
        connect(loop, network, client)


def test_a_handler_that_fails_keeps_its_connection(loop: SimLoop, network: LoopbackNetwork) -> None:
    class Broken(Node):
        def handle(self, commands: list[RemotingCommand], channel: Channel) -> None:
            super().handle(commands, channel)
            if commands[0].opaque == 1:
                raise KeyError("broken")

    broker = Broken()
    network.listen(BROKER, broker)
    channel = connect(loop, network, Node())
    channel.send(request(1))
    with pytest.raises(KeyError, match="broken"):
        loop.run_until_idle()
    channel.send(request(2))
    loop.run_until_idle()
    assert broker.transcript[1:] == [[1], [2]]


def test_a_connection_no_one_waits_for_any_more_is_closed(loop: SimLoop, network: LoopbackNetwork) -> None:
    broker = Node()
    network.listen(BROKER, broker)

    async def give_up(turns: int) -> None:
        task = asyncio.create_task(network.connector("10.0.0.2").connect(BROKER, Node().handle, Node().disconnected))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for turns in (1, 2):
        loop.run(give_up(turns))
    loop.run_until_idle()
    assert network.connections() == []


def test_over_a_cut_link_bytes_vanish_and_no_one_hears_of_it(loop: SimLoop, network: LoopbackNetwork) -> None:
    broker, client = Node(answers=True), Node()
    network.listen(BROKER, broker)
    channel = connect(loop, network, client)
    cut = True
    network.gate = lambda sender, receiver: not (cut and sender == BROKER)
    channel.send(request(1))
    loop.run_until_idle()
    assert (broker.transcript[1:], client.transcript) == ([[1]], [])
    cut = False
    channel.send(request(2))
    loop.run_until_idle()
    assert (broker.transcript[1:], client.transcript) == ([[1], [2]], [[2]])


def test_over_a_cut_link_no_one_connects_until_time_is_over(loop: SimLoop, network: LoopbackNetwork) -> None:
    network.listen(BROKER, Node())
    network.gate = lambda *_: False
    with pytest.raises(ConnectFailed):
        connect(loop, network, Node())
    assert loop.time() == CONNECT_TIMEOUT_S


def test_an_end_that_missed_the_close_learns_of_it_with_its_next_command(
    loop: SimLoop, network: LoopbackNetwork
) -> None:
    broker, client = Node(), Node()
    network.listen(BROKER, broker)
    channel = connect(loop, network, client)
    network.gate = lambda *_: False
    network.unlisten(BROKER)
    loop.run_until_idle()
    assert channel.is_open
    network.gate = None
    channel.send(request(1))
    loop.run_until_idle()
    assert client.transcript == [f"disconnected {BROKER}"]


def test_a_slow_link_takes_its_time_on_the_clock_and_keeps_order(loop: SimLoop) -> None:
    clock = ScaledClock(loop, start_ms=0, rate=10)
    network = LoopbackNetwork(loop, clock=clock)
    broker, client = Node(answers=True), Node()
    network.listen(BROKER, broker)
    channel = connect(loop, network, client)
    network.delay = lambda sender, _: 0.0 if sender == BROKER else 2.0
    channel.send(request(1))
    loop.run_for(0.1)
    network.delay = None
    channel.send(request(2))
    channel.close()
    assert broker.transcript[1:] == []
    loop.run_for(0.11)
    assert broker.transcript[1:] == [[1, 2], "disconnected 10.0.0.2:32768"]


def test_a_tap_sees_every_command(loop: SimLoop, network: LoopbackNetwork) -> None:
    broker, seen = Node(answers=True), list[tuple[str, str, int]]()
    network.listen(BROKER, broker)
    channel = connect(loop, network, Node())
    network.tap = lambda sender, receiver, command: seen.append((sender, receiver, command.flag))
    channel.send(request(1))
    loop.run_until_idle()
    assert seen == [("10.0.0.2:32768", BROKER, 0), (BROKER, "10.0.0.2:32768", 1)]


def test_over_the_wire_commands_are_copies_and_unwritable_ones_are_refused(loop: SimLoop) -> None:
    class Keep(Node):
        def handle(self, commands: list[RemotingCommand], channel: Channel) -> None:
            self.transcript += commands

    for wire in (False, True):
        network, broker = LoopbackNetwork(loop, wire=wire), Keep()
        network.listen(BROKER, broker)
        channel = connect(loop, network, Node())
        command = RemotingCommand(310, {"b": "T"}, b"body", opaque=3)
        channel.send(command)
        loop.run_until_idle()
        arrived = broker.transcript[-1]
        assert isinstance(arrived, RemotingCommand)
        assert (arrived is command) is not wire
        assert (arrived.code, arrived.ext, arrived.body, arrived.opaque) == (310, {"b": "T"}, b"body", 3)
    with pytest.raises(ProtocolViolation):
        channel.send(RemotingCommand(310, {"b": "T" * 1_100_000}))
