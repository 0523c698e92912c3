"""Apache's benchmark: rates and medians; the brokers themselves meet in `manage.py bench wire`."""

import pytest

from tests.bench import wire, wire_process
from tests.interop.clients import Unavailable


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
    rate = wire.rate(wire.Look(10.0, 1_000, 3.0), wire.Look(14.0, 9_000, 3.2))
    assert (rate.per_second, rate.cpu_us) == (2_000, pytest.approx(25.0))


def test_without_java_the_bench_prints_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        raise Unavailable("no java here")

    monkeypatch.setattr(wire_process, "client_classpath", missing)
    assert wire.run(quick=True) == {"skipped": "no java here"}
