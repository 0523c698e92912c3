"""The broker's benchmarks measure what they say, on a small scale."""

import asyncio

from tests.bench import pull, send, tcp


def test_sends_are_measured_alone_and_in_batches() -> None:
    measured = send.run(640)
    assert all(measured[name]["per_cpu_second"] > 0 for name in ("send_128", "batch_128", "send_1024", "batch_1024"))


def test_pulls_are_measured_by_body_size() -> None:
    measured = pull.run(1_280)
    assert all(measured[name]["per_cpu_second"] > 0 for name in ("pull_128", "pull_1024"))


def test_sends_over_tcp_are_measured_with_the_client_in_another_process() -> None:
    measured = asyncio.run(tcp.measured(4, 4, 128, 400))
    assert measured["per_second"] > 0
    assert measured["cpu_us"] > 0
