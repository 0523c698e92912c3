"""What a sandbox costs that no one looks at, idle and running, and how fast it is there again.

Each is a `flights` sandbox whose feed is stopped: a broker, a name server, five members and a producer that all keep
their timers; running, the feed sends.  Budgets, each: 1 MiB, 40 descriptors, 0.1 % of a core idle, 1 % running.
"""

import os
import re
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from sandbox.cluster.actors.feeds import prepare_flights
from sandbox.control.actions import ChangeActor
from sandbox.control.readings import Reading, Refusal
from sandbox.control.rights import Actor
from sandbox.hosting.engine import Engine
from sandbox.hosting.port import EnginePort

SANDBOXES = 8
WATCH_S = 5.0
RUNNING_SPEED = 600  # of the template
PATIENCE_S = 30.0
OWNER = Actor("owner", "bench")


def run(sandboxes: int = SANDBOXES, watch_s: float = WATCH_S) -> dict[str, Any]:
    """Per sandbox: memory, descriptors, CPU share while idle and running; seconds to create, sleep and wake one."""
    with tempfile.TemporaryDirectory() as home:
        prepare_flights(Path(home))
        engine = Engine(Path(home)).start()
        try:
            return _measure(engine.port, sandboxes, watch_s)
        finally:
            engine.stop()


def _measure(port: EnginePort, sandboxes: int, watch_s: float) -> dict[str, Any]:
    _create(port, "first")  # what all share is loaded with it
    _let_settle(port, ["first"])
    memory, descriptors = _memory_bytes(), _descriptors()
    slugs = [f"idle-{n}" for n in range(sandboxes)]
    began = time.perf_counter()
    for slug in slugs:
        _create(port, slug)
    create_s = (time.perf_counter() - began) / sandboxes
    _let_settle(port, slugs)
    figures = {"memory_bytes": round((_memory_bytes() - memory) / sandboxes),
               "descriptors": round((_descriptors() - descriptors) / sandboxes, 1), "create_s": round(create_s, 4)}
    if watch_s:
        figures["cpu_percent"] = round(_cpu_share(watch_s) / (sandboxes + 1) * 100, 3)
        _set_speed(port, slugs, RUNNING_SPEED)
        running_share = _cpu_share(watch_s)
        _set_speed(port, slugs, 0)
        figures["running_cpu_percent"] = round(running_share / sandboxes * 100, 3)
    return figures | _sleep_and_wake(port, slugs)


def _cpu_share(watch_s: float) -> float:
    began = time.process_time()
    time.sleep(watch_s)
    return (time.process_time() - began) / watch_s


def _create(port: EnginePort, slug: str) -> None:
    port.create(slug, "flights", seed=1).result(PATIENCE_S)
    _set_speed(port, [slug], 0)


def _set_speed(port: EnginePort, slugs: list[str], speed: float) -> None:
    """Of the feeds."""
    for slug in slugs:
        port.act(slug, ChangeActor(actor="departures", speed=speed), OWNER).result(PATIENCE_S)


def _let_settle(port: EnginePort, slugs: list[str]) -> None:
    """Until both members of every sandbox have their share of the queues."""
    news = News()
    for slug in slugs:
        port.subscribe(slug, news).result(PATIENCE_S)
    names = [f"board/{slug}/maintenance/flights" for slug in slugs]
    while not all(_is_shared_out(reading) for reading in port.read(names).result(PATIENCE_S)):
        assert news.heard.wait(PATIENCE_S), "nothing happens any more"
        news.heard.clear()
    for slug in slugs:
        port.unsubscribe(slug, news).result(PATIENCE_S)


def _is_shared_out(reading: Reading | Refusal) -> bool:
    assert isinstance(reading, Reading)
    owners = {row["owner"] for row in reading.data["queues"].values()}
    return len(owners) == 2 and None not in owners


class News:
    """A bell for a thread that waits."""

    def __init__(self) -> None:
        self.heard = threading.Event()

    def ring(self) -> None:
        self.heard.set()


def _sleep_and_wake(port: EnginePort, slugs: list[str]) -> dict[str, float]:
    began = time.perf_counter()
    for slug in slugs:
        port.sleep(slug, "bench").result(PATIENCE_S)
    slept = time.perf_counter()
    for slug in slugs:
        port.wake(slug).result(PATIENCE_S)
    woke = time.perf_counter()
    return {"sleep_s": round((slept - began) / len(slugs), 4), "wake_s": round((woke - slept) / len(slugs), 4)}


def _memory_bytes() -> int:
    """Anonymous memory of this process: mapped files are the page cache's."""
    found = re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found.group(1)) * 1024


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))
