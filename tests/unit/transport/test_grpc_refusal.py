"""A gRPC client at a port of the remoting protocol: what it reads, and that it cannot stay."""

import grpc  # type: ignore[import-untyped]
import pytest

from sandbox.journal.events import ConnectionRefused
from sandbox.transport.grpc_refusal import SENTENCE
from sandbox.transport.tcp_channel import NO_GRPC
from tests.unit.transport.tcp_stage import Port


async def test_a_grpc_client_of_rocketmq_5_reads_our_sentence_at_its_own_end(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with Port() as port, grpc.aio.insecure_channel(port.server.address) as far:
        query = far.unary_unary("/apache.rocketmq.v2.MessagingService/QueryRoute")
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await query(bytes(3))
        assert (failed.value.code(), failed.value.details()) == (grpc.StatusCode.UNIMPLEMENTED, SENTENCE)
        [reported] = port.reported
        assert isinstance(reported, ConnectionRefused)
        assert (reported.reason, reported.remark) == ("protocol", NO_GRPC)
        assert NO_GRPC in caplog.text


async def test_a_connection_that_sends_http_2_without_end_is_closed() -> None:
    async with Port() as port:
        client = await port.client()
        data = b"\x00\x3f\x00\x00\x00\x00\x00\x00\x01".ljust(80 * 1024, b"x")
        client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + data)
        assert len(await client.closed()) < 100
