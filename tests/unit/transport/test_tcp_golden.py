"""Recorded bytes of a real client get the same responses over a socket as over loopback."""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sandbox.broker.broker import Broker
from sandbox.broker.config import BrokerConfig
from sandbox.cluster.shared_listener import SharedListener
from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock
from sandbox.message.msg_id import host_bytes
from sandbox.namesrv.config import NameServerConfig
from sandbox.namesrv.name_server import NameServer
from sandbox.remoting.channel import Channel
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.frame import FrameDecoder, encode
from sandbox.sim.disk import SimDisk
from sandbox.store.disk import InlineFlusher
from sandbox.store.message_store import MessageStore
from sandbox.transport.loopback import LoopbackNetwork
from sandbox.transport.tcp_guard import TcpGuard
from sandbox.transport.tcp_limits import TcpLimits
from sandbox.transport.tcp_server import TcpServer
from tests.unit.broker.stage import small_store
from tests.unit.transport.tcp_stage import Raw, in_time

pytestmark = pytest.mark.golden

WIRE = Path(__file__).parents[2] / "golden" / "wire"
ADDRESS = "127.0.0.1:10911"
MARK = 9_999  # a request code no one knows is answered at once, with 3
PORT = re.compile(r"127\.0\.0\.1:\d+")
CHUNKS = (1, 2, 3, 5, 7, 1, 1, 4, 60, 8, 1, 300, 1, 1, 4_000, 1, 65_536)

Seen = tuple[int, str | None, dict[str, str] | None, int]


def recorded(kind: str) -> list[tuple[tuple[str, int], bytes]]:
    """Connection and frame of everything clients said, in its order."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in (WIRE / f"{kind}.jsonl").read_text().splitlines()]
    return [
        ((row["link"], row["conn"]), bytes.fromhex(row["frame_hex"]))
        for row in rows
        if row["direction"] == "c2s" and row["link"] != "broker-namesrv"
    ]


@contextmanager
def both_nodes() -> Iterator[tuple[SharedListener, ScaledClock, Journal]]:
    """A broker and its name server; time is paused."""
    clock = ScaledClock(asyncio.get_running_loop(), start_ms=1_700_000_000_000, rate=0)
    journal = Journal(clock)
    store = MessageStore(
        small_store(),
        disk=SimDisk(Chance(7), clock),
        clock=clock,
        journal=journal,
        broker="broker-a",
        broker_id=0,
        store_host=host_bytes("127.0.0.1", 10911),
        flusher=InlineFlusher(),
    )
    broker = Broker(
        BrokerConfig(name="broker-a", address=ADDRESS),
        store=store,
        clock=clock,
        chance=Chance(1),
        journal=journal,
        connector=None,
        name_servers=(),
    )
    name_server = NameServer(NameServerConfig(address=ADDRESS), clock=clock, journal=journal, name="ns-1")
    broker.start()
    name_server.start()
    yield SharedListener(broker, lambda: name_server), clock, journal
    broker.kill()
    name_server.stop()
    clock.close()


def mark() -> RemotingCommand:
    return RemotingCommand(MARK, opaque=-1)


def seen(c: RemotingCommand) -> Seen:
    """Return the values that must agree; ports differ, and with them bytes inside of stored records."""
    ext = None if c.ext is None else {name: PORT.sub("address", text) for name, text in c.ext.items()}
    return int(c.code), None if c.remark is None else PORT.sub("address", c.remark), ext, len(c.body or b"")


async def over_loopback(frames: list[tuple[tuple[str, int], bytes]]) -> list[Seen]:
    answers: list[Seen] = []
    with both_nodes() as (listener, clock, _):
        network = LoopbackNetwork(asyncio.get_running_loop(), wire=True, clock=clock)
        network.listen(ADDRESS, listener)
        channels: dict[tuple[str, int], Channel] = {}
        marked = asyncio.Event()

        def heard(commands: list[RemotingCommand], _: Channel) -> None:
            answers.extend(seen(c) for c in commands if c.is_response and c.opaque != -1)
            if any(c.opaque == -1 for c in commands):
                marked.set()

        for key, frame in frames:
            if key not in channels:
                connector = network.connector("127.0.0.1")
                channels[key] = await connector.connect(ADDRESS, heard, lambda _: None)
            marked.clear()
            for c in [*FrameDecoder().feed(frame), mark()]:
                channels[key].send(c)
            await in_time(marked.wait())
    return answers


async def over_tcp(frames: list[tuple[tuple[str, int], bytes]]) -> list[Seen]:
    answers: list[Seen] = []
    with both_nodes() as (listener, clock, journal):
        guard = TcpGuard(TcpLimits(connections=300), clock=clock, journal=journal)
        server = TcpServer(listener, guard)
        server.open("127.0.0.1", 0)
        ip, _, port = server.address.rpartition(":")
        clients: dict[tuple[str, int], Raw] = {}
        for key, frame in frames:
            if key not in clients:
                clients[key] = Raw(*await asyncio.open_connection(ip, int(port)))
            client, at, said = clients[key], 0, frame + encode(mark())
            for size in CHUNKS * (len(said) // sum(CHUNKS) + 1):
                client.send(said[at : at + size])
                await asyncio.sleep(0)
                at += size
            while (c := (await client.read(1))[0]).opaque != -1:
                if c.is_response:
                    answers.append(seen(c))
        assert not guard.refused
        await in_time(server.close())
        for client in clients.values():
            await client.close()
    return answers


@pytest.mark.parametrize("kind", ["json", "rocketmq"])
async def test_recorded_frames_in_pieces_get_the_answers_they_get_over_loopback(kind: str) -> None:
    frames = recorded(kind)
    near, far = await over_loopback(frames), await over_tcp(frames)
    assert far == near
    assert len(near) > 150
