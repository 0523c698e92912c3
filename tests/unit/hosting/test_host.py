"""The host in virtual time: who sleeps when."""

import asyncio
from pathlib import Path

import pytest

from sandbox.cluster.config import HostConfig
from sandbox.hosting.awake_sandboxes import awake_cap
from sandbox.hosting.host import Host
from sandbox.simulation.world import SimulatedEnvironment


class SilentBell:
    def ring(self) -> None:
        return None


def opened(tmp_path: Path, environment: SimulatedEnvironment, *slugs: str) -> Host:
    host = Host(tmp_path, HostConfig(), environment)

    async def coroutine() -> None:
        host.start()
        for slug in slugs:
            await host.create(slug, "empty", preset="sandbox", seed=1, changes=None, limits=None)

    environment.sim.run(coroutine())
    return host


def states(host: Host) -> dict[str, str]:
    return {slug: row["state"] for slug, row in host.status()["sandboxes"].items()}


def test_ten_minutes_after_the_last_look_a_sandbox_sleeps_unless_it_is_watched(tmp_path: Path) -> None:
    environment = SimulatedEnvironment(1, (0, 0))
    host = opened(tmp_path, environment, "seen", "watched", "forgotten")
    host.subscribe("watched", SilentBell())
    environment.sim.run_for(500)
    host.snapshot("seen")
    environment.sim.run_for(110)
    assert states(host) == {"seen": "live", "watched": "live", "forgotten": "asleep"}
    environment.sim.run_for(500)
    assert states(host) == {"seen": "asleep", "watched": "live", "forgotten": "asleep"}
    environment.sim.run(host.close())
    assert set(states(host).values()) == {"asleep"}
    environment.close()


def test_a_sandbox_that_has_just_been_opened_is_not_idle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = SimulatedEnvironment(1, (0, 0))
    host = opened(tmp_path, environment, "one")
    environment.sim.run(host.sleep("one", "test"))
    environment.sim.run_for(3_600)
    monkeypatch.setattr(host._registry.get("one"), "ring", host._look_around)  # it looks around just then
    environment.sim.run(host.wake("one"))
    environment.sim.run_for(1)
    assert states(host) == {"one": "live"}
    environment.sim.run(host.close())
    environment.close()


def test_every_node_has_an_address_of_its_own_for_life(tmp_path: Path) -> None:
    environment = SimulatedEnvironment(1, (0, 0))
    host = opened(tmp_path, environment, "one", "two")
    addresses = [host.snapshot(slug)["brokers"][0]["address"] for slug in ("one", "two")]
    assert len(set(addresses)) == 2
    environment.sim.run(host.sleep("one", "test"))
    environment.sim.run(host.wake("one"))
    assert host.snapshot("one")["brokers"][0]["address"] == addresses[0]
    environment.sim.run(host.close())
    environment.close()


def test_a_new_host_finds_all_sandboxes_asleep(tmp_path: Path) -> None:
    environment = SimulatedEnvironment(1, (0, 0))
    first = opened(tmp_path, environment, "one", "two")
    environment.sim.run(first.close())
    second = opened(tmp_path, environment)
    assert states(second) == {"one": "asleep", "two": "asleep"}
    environment.sim.run(second.close())
    environment.close()


def test_a_visitor_who_wakes_a_sandbox_while_it_is_deleted_finds_none(tmp_path: Path) -> None:
    environment = SimulatedEnvironment(1, (0, 0))
    host = opened(tmp_path, environment, "doomed")

    async def coroutine() -> list[object]:
        steps = (
            host.sleep("doomed", "test"),
            host.wake("doomed"),
            host.delete("doomed"),
            host.wake("doomed"),
            host.wake("doomed"),
        )
        return await asyncio.gather(*steps, return_exceptions=True)

    outcomes = environment.sim.run(coroutine())
    assert states(host) == {}
    assert [getattr(outcome, "status", None) for outcome in outcomes[3:]] == [404, 404]
    assert not (tmp_path / "sandboxes" / "doomed").exists()
    environment.sim.run(host.close())
    environment.close()


def test_descriptors_bound_how_many_may_be_awake() -> None:
    limits = HostConfig().limits
    room = limits.descriptors_reserved + 3 * limits.descriptors_per_sandbox
    assert [awake_cap(HostConfig(), descriptors) for descriptors in (0, room, 10**9)] == [1, 3, limits.awake_sandboxes]
