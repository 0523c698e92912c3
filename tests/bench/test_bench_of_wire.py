"""Apache's benchmark: rates, medians and processes; the brokers themselves meet in `manage.py bench wire`."""

import os

import pytest

from tests.bench import wire, wire_process
from tests.interop.clients import Unavailable


def test_a_rate_is_the_difference_of_two_looks_and_the_brokers_cpu_by_message() -> None:
    rate = wire.rate(wire.Look(10.0, 1_000, 3.0), wire.Look(14.0, 9_000, 3.2))
    assert (rate.per_second, rate.cpu_us) == (2_000, pytest.approx(25.0))


def test_ours_and_apaches_are_measured_in_turns_and_the_medians_compared() -> None:
    ours, apache = (wire.Server(name, "", "", wire.ROOT, 0) for name in ("ours", "apache"))
    order: list[str] = []
    rates = {"ours": [100.0, 900.0, 300.0], "apache": [200.0, 400.0, 600.0]}

    def measure(server: wire.Server) -> wire.Rate:
        order.append(server.name)
        return wire.Rate(rates[server.name].pop(0), 5.0)

    row = wire.compared({"ours": ours, "apache": apache}, wire.FULL, measure)
    assert order == ["ours", "apache"] * 3
    assert (row["ours"]["per_second"], row["apache"]["per_second"], row["ratio"]) == (300, 400, 0.75)


def test_without_java_the_bench_prints_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        raise Unavailable("no java here")

    monkeypatch.setattr(wire_process, "client_classpath", missing)
    assert wire.run(quick=True) == {"skipped": "no java here"}


def test_a_process_has_cpu_seconds_and_memory_with_and_without_mapped_files() -> None:
    cpu_s, before = wire_process.cpu_s(os.getpid()), wire_process.memory(os.getpid())
    block = bytearray(os.urandom(32 << 20))
    while wire_process.cpu_s(os.getpid()) == cpu_s:
        sum(range(100_000))
    assert wire_process.memory(os.getpid()).own >= before.own + 30
    assert 0 < before.own <= before.resident
    del block
