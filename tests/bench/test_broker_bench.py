"""The broker's benchmarks measure what they say, on a small scale."""

from tests.bench import pull, send


def test_sends_are_measured_alone_and_in_batches() -> None:
    measured = send.run(640)
    assert all(measured[name]["per_cpu_second"] > 0 for name in ("send_128", "batch_128", "send_1024", "batch_1024"))


def test_pulls_are_measured_by_body_size() -> None:
    measured = pull.run(1_280)
    assert all(measured[name]["per_cpu_second"] > 0 for name in ("pull_128", "pull_1024"))
