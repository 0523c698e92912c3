"""Commands over real sockets: batches, order, how a connection ends, and who is refused."""

import asyncio
import contextlib
import socket

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.journal.events import ConnectionRefused
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import FLAG_ONEWAY, FLAG_RESPONSE, RemotingCommand
from sandbox.remoting.frame import encode
from sandbox.transport.tcp_limits import TcpLimits
from tests.unit.transport.tcp_stage import Node, Port, Raw, in_time, request

KIB = 1024


async def test_what_comes_in_one_read_is_one_batch_and_answered_in_order() -> None:
    async with Port() as port:
        client = await port.client()
        client.say(*(request(n) for n in range(40)))
        answers = await client.read(40)
        assert [c.opaque for c in answers] == list(range(40))
        assert port.node.batches == [list(range(40))]
        [channel] = port.node.channels
        assert (channel.remote, channel.local) == (client.address, port.server.address)  # type: ignore[attr-defined]
        await client.close()


async def test_the_answers_of_a_batch_leave_in_one_write() -> None:
    async with Port() as port:
        client = await port.client()
        client.say(*(request(n) for n in range(40)))
        await port.node.until(lambda: len(port.node.heard) == 40)
        [stream] = port.server._streams
        assert stream.turns == 2, "one read, one write"
        await client.close()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.lists(st.integers(0, 300), min_size=1, max_size=6),
    cuts=st.lists(st.integers(0, 3_000), max_size=12),
    noise=st.binary(max_size=30),
)
def test_any_cut_of_the_stream_gives_the_same_answers(sizes: list[int], cuts: list[int], noise: bytes) -> None:
    """Also when what follows the last frame is none: what came before it is answered all the same."""
    stream = b"".join(encode(request(n, bytes(size) or None)) for n, size in enumerate(sizes)) + b"\xff" + noise

    async def coroutine() -> None:
        async with Port() as port:
            client = await port.client()
            ends = sorted({min(cut, len(stream)) for cut in cuts} | {len(stream)})
            for begin, end in zip([0, *ends], ends, strict=False):
                client.send(stream[begin:end])
                await client.writer.drain()
                await asyncio.sleep(0)
            answers = await client.read(len(sizes))
            assert [(c.opaque, len(c.body or b"")) for c in answers] == list(enumerate(sizes))
            with contextlib.suppress(OSError):  # the port has closed it already
                client.writer.write_eof()
            assert await client.closed() == b""
            await client.close()
            assert port.guard.refused["protocol"] == (len(noise) >= 7)

    asyncio.run(coroutine())


GARBAGE = {
    "text": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "zeros": bytes(64),
    "a negative length": b"\xff\xff\xff\xff\x00\x00\x00\x04abcd",
    "a frame over 16 MiB": (16 * KIB * KIB - 3).to_bytes(4, "big") + b"\x00\x00\x00\x02{}",
    "a header over 1 MiB": (KIB * KIB + 100).to_bytes(4, "big") + (KIB * KIB + 1).to_bytes(4, "big") + b"{",
    "a header longer than its frame": b"\x00\x00\x00\x06\x00\x00\x00\x09{}",
    "no JSON": b"\x00\x00\x00\x06\x00\x00\x00\x02[]",
    "a serialize type nobody knows": b"\x00\x00\x00\x06\x07\x00\x00\x02{}",
    "a TLS greeting": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}
REASONS = {"a frame over 16 MiB": "frame_bytes", "a header over 1 MiB": "frame_bytes", "a TLS greeting": "frame_bytes"}


@pytest.mark.parametrize("what", GARBAGE)
async def test_bytes_that_are_no_frame_end_their_connection_and_no_one_elses(what: str) -> None:
    async with Port() as port:
        other, bad = await port.client(), await port.client()
        address = bad.address
        bad.say(request(1))
        bad.send(GARBAGE[what])
        [answer] = await bad.read(1)
        assert answer.opaque == 1, "what came before is answered"
        assert await bad.closed() == b""
        [reported] = port.reported
        assert isinstance(reported, ConnectionRefused)
        reason = REASONS.get(what, "protocol")
        assert (reported.address, reported.reason, reported.request_code) == (address, reason, None)
        assert reported.remark
        await port.node.until(lambda: len(port.node.gone) == 1)
        assert port.node.gone[0].why_closed == "protocol"  # type: ignore[attr-defined]
        other.say(request(2))
        assert len(await other.read(1)) == 1
        await other.close()
        await bad.close()


async def test_refusals_are_reported_five_times_a_second_and_counted_all() -> None:
    async with Port() as port:
        port.clock.set_rate(0)  # all of it in one second
        for _ in range(12):
            client = await port.client()
            client.send(b"\xff" * 8)
            await client.closed()
            await client.close()
        assert (port.guard.refused["protocol"], len(port.reported), port.guard.unreported) == (12, 5, 7)
        port.clock.jump_to(port.clock.now_ms() + 1_000)
        client = await port.client()
        client.send(b"\xff" * 8)
        await client.closed()
        await client.close()
        assert len(port.reported) == 6


async def test_one_connection_too_many_is_closed_and_the_others_go_on() -> None:
    async with Port(limits=TcpLimits(connections=2)) as port:
        first, second = await port.client(), await port.client()
        await port.node.until(lambda: len(port.node.channels) == 2)
        third = await port.client()
        assert await third.closed() == b""
        assert [event.reason for event in port.reported if isinstance(event, ConnectionRefused)] == ["connections"]
        await first.close()
        await port.node.until(lambda: len(port.node.gone) == 1)
        fourth = await port.client()
        fourth.say(request(4))
        assert len(await fourth.read(1)) == 1, "there is room again"
        for client in (second, third, fourth):
            await client.close()


async def test_two_hundred_connections_are_served_side_by_side() -> None:
    async with Port(limits=TcpLimits(connections=200)) as port:
        clients = [await port.client() for _ in range(200)]
        for n, client in enumerate(clients):
            client.say(request(n), request(1_000 + n))
        for n, client in enumerate(clients):
            assert [c.opaque for c in await client.read(2)] == [n, 1_000 + n]
        assert port.server.connections == 200
        for client in clients:
            await client.close()
        await port.node.until(lambda: len(port.node.gone) == 200)


async def test_requests_beyond_the_pending_ones_are_answered_with_code_2() -> None:
    parked: list[RemotingCommand] = []
    node = Node(lambda c: parked.append(c))  # type: ignore[func-returns-value]
    async with Port(node, limits=TcpLimits(pending_requests=10)) as port:
        client = await port.client()
        client.say(*(request(n) for n in range(8)), request(100, flag=FLAG_ONEWAY), *(request(n) for n in range(8, 12)))
        busy = await client.read(2)
        assert [(c.opaque, c.code) for c in busy] == [(10, ResponseCode.SYSTEM_BUSY), (11, ResponseCode.SYSTEM_BUSY)]
        assert "busy" in (busy[0].remark or "")
        assert [c.opaque for c in parked] == [*range(8), 100, 8, 9]
        assert [event.limit for event in port.reported] == ["pending_requests"]  # type: ignore[union-attr]
        node.channels[0].send(parked[0].reply(0))
        client.say(request(12), request(13))
        answered, refused = await client.read(2)
        assert (answered.opaque, refused.opaque) == (0, 13), "one was answered, so there was room for one"
        await client.close()


async def test_parked_pulls_are_no_debt_and_heartbeats_are_never_refused() -> None:
    node = Node(lambda c: None)
    async with Port(node, limits=TcpLimits(pending_requests=4)) as port:
        client = await port.client()
        client.say(*(request(n, code=RequestCode.PULL_MESSAGE) for n in range(1_500)))
        client.say(*(request(n) for n in range(2_000, 2_004)), request(3_000, code=RequestCode.HEART_BEAT))
        client.say(request(4_000))
        [refused] = await client.read(1)
        assert (refused.opaque, refused.code) == (4_000, ResponseCode.SYSTEM_BUSY), "four others are a debt"
        assert node.heard == [*range(1_500), *range(2_000, 2_004), 3_000]
        await client.close()


async def test_requests_no_one_answers_do_not_count_for_ever() -> None:
    node = Node(lambda c: None)
    async with Port(node, limits=TcpLimits(pending_requests=4)) as port:
        client = await port.client()
        client.say(*(request(n) for n in range(4)))
        await port.node.until(lambda: len(node.heard) == 4)
        port.clock.jump_to(port.clock.now_ms() + 60_001)
        client.say(*(request(n) for n in range(4, 8)))
        await port.node.until(lambda: len(node.heard) == 8)
        assert port.guard.refused["pending_requests"] == 0
        await client.close()


async def test_who_says_no_more_gets_what_was_asked_and_is_closed() -> None:
    async with Port() as port:
        client = await port.client()
        client.say(request(1), request(2))
        client.writer.write_eof()
        assert [c.opaque for c in await client.read(2)] == [1, 2]
        assert await client.closed() == b""
        await port.node.until(lambda: len(port.node.gone) == 1)
        await client.close()


async def test_half_a_frame_waits_and_holds_no_one_up() -> None:
    frame = encode(request(1, bytes(5_000)))
    async with Port() as port:
        slow, other = await port.client(), await port.client()
        for at in range(0, 2_000, 500):
            slow.send(frame[at : at + 500])
            other.say(request(at))
            await other.read(1)
        assert port.guard.unfinished_bytes == 2_000
        slow.send(frame[2_000:])
        assert [c.opaque for c in await slow.read(1)] == [1]
        assert port.guard.unfinished_bytes == 0
        for client in (slow, other):
            await client.close()


async def test_unfinished_frames_take_only_so_much_memory_together() -> None:
    begun = (8_000_000).to_bytes(4, "big") + (100).to_bytes(4, "big") + bytes(50 * KIB)
    async with Port(limits=TcpLimits(unfinished_bytes=120 * KIB)) as port:
        clients = [await port.client() for _ in range(3)]
        for n, client in enumerate(clients[:2]):
            client.send(begun)
            while port.guard.unfinished_bytes < (n + 1) * len(begun):
                await asyncio.sleep(0)
        clients[2].send(begun)
        assert await clients[2].closed() == b""
        assert [event.reason for event in port.reported if isinstance(event, ConnectionRefused)] == ["unfinished"]
        assert port.server.connections == 2
        for client in clients:
            await client.close()


async def small_window(port: Port) -> Raw:
    """A client with a receive buffer as small as they come."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * KIB)
    sock.setblocking(False)
    ip, _, number = port.server.address.rpartition(":")
    await asyncio.get_running_loop().sock_connect(sock, (ip, int(number)))
    return port.take(*await asyncio.open_connection(sock=sock, limit=KIB))


async def test_of_who_does_not_read_no_more_is_read() -> None:
    """It sends on and on; what is held for it stays within one batch of answers, and others are served."""
    body = bytes(64 * KIB)
    node = Node(lambda c: c.reply(0, None, body))
    async with Port(node, limits=TcpLimits(drain_bytes=256 * KIB)) as port:
        deaf, other = await small_window(port), await port.client()
        for n in range(4_000):
            deaf.say(request(n))
        await port.node.until(lambda: len(node.heard) > 0)
        [stream] = [s for s in port.server._streams if s.remote == deaf.address]
        while not stream.stalled:
            other.say(request(9_999))
            await other.read(1)
        for _ in range(100):
            other.say(request(9_999))
            await other.read(1)
        assert len(node.heard) - node.heard.count(9_999) < 400, "and what the kernel takes"
        assert stream._transport.get_write_buffer_size() < 256 * KIB + 64 * len(body)
        answers = await deaf.read(1_000)
        assert [c.opaque for c in answers] == list(range(1_000)), "as soon as it reads it is served, in order"
        for client in (deaf, other):
            await client.close()


async def test_who_leaves_too_much_unread_when_more_is_due_is_closed() -> None:
    async with Port(limits=TcpLimits(unread_bytes=512 * KIB)) as port:
        deaf, other = await small_window(port), await port.client()
        deaf.say(request(1))
        await port.node.until(lambda: len(port.node.heard) == 1)
        [channel] = [c for c in port.node.channels if c.remote == deaf.address]
        for n in range(400):  # broker to client, in a turn each
            channel.send(request(n, bytes(64 * KIB)))
            other.say(request(n))
            await other.read(1)
            if not channel.is_open:
                break
        assert not channel.is_open
        await port.node.until(lambda: channel in port.node.gone)
        assert [event.reason for event in port.reported if isinstance(event, ConnectionRefused)] == ["unread"]
        for client in (deaf, other):
            await client.close()


async def test_one_large_turn_of_answers_ends_nothing() -> None:
    """A consumer that pulls from many queues at once gets many megabytes in one turn."""
    node = Node(lambda c: c.reply(0, None, bytes(1_000 * KIB)))
    async with Port(node, limits=TcpLimits(unread_bytes=KIB * KIB, drain_bytes=64 * KIB)) as port:
        client = await port.client()
        client.say(*(request(n) for n in range(60)))
        assert [c.opaque for c in await client.read(60)] == list(range(60))
        assert port.reported == []
        await client.close()


async def test_an_answer_that_fits_into_no_frame_becomes_an_error() -> None:
    node = Node(lambda c: c.reply(0, {"x": "y" * 1_100_000}))
    async with Port(node) as port:
        client = await port.client()
        client.say(request(5))
        [answer] = await client.read(1)
        assert (answer.opaque, answer.code, answer.flag) == (5, ResponseCode.SYSTEM_ERROR, FLAG_RESPONSE)
        assert "header of" in (answer.remark or "")
        await client.close()


async def test_a_listener_that_fails_costs_its_connection_only(caplog: pytest.LogCaptureFixture) -> None:
    def fail(c: RemotingCommand) -> RemotingCommand:
        if c.opaque == 13:
            raise RuntimeError("a bad day")
        return c.reply(0)

    async with Port(Node(fail)) as port:
        client, other = await port.client(), await port.client()
        client.say(request(13))
        assert await client.closed() == b""
        assert "a bad day" in caplog.text
        other.say(request(1))
        assert len(await other.read(1)) == 1
        for each in (client, other):
            await each.close()


async def test_a_port_that_closes_ends_its_connections_and_can_be_opened_again() -> None:
    port = Port()
    async with port:
        client = await port.client()
        client.say(request(1))
        await client.read(1)
        address = port.server.address
        await in_time(port.server.close())
        assert await client.closed() == b""
        assert len(port.node.gone) == 1
        with pytest.raises(ConnectionRefusedError):
            await port.client()
        port.server.open("127.0.0.1", int(address.rpartition(":")[2]))
        again = await port.client()
        again.say(request(2))
        assert len(await again.read(1)) == 1
        for each in (client, again):
            await each.close()


async def test_a_silent_connection_is_closed_by_a_port_whose_node_does_not() -> None:
    async with Port(idle=True) as port:
        silent, busy = await port.client(), await port.client()
        await port.node.until(lambda: len(port.node.channels) == 2)
        for n in range(12):
            busy.say(request(n))
            await busy.read(1)
            assert len(port.node.gone) == 0
            port.clock.jump_to(port.clock.now_ms() + 10_000)
            while port.clock._timers[0][0] <= port.clock.monotonic():
                await asyncio.sleep(0)
        assert await silent.closed() == b""
        await port.node.until(lambda: len(port.node.gone) == 1)
        busy.say(request(99))
        assert len(await busy.read(1)) == 1
        for client in (silent, busy):
            await client.close()


async def test_nothing_is_heard_after_a_close_and_the_end_is_reported_once() -> None:
    async with Port() as port:
        client = await port.client()
        client.say(request(1))
        await client.read(1)
        [channel] = port.node.channels
        channel.send(request(7))
        channel.close()
        channel.close()
        channel.send(request(8))
        assert not channel.is_open
        client.say(request(2))
        rest = await client.closed()
        assert rest == encode(request(7)), "what was said before the close arrives"
        await port.node.until(lambda: len(port.node.gone) == 1)
        assert port.node.heard == [1]
        await client.close()
