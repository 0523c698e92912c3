"""A sandbox's ports: other people's clients come in by real sockets, are seen, and can be cut off."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from sandbox.cluster.config import HostConfig
from sandbox.control.actions import parse_action
from sandbox.control.limits import SandboxLimits
from sandbox.control.readings import Reading
from sandbox.control.rights import Actor
from sandbox.hosting.engine import Engine
from sandbox.hosting.port import EnginePort
from sandbox.kernel.errors import ActionRefused
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import RemotingCommand
from sandbox.simulation.world import World
from sandbox.transport.tcp_guard import REASONS
from tests.unit.hosting.loop_bell import LoopBell
from tests.unit.hosting.wire_client import WITHIN_S, ExternalClient
from tests.unit.transport.tcp_stage import Raw, request

OWNER = Actor("owner", "otter")
SLUG = "demo"


def free_port(count: int = 1) -> int:
    """The first of some ports no one uses, a step apart."""
    for _ in range(50):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            first = int(probe.getsockname()[1])
        try:
            for number in range(1, count):
                with socket.socket() as other:
                    other.bind(("127.0.0.1", first + 4 * number))
        except (OSError, OverflowError):
            continue
        return first
    raise AssertionError("no free ports")


def route(opaque: int) -> RemotingCommand:
    return RemotingCommand(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "TBW102"}, opaque=opaque)


class Hall:
    """An engine with one sandbox, seen from another thread."""

    def __init__(self, home: Path, port: int, **config: Any) -> None:
        self.home = home
        self.config = HostConfig(first_port=port, last_port=65_535, **config)
        self.engine = Engine(home, self.config).start()

    @property
    def port(self) -> EnginePort:
        return self.engine.port

    async def create(self, template: str = "empty", **more: Any) -> None:
        await self.wait(self.port.create(SLUG, template, seed=1, **more))

    async def open(self) -> str:
        """Returns the name server's address."""
        return str((await self.wait(self.port.open_listener(SLUG)))["name_servers"][0])

    async def act(self, action: str, **fields: Any) -> int:
        return int(await self.wait(self.port.act(SLUG, parse_action({"action": action, **fields}), OWNER)))

    async def snapshot(self) -> dict[str, Any]:
        return dict(await self.wait(self.port.snapshot(SLUG)))

    async def connect(self) -> dict[str, Any]:
        [reading] = await self.wait(self.port.read([f"connect/{SLUG}"]))
        assert isinstance(reading, Reading)
        return reading.data

    async def facts(self, kind: str) -> list[dict[str, Any]]:
        rows = (await self.wait(self.port.entries(SLUG, -1, 10_000))).rows
        return [row for row in rows if row["type"] == kind]

    async def until(self, look: Callable[[dict[str, Any]], Any], *, of: str = "snapshot") -> Any:
        """Return the first true result of `look` on the snapshot (or `of` connect); called at every ring."""
        read = self.connect if of == "connect" else self.snapshot
        bell = LoopBell(asyncio.get_running_loop())
        await self.wait(self.port.subscribe(SLUG, bell))
        try:
            async with asyncio.timeout(WITHIN_S):
                while not (found := look(await read())):
                    await bell.news()
                return found
        finally:
            await self.wait(self.port.unsubscribe(SLUG, bell))

    @staticmethod
    async def wait(future: Any) -> Any:
        async with asyncio.timeout(WITHIN_S):
            return await asyncio.wrap_future(future)


@pytest.fixture
async def hall(tmp_path: Path) -> AsyncIterator[Hall]:
    made = Hall(tmp_path, free_port(8))
    yield made
    await asyncio.to_thread(made.engine.stop)


def members(snapshot: dict[str, Any], group: str = "readers") -> list[dict[str, Any]]:
    return next((row["members"] for row in snapshot["groups"] if row["group"] == group), [])


async def test_a_client_from_outside_sends_and_reads_and_is_on_the_board(hall: Hall) -> None:
    await hall.create()
    await hall.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
    address = await hall.open()
    snapshot = await hall.snapshot()
    assert [(row["address"], row["listening"]) for row in snapshot["brokers"]] == [(address, True)], "one for both"
    async with ExternalClient([address]) as external:
        [sent] = await external.send("orders", b"hello from abroad")
        assert sent.status.value == "SEND_OK"
        await external.consume("orders")
        await external.until(lambda: external.read == [b"hello from abroad"])
        [member] = await hall.until(members)
        assert (member["client_id"], member["actor"], member["transport"]) == (external.client_id, None, "tcp")
        assert (member["language"], member["version"]) == ("PYTHON", 409)
        assert [member[name] for name in ("buffered", "buffered_bytes", "fullest", "span", "busy", "threads")] == [
            None
        ] * 6
        [group] = (await hall.snapshot())["groups"]
        assert {row["owner"] for row in group["queues"]} == {external.client_id}, "who pulled last owns the lane"
        [connected] = await hall.facts("ClientConnected")
        assert (connected["client_id"], connected["transport"]) == (external.client_id, "tcp")


async def test_what_a_connection_has_done_is_ticked_off(hall: Hall) -> None:
    await hall.create()
    await hall.act("CreateTopic", topic="orders", write_queues=1, read_queues=1)
    address = await hall.open()
    async with ExternalClient([address]) as external:
        await external.send("orders", b"1")
        await external.consume("orders")
        await external.until(lambda: external.read == [b"1"])
        seen = await hall.connect()
        [row] = seen["connections"].values()
        assert (row["node"], row["client_id"], row["ended_ms"]) == ("broker-a", external.client_id, None)
        assert (row["first_code"], row["first"]) == (105, "GET_ROUTEINFO_BY_TOPIC")
        moments = [row[name] for name in ("opened_ms", "first_ms", "route", "send", "pull", "heard_ms")]
        assert moments == sorted(moments)
        assert row["heartbeat"] is not None
        assert row["unserved"] == []
        [client] = seen["clients"].values()
        assert (client["language"], client["version"], client["groups"]) == ("PYTHON", 409, ["abroad", "readers"])
        assert seen["counts"]["connections"] == {"now": 1, "allowed": SandboxLimits().wire_connections, "refused": 0}
        assert [row["client_id"] for row in (await hall.snapshot())["producers"]] == [external.client_id]
        [topology] = await hall.wait(hall.port.read([f"topology/{SLUG}"]))
        assert topology.data["clients"][external.client_id]["kind"] == "wire"
        assert topology.data["links"][f"{external.client_id}~broker-a"]["kind"] == "data"
    await hall.until(lambda snapshot: not snapshot["rate_pinned"])
    [row] = (await hall.connect())["connections"].values()
    assert (row["client_id"], row["why"]) == (external.client_id, "closed"), "who left is still told of"


async def test_bytes_that_are_no_frame_are_reported_in_words_and_counted(hall: Hall) -> None:
    await hall.create()
    ip, _, port = (await hall.open()).rpartition(":")
    reader, writer = await asyncio.open_connection(ip, int(port))
    writer.write(b"GET / HTTP/1.1\r\n\r\n")
    async with asyncio.timeout(WITHIN_S):
        assert await reader.read() == b""
    writer.close()
    seen = await hall.connect()
    assert set(seen["counts"]) == set(REASONS), "a row for each, from the beginning"
    [refused] = seen["refused"].values()
    assert (refused["reason"], refused["remark"].startswith("frame of")) == ("protocol", True)
    assert seen["counts"]["protocol"]["refused"] == 1
    await hall.until(lambda snapshot: not snapshot["rate_pinned"])
    assert [row["why"] for row in (await hall.connect())["connections"].values()] == ["protocol"]


async def test_while_a_client_is_connected_a_second_is_a_second(hall: Hall) -> None:
    await hall.create()
    await hall.act("SetRate", rate=0)
    address = await hall.open()
    assert (await hall.snapshot())["rate"] == 1, "opening says so"
    assert [row["reason"] for row in await hall.facts("ClockChanged")][-1] == "wire"
    await hall.act("SetRate", rate=0)  # no one is connected yet
    async with ExternalClient([address]) as external:
        await external.send("TopicTest", b"1")
        snapshot = await hall.snapshot()
        assert (snapshot["rate"], snapshot["rate_pinned"]) == (1, True)
        for action, fields in (("SetRate", {"rate": 4}), ("Step", {"until": "fact"})):
            with pytest.raises(ActionRefused, match="its own clock") as refusal:
                await hall.act(action, **fields)
            assert refusal.value.status == 409
    await hall.until(lambda snapshot: not snapshot["rate_pinned"])
    await hall.act("SetRate", rate=4)


async def test_a_clock_that_is_behind_jumps_to_the_machines_time(hall: Hall) -> None:
    await hall.create()
    path = hall.home / "sandboxes" / SLUG / "sandbox.json"
    await hall.wait(hall.port.sleep(SLUG, "test"))
    record = orjson.loads(path.read_bytes())
    path.write_bytes(orjson.dumps({**record, "clock_ms": record["clock_ms"] - 3_600_000}))
    await hall.wait(hall.port.wake(SLUG))
    before = await hall.snapshot()
    assert before["wall_ms"] - before["at_ms"] > 3_500_000
    await hall.open()
    after = await hall.snapshot()
    assert abs(after["wall_ms"] - after["at_ms"]) < 1_000
    assert [row["reason"] for row in await hall.facts("ClockChanged")][-2:] == ["wire", "jump"]


async def test_a_cut_client_leaves_at_once_and_comes_again_by_itself(hall: Hall) -> None:
    await hall.create()
    await hall.act("CreateTopic", topic="orders", write_queues=1, read_queues=1)
    address = await hall.open()
    async with ExternalClient([address]) as external:
        await external.send("orders", b"1")
        await external.consume("orders")
        await external.until(lambda: external.read == [b"1"])
        for action in ("CrashActor", "HangActor", "StopActor", "RemoveActor"):
            with pytest.raises(ActionRefused, match="its process is not part of this sandbox") as refusal:
                await hall.act(action, actor=external.client_id)
            assert (refusal.value.status, refusal.value.hint) == (409, "Cut the connection of the client instead.")
        seq = await hall.act("CutConnection", client_id=external.client_id)
        await hall.until(lambda snapshot: int(snapshot["seq"]) > seq)
        gone = (await hall.facts("ClientDisconnected"))[0]
        assert (gone["client_id"], gone["reason"], int(gone["seq"]) > seq) == (external.client_id, "cut", True)
        assert (await hall.facts("MemberLeft"))[0]["client_id"] == external.client_id
        assert await hall.until(members), "its next heartbeat joins it again"


async def test_only_who_is_not_of_the_sandbox_can_be_cut(hall: Hall) -> None:
    await hall.create()
    await hall.act("StartConsumer", group="readers", subscriptions=[{"topic": "orders", "expression": "*"}])
    for client, status in (("A", 409), ("nobody", 404)):
        with pytest.raises(ActionRefused) as refusal:
            await hall.act("CutConnection", client_id=client)
        assert refusal.value.status == status


async def test_ports_go_down_with_their_node_and_come_back_with_it(hall: Hall) -> None:
    await hall.create()
    address = await hall.open()
    ip, _, port = address.rpartition(":")
    async with ExternalClient([address]) as external:
        await external.send("TopicTest", b"1")
        await hall.act("KillBroker", broker="broker-a")
        await hall.until(lambda snapshot: not snapshot["brokers"][0]["listening"])
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(ip, int(port))
        await hall.act("StartBroker", broker="broker-a")
        await hall.until(lambda snapshot: snapshot["brokers"][0]["listening"])
    async with ExternalClient([address], name="second") as second:
        assert [sent.queue.broker for sent in await second.send("TopicTest", b"2")] == ["broker-a"]
        await hall.act("HangBroker", broker="broker-a")
        snapshot = await hall.snapshot()
        assert (snapshot["brokers"][0]["listening"], snapshot["rate_pinned"]) == (True, True), "its sockets stay"
        await hall.act("ResumeBroker", broker="broker-a")


async def test_while_the_only_name_server_is_down_its_requests_stay_unanswered(hall: Hall) -> None:
    await hall.create()
    address = await hall.open()
    await hall.act("StopNameServer", name_server="ns-1")
    ip, _, port = address.rpartition(":")
    client = Raw(*await asyncio.open_connection(ip, int(port)))
    client.say(route(1), request(2, code=RequestCode.GET_BROKER_RUNTIME_INFO))
    assert [answer.opaque for answer in await client.read(1)] == [2], "the connection is the broker's, and goes on"
    await hall.act("StartNameServer", name_server="ns-1")
    client.say(route(3), request(4, code=RequestCode.GET_BROKER_RUNTIME_INFO), route(5))
    assert [answer.opaque for answer in await client.read(3)] == [3, 4, 5]
    await client.close()


async def test_with_several_nodes_each_has_a_port_of_its_own(hall: Hall) -> None:
    await hall.create("cluster")
    servers = (await hall.wait(hall.port.open_listener(SLUG)))["name_servers"]
    snapshot = await hall.snapshot()
    assert len(servers) == 2
    assert all(row["listening"] and row["address"] not in servers for row in snapshot["brokers"])
    async with ExternalClient(servers) as external:
        results = await external.send("orders", *(b"%d" % n for n in range(8)))
        assert {result.queue.broker for result in results} == {"broker-a", "broker-b"}
        await external.consume("orders")

        def both(seen: dict[str, Any]) -> bool:
            return [len(client["addresses"]) for client in seen["clients"].values()] == [3]

        assert await hall.until(both, of="connect"), "one client, a connection to each broker, slaves too"


async def test_a_port_someone_else_has_is_refused_with_a_sentence_and_nothing_is_open(hall: Hall) -> None:
    await hall.create("cluster")
    address = (await hall.snapshot())["brokers"][-1]["address"]
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", int(address.rpartition(":")[2])))
        other.listen()
        with pytest.raises(ActionRefused, match="is used by another program") as refusal:
            await hall.open()
        assert refusal.value.status == 409
    assert not any(row["listening"] for row in (await hall.snapshot())["brokers"])
    await hall.open()


async def test_only_loopback_addresses_are_opened(tmp_path: Path) -> None:
    hall = Hall(tmp_path, free_port(), node_host="0.0.0.0")
    try:
        await hall.create()
        with pytest.raises(ActionRefused, match="without authentication"):
            await hall.open()
    finally:
        await asyncio.to_thread(hall.engine.stop)


async def test_open_ports_outlive_sleep_and_the_server(hall: Hall) -> None:
    await hall.create()
    address = await hall.open()
    ip, _, port = address.rpartition(":")
    await hall.wait(hall.port.sleep(SLUG, "test"))
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(ip, int(port))
    await asyncio.to_thread(hall.engine.stop)
    hall.engine = Engine(hall.home, hall.config).start()
    async with asyncio.timeout(WITHIN_S):
        while (await hall.wait(hall.port.status()))["sandboxes"][SLUG]["state"] != "live":
            await asyncio.sleep(0)  # it is woken by itself
    async with ExternalClient([address]) as external:
        await external.send("TopicTest", b"1")
    await hall.wait(hall.port.close_listener(SLUG))
    await hall.wait(hall.port.sleep(SLUG, "test"))
    await hall.wait(hall.port.wake(SLUG))
    assert not (await hall.snapshot())["brokers"][0]["listening"], "closed by order is closed"


async def test_a_sandbox_with_a_client_is_not_stopped_and_deletion_ends_it(hall: Hall) -> None:
    await hall.create()
    address = await hall.open()
    async with ExternalClient([address]) as external:
        await external.send("TopicTest", b"1")
        assert (await hall.wait(hall.port.status()))["sandboxes"][SLUG]["watched"]
        await hall.wait(hall.port.delete(SLUG))
    ip, _, port = address.rpartition(":")
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(ip, int(port))


def test_in_simulated_time_there_are_no_sockets(tmp_path: Path) -> None:
    with World(tmp_path) as world, pytest.raises(ActionRefused, match="no sockets"):
        world.environment.sim.run(world.sandbox.open_listeners())
