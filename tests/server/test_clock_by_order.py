"""Pause, pace and step: the sandbox's clock does what is asked."""

import time

from tests.server.server import Driver, Server, stored, until

ENOUGH_S = 1.5  # of the machine's time, to see whether something moves


def moved(sandbox: Driver) -> tuple[int, int, float]:
    """Return by how much the sandbox's clock, its store and the machine's clock moved meanwhile."""
    before, began_s = sandbox.snapshot(), time.monotonic()
    until(lambda: time.monotonic() - began_s > ENOUGH_S)
    after = sandbox.snapshot()
    return (
        int(after["at_ms"]) - int(before["at_ms"]),
        stored(after, "orders") - stored(before, "orders"),
        (int(after["wall_ms"]) - int(before["wall_ms"])) / 1000,
    )


def test_a_stopped_world_does_not_change_and_continues(server: Server) -> None:
    sandbox = server.create("orders")
    sandbox.wait_until(lambda seen: stored(seen, "orders") > 3, what="it moves")
    stop = sandbox.act("SetRate", rate=0)
    reported = sandbox.wait_for("ClockChanged", stop - 1, rate=0.0)
    assert reported["cause"] == str(stop)
    assert sandbox.snapshot()["rate"] == 0
    assert moved(sandbox)[:2] == (0, 0), "neither clock nor traffic"
    seq = sandbox.snapshot()["seq"]
    assert moved(sandbox)[:2] == (0, 0)
    assert sandbox.snapshot()["seq"] == seq, "nothing happens in a stopped world"

    sandbox.act("SetRate", rate=20)
    clock_ms, messages, wall_s = moved(sandbox)
    assert clock_ms / 1000 < 26 * wall_s
    before = sandbox.snapshot()
    sandbox.wait_until(lambda seen: stored(seen, "orders") > stored(before, "orders") + 60, what="traffic goes on")

    sandbox.act("SetRate", rate=0.1)
    clock_ms, messages, wall_s = moved(sandbox)
    assert clock_ms / 1000 < 0.3 * wall_s
    assert messages <= 4 + 10 * clock_ms / 1000, "six a second of its own clock"
    slow_ms = int(sandbox.snapshot()["at_ms"])
    sandbox.wait_until(lambda seen: int(seen["at_ms"]) > slow_ms, what="it goes on slowly")


def test_a_step_runs_so_long_and_stops_again(server: Server, orders: Driver) -> None:
    orders.act("SetRate", rate=0)
    try:
        before = int(orders.snapshot()["at_ms"])
        orders.act("Step", until="ms", ms=2_500)
        orders.wait_until(lambda seen: int(seen["at_ms"]) == before + 2_500, what="the clock went on by 2.5 s")
        assert moved(orders)[:2] == (0, 0)

        seq = orders.act("Step", until="OffsetCommitted", ms=60_000)
        event = orders.wait_for("OffsetCommitted", seq)
        orders.wait_until(lambda seen: seen["rate"] == 0, what="it stands still again")
        assert int(orders.snapshot()["at_ms"]) - int(event["at_ms"]) <= 1, "it stopped at the event"

        seq = orders.act("Step", until="fact")
        orders.wait_until(lambda seen: int(seen["seq"]) > seq + 1, what="something happened")
        until(lambda: orders.snapshot()["seq"] == orders.snapshot()["seq"])  # flow on the way does not end the step
        assert moved(orders)[:2] == (0, 0)
    finally:
        orders.act("SetRate", rate=1)
    assert moved(orders)[0] > 500


def test_a_paused_sandbox_can_be_stopped_and_wakes_paused(server: Server, orders: Driver) -> None:
    orders.act("SetRate", rate=0)
    try:
        at_ms = int(orders.snapshot()["at_ms"])
        assert orders.http.post("/sleep", json={}).status_code == 200
        assert orders.snapshot()["sandbox"]["state"] == "asleep"
        refused = orders.post("SetRate", rate=1)
        assert refused.status_code == 503
        assert "Wake the sandbox first" in refused.json()["hint"]
        orders.wake()
        assert orders.snapshot()["rate"] == 0
        assert abs(int(orders.snapshot()["at_ms"]) - at_ms) < 5_000, "sandbox time goes on where it stopped"
        assert moved(orders)[:2] == (0, 0)
    finally:
        orders.act("SetRate", rate=1)
