"""The benchmark with Apache's clients counts what it says; the brokers themselves meet in `manage.py bench wire`."""

import os

import pytest

from tests.bench import wire, wire_process
from tests.interop.clients import Unavailable


def test_a_rate_is_what_came_between_two_looks_and_what_the_broker_spent_on_each() -> None:
    rate = wire.rate(wire.Look(10.0, 1_000, 3.0), wire.Look(14.0, 9_000, 3.2))
    assert rate.per_second == 2_000
    assert rate.cpu_us == pytest.approx(25.0)


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


def test_without_java_it_says_why_nothing_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        raise Unavailable("no java here")

    monkeypatch.setattr(wire_process, "client_classpath", missing)
    assert wire.run(quick=True) == {"skipped": "no java here"}


def test_a_process_is_known_by_its_cpu_and_by_its_memory_with_and_without_what_lies_in_files() -> None:
    before_s, before = wire_process.cpu_s(os.getpid()), wire_process.memory(os.getpid())
    block = bytearray(os.urandom(32 << 20))
    sum(range(3_000_000))
    assert wire_process.cpu_s(os.getpid()) > before_s
    assert wire_process.memory(os.getpid()).own >= before.own + 30
    assert 0 < before.own <= before.resident
    assert len(block) == 32 << 20
    del block
