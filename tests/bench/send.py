"""Sends over loopback: how many a CPU second takes in, client included, beside the bare echo of `echo.py`."""

import asyncio
import time
from typing import Any

from sandbox.message import batch
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import SendHeader
from sandbox.transport.loopback import LoopbackNetwork
from tests.bench import echo
from tests.bench.broker_node import Caller, running_broker
from tests.bench.calibration import calibrate

CONNECTIONS = 16
IN_FLIGHT = 16
BODIES = (128, 1024)
BATCH = 32
REQUESTS = 40_000


def run(requests: int = REQUESTS) -> dict[str, Any]:
    """CPU microseconds per message and messages per CPU second, by body size; alone and in batches of 32."""
    found: dict[str, Any] = {"calibration_us": round(calibrate(), 3), "echo": echo.run(min(requests, echo.REQUESTS))}
    for size in BODIES:
        found[f"send_{size}"] = asyncio.run(_measured(requests, size, 1))
        found[f"batch_{size}"] = asyncio.run(_measured(requests // BATCH * 4, size, BATCH))
    return found


async def _measured(requests: int, size: int, per_request: int) -> dict[str, float]:
    with running_broker() as (broker, network):
        await _work(network, min(requests, 1_600), size, per_request)  # warm
        stored, cpu = broker.store.stats.puts.value, time.process_time()
        await _work(network, requests, size, per_request)
        cpu, stored = time.process_time() - cpu, broker.store.stats.puts.value - stored
    return {"cpu_us": round(cpu / stored * 1e6, 2), "per_cpu_second": round(stored / cpu)}


async def _work(network: LoopbackNetwork, requests: int, size: int, per_request: int) -> None:
    callers = [_Sender(requests // CONNECTIONS, n, size, per_request) for n in range(CONNECTIONS)]
    await asyncio.gather(*(caller.run(network) for caller in callers))


class _Sender(Caller):
    """Sends to one queue, with the header a Java producer sends."""

    def __init__(self, requests: int, queue_id: int, size: int, per_request: int) -> None:
        super().__init__(requests, IN_FLIGHT)
        text = "UNIQ_KEY\x017F00000142035FFD2B2762EA0A990000\x02WAIT\x01true\x02TAGS\x01TagA"
        header = SendHeader("PG", "BenchmarkTest", "TBW102", 4, queue_id, 0, 1_700_000_000_000, 0, text,
                            batch=per_request > 1, broker="broker-a")
        self._ext = header.to_ext()
        self._code = RequestCode.SEND_BATCH_MESSAGE if per_request > 1 else RequestCode.SEND_MESSAGE_V2
        item = batch.BatchItem(0, bytes(size), b"UNIQ_KEY\x017F00000142035FFD2B2762EA0A990000")
        self._body = batch.encode([item] * per_request) if per_request > 1 else bytes(size)
        self._opaque = 0

    def make(self, _: RemotingCommand | None) -> RemotingCommand:
        self._opaque += 1
        return RemotingCommand(self._code, self._ext, self._body, opaque=self._opaque)


if __name__ == "__main__":
    for name, figure in run().items():
        print(name, figure)
