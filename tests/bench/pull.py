"""Pulls over loopback: how many messages a CPU second gives out, client included (it decodes nothing)."""

import asyncio
import time
from typing import Any

from sandbox.message import batch
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import PullHeader, SendHeader
from sandbox.transport.loopback import LoopbackNetwork
from tests.bench import echo
from tests.bench.broker_node import Caller, running_broker
from tests.bench.calibration import calibrate

CONNECTIONS = 4
BODIES = (128, 1024)
BATCH = 32
MESSAGES = 128_000


def run(messages: int = MESSAGES) -> dict[str, Any]:
    """CPU microseconds per pulled message and messages per CPU second, by body size; 32 a pull."""
    found: dict[str, Any] = {"calibration_us": round(calibrate(), 3), "echo": echo.run(min(messages, echo.REQUESTS))}
    for size in BODIES:
        found[f"pull_{size}"] = asyncio.run(_measured(messages, size))
    return found


async def _measured(messages: int, size: int) -> dict[str, float]:
    pulls = messages // CONNECTIONS // BATCH
    with running_broker() as (broker, network):
        await asyncio.gather(*(_Filler(pulls, queue, size).run(network) for queue in range(CONNECTIONS)))
        await _work(network, min(pulls, 100))  # warm
        pulled, cpu = broker.stats.get_total, time.process_time()
        await _work(network, pulls)
        cpu, pulled = time.process_time() - cpu, broker.stats.get_total - pulled
    return {"cpu_us": round(cpu / pulled * 1e6, 2), "per_cpu_second": round(pulled / cpu)}


async def _work(network: LoopbackNetwork, pulls: int) -> None:
    await asyncio.gather(*(_Puller(pulls, queue).run(network) for queue in range(CONNECTIONS)))


class _Filler(Caller):
    """Stores batches in one queue."""

    def __init__(self, requests: int, queue_id: int, size: int) -> None:
        super().__init__(requests, 1)
        header = SendHeader("PG", "BenchmarkTest", "TBW102", 4, queue_id, 0, 1_700_000_000_000, 0, "WAIT\x01true",
                            batch=True)
        self._ext = header.to_ext()
        self._body = batch.encode([batch.BatchItem(0, bytes(size), b"TAGS\x01TagA")] * BATCH)

    def make(self, _: RemotingCommand | None) -> RemotingCommand:
        return RemotingCommand(RequestCode.SEND_BATCH_MESSAGE, self._ext, self._body)


class _Puller(Caller):
    """Reads one queue from its start, each pull where the one before ended."""

    def __init__(self, requests: int, queue_id: int) -> None:
        super().__init__(requests, 1)
        self._header = PullHeader("CG", "BenchmarkTest", queue_id, 0, BATCH, 6, 0, 15_000, "TagA || TagB", 0, "TAG")

    def make(self, answer: RemotingCommand | None) -> RemotingCommand:
        if answer is not None:
            assert answer.ext is not None
            self._header = self._header._replace(queue_offset=int(answer.ext["nextBeginOffset"]))
        return RemotingCommand(RequestCode.PULL_MESSAGE, self._header.to_ext())


if __name__ == "__main__":
    for name, figure in run().items():
        print(name, figure)
