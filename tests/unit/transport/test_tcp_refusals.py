"""A refused client is reported in the log once, counted, and costs no one else anything."""

import asyncio
import logging
import ssl

import pytest

from sandbox.journal.events import ConnectionRefused, LimitReached
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import ScaledClock
from sandbox.remoting.command import RemotingCommand
from sandbox.sim.loop import SimLoop
from sandbox.transport.tcp_guard import IDLE, PENDING, PROTOCOL, TLS, UNREAD, TcpGuard
from sandbox.transport.tcp_limits import TcpLimits
from tests.unit.transport.tcp_stage import Node, Port, request

KIB = 1024


def refused(port: Port) -> list[tuple[str, int | None]]:
    return [(event.reason, event.request_code) for event in port.reported if isinstance(event, ConnectionRefused)]


def test_the_log_has_a_line_for_each_of_the_first_and_one_that_counts_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = SimLoop()
    clock = ScaledClock(loop, start_ms=1_700_000_000_000)
    guard = TcpGuard(TcpLimits(refusals_told_per_s=2), clock=clock, journal=Journal(clock))
    with caplog.at_level(logging.INFO):
        for n in range(5):
            guard.refuse(f"10.0.0.1:{n}", PROTOCOL, "noise", 34)
        for _ in range(3):
            guard.too_many_pending("10.0.0.2:1")
        loop.run_for(5)
        assert caplog.messages == [
            "refused 10.0.0.1:0: protocol, noise (request 34)",
            "refused 10.0.0.1:1: protocol, noise (request 34)",
            "refused 6 more: pending_requests 3, protocol 3",
        ]
        guard.refuse("10.0.0.1:9", PROTOCOL, "noise")
        guard.close()
        assert caplog.messages[3:] == ["refused 10.0.0.1:9: protocol, noise"]
    assert (guard.refused[PROTOCOL], guard.refused[PENDING]) == (6, 3)


def test_what_was_not_logged_yet_is_logged_when_the_ports_close(caplog: pytest.LogCaptureFixture) -> None:
    clock = ScaledClock(SimLoop(), start_ms=1_700_000_000_000)
    guard = TcpGuard(TcpLimits(refusals_told_per_s=0), clock=clock, journal=Journal(clock))
    with caplog.at_level(logging.INFO):
        guard.refuse("10.0.0.1:1", UNREAD, "much")
        guard.close()
        guard.close()
    assert caplog.messages == ["refused 1 more: unread 1"]


async def test_a_refusal_names_the_request_whose_header_could_be_read() -> None:
    header = b'{"code":310,"opaque":"one"}'
    async with Port() as port:
        bad = await port.client()
        bad.send((4 + len(header)).to_bytes(4, "big") + len(header).to_bytes(4, "big") + header)
        assert await bad.closed() == b""
        assert refused(port) == [(PROTOCOL, 310)]
        await bad.close()


async def test_a_port_without_tls_says_what_was_wanted_of_it() -> None:
    async with Port() as port:
        client = await port.client()
        client.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        assert await client.closed() == b""
        assert refused(port) == [(TLS, None)]
        await client.close()


async def test_a_greeting_that_breaks_off_is_counted() -> None:
    async with Port(tls=ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)) as port:
        client = await port.client()
        client.send(b"\x16\x03\x01\x00\x05nonsense")
        await client.closed()
        while port.guard.connections:
            await asyncio.sleep(0)
        assert refused(port) == [(TLS, None)]
        await client.close()


async def test_a_node_that_closes_who_is_silent_says_so() -> None:
    async with Port() as port:
        client = await port.client()
        client.say(request(1, code=11))
        await client.read(1)
        port.node.channels[0].close("expired")
        assert await client.closed() == b""
        assert refused(port) == [(IDLE, 11)]
        await port.node.until(lambda: len(port.node.gone) == 1)
        assert port.node.gone[0].why_closed == "expired"  # type: ignore[attr-defined]
        await client.close()


async def test_a_port_that_closes_who_is_silent_says_so() -> None:
    async with Port(idle=True) as port:
        silent = await port.client()
        await port.node.until(lambda: len(port.node.channels) == 1)
        for _ in range(12):
            port.clock.jump_to(port.clock.now_ms() + 10_001)  # its time now is rounded down, the check's is not
            while port.clock._timers[0][0] <= port.clock.monotonic():
                await asyncio.sleep(0)
        assert await silent.closed() == b""
        assert refused(port) == [(IDLE, None)]
        await silent.close()


async def test_requests_that_share_one_number_count_each() -> None:
    """Else a client that numbers all of them alike could leave any number waiting."""
    parked: list[RemotingCommand] = []
    node = Node(lambda c: parked.append(c))  # type: ignore[func-returns-value]
    async with Port(node, limits=TcpLimits(pending_requests=4)) as port:
        client = await port.client()
        client.say(*(request(7) for _ in range(6)))
        busy = await client.read(2)
        assert [(c.opaque, c.code) for c in busy] == [(7, 2), (7, 2)]
        assert (len(parked), port.guard.refused[PENDING]) == (4, 2)
        assert [type(event) for event in port.reported] == [LimitReached]
        for c in parked[:4]:
            node.channels[0].send(c.reply(0))
        await client.read(4)
        client.say(*(request(n) for n in range(5)))
        [fifth] = await client.read(1)
        assert (fifth.opaque, fifth.code) == (4, 2), "all four were answered, so there was room for four"
        await client.close()


async def test_who_has_not_read_for_longest_goes_when_all_together_leave_too_much_unread() -> None:
    body = bytes(600 * KIB)
    limits = TcpLimits(unread_total_bytes=1_500 * KIB, drain_bytes=64 * KIB)
    async with Port(Node(lambda c: c.reply(0, None, body)), limits=limits) as port:
        deaf, others = [], []
        for n in range(40):
            client = await port.client()
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            client.say(*(request(m, code=11) for m in range(8)))
            await port.node.until(lambda n=n: len(port.node.channels) > n)  # type: ignore[misc]
            deaf.append(client)
            if port.guard.refused[UNREAD]:
                break
        assert port.guard.refused[UNREAD] == 1, "one is enough to make room"
        assert refused(port) == [(UNREAD, 11)]
        await port.node.until(lambda: len(port.node.gone) == 1)
        assert port.node.gone[0].remote == deaf[0].address, "the first of them"
        assert port.guard.unread_bytes <= limits.unread_total_bytes
        others.append(await port.client())
        others[0].say(request(1))
        assert len(await others[0].read(1)) == 1, "who reads is served"
        for client in (*deaf, *others):
            client.writer.transport.abort()
        await port.node.until(lambda: len(port.node.gone) == len(port.node.channels))
        assert port.guard.unread_bytes == 0


async def test_an_answer_that_fits_into_no_frame_is_counted_too() -> None:
    async with Port(Node(lambda c: c.reply(0, {"x": "y" * 1_100_000}))) as port:
        client = await port.client()
        client.say(request(5, code=307))
        [answer] = await client.read(1)
        assert answer.code == 1
        assert refused(port) == [("frame_bytes", 307)]
        assert len(port.node.gone) == 0, "the connection goes on"
        await client.close()
