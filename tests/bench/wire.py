"""Apache's own benchmark against our broker and against Apache's, in turns within one run.

The clients are `benchmark.Producer` and `benchmark.Consumer` on the 4.9.8 client; Apache's broker is 4.9.7.  What is
counted is what the brokers say: offsets before and after some seconds, and the CPU of their processes meanwhile.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench import wire_process as processes
from tests.bench.calibration import calibrate
from tests.interop.clients import Unavailable, java_classpath
from tests.interop.servers import APACHE_4, READY_S, ROOT, Server, apache_server, our_server

QUEUES = 4
BODIES = (128, 1024)
THREADS = (1, 16, 64)
PROPERTIES = {"brokerName": "broker-a", "brokerClusterName": "DefaultCluster"}  # the rest as both have it
WITHIN = (0.05, 0.95)  # of a backlog: neither the start of the client nor its last commit
LOOK_EVERY_S = 0.1


class Plan(NamedTuple):
    repetitions: int
    warm_s: float
    measured_s: float
    backlog: int


FULL = Plan(3, 5.0, 8.0, 400_000)
QUICK = Plan(1, 3.0, 3.0, 60_000)


class Rate(NamedTuple):
    per_second: float
    cpu_us: float  # of the broker, for each message


def run(*, quick: bool = False) -> dict[str, Any]:
    """Rates, CPU, start and memory of both brokers.  `{"skipped": why}` where Java, Maven or the artifacts are not."""
    try:
        processes.client_classpath()
        java_classpath(APACHE_4, "broker")
    except Unavailable as why:
        return {"skipped": str(why)}
    command = [sys.executable, "-m", "tests.bench.wire", *(["--quick"] if quick else [])]
    done = subprocess.run([*_apart(), *command], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _apart() -> list[str]:
    """A network of its own, for Apache's broker listens on all addresses; nothing where Linux does not allow one."""
    apart = ["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    if shutil.which("unshare") and subprocess.run([*apart, "true"], capture_output=True, check=False).returncode == 0:
        return apart
    return []


def measured(plan: Plan) -> dict[str, Any]:
    """Measure everything in the namespace, with both brokers running throughout."""
    found: dict[str, Any] = {"calibration_us": round(calibrate(), 3), "plan": plan._asdict()}
    found["start_s"] = started(plan.repetitions)
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wire-")))
        servers = {
            "ours": stack.enter_context(our_server(properties=PROPERTIES)),
            "apache": stack.enter_context(apache_server(properties=PROPERTIES)),
        }
        found["memory_mb"] = {"idle": {name: processes.memory(each.pid)._asdict() for name, each in servers.items()}}
        for body_bytes in BODIES:
            topic = f"Bench{body_bytes}"
            for server in servers.values():
                server.create_topic(topic, queues=QUEUES)
            cells = [(threads, "ROCKETMQ") for threads in THREADS] + [(THREADS[-1], "JSON")]
            for threads, header in cells:
                name = f"send_{body_bytes}_{threads}" + ("_json" if header == "JSON" else "")
                found[name] = compared(
                    servers,
                    plan,
                    lambda server, t=topic, b=body_bytes, w=threads, h=header: sending(
                        server, plan, home, topic=t, body_bytes=b, threads=w, header=h
                    ),
                )
            found[f"backlog_{body_bytes}"] = compared(
                servers,
                plan,
                lambda server, t=topic, b=body_bytes: consuming(server, plan, home, topic=t, body_bytes=b),
            )
        found["memory_mb"]["after"] = {name: processes.memory(each.pid)._asdict() for name, each in servers.items()}
    return found


def compared(servers: dict[str, Server], plan: Plan, measure: Callable[[Server], Rate]) -> dict[str, Any]:
    """The medians of both, each measured `repetitions` times, in turns; `ratio` is ours to Apache's."""
    rates: dict[str, list[Rate]] = {name: [] for name in servers}
    for _ in range(plan.repetitions):
        for name, server in servers.items():
            rates[name].append(measure(server))
    row: dict[str, Any] = {
        name: {
            "per_second": round(statistics.median(rate.per_second for rate in each)),
            "cpu_us": round(statistics.median(rate.cpu_us for rate in each), 1),
        }
        for name, each in rates.items()
    }
    row["ratio"] = round(row["ours"]["per_second"] / row["apache"]["per_second"], 2)
    print(row, file=sys.stderr)
    return row


def sending(server: Server, plan: Plan, home: Path, *, topic: str, body_bytes: int, threads: int, header: str) -> Rate:
    """Count messages stored while the benchmark's producer sends, after its warm-up."""
    before = stored(server, topic)
    with processes.producer(server, topic, threads=threads, body_bytes=body_bytes, header=header, home=home):
        server.until(lambda: stored(server, topic) > before)
        time.sleep(plan.warm_s)
        first = look(server, stored(server, topic))
        time.sleep(plan.measured_s)
        return rate(first, look(server, stored(server, topic)))


def consuming(server: Server, plan: Plan, home: Path, *, topic: str, body_bytes: int) -> Rate:
    """Measure how fast a new group catches up, by the offsets of its pulls."""
    while (end := stored(server, topic)) < plan.backlog:
        with processes.producer(server, topic, threads=THREADS[-1], body_bytes=body_bytes, header="JSON", home=home):
            server.until(lambda: stored(server, topic) >= plan.backlog)
    group = f"bench-{time.monotonic_ns()}"
    low, high = (part * min(end, plan.backlog) for part in WITHIN)
    looks: list[Look] = []
    with processes.consumer(server, topic, group, home=home):
        until_s = time.monotonic() + READY_S
        while not looks or looks[-1].count < high:
            assert time.monotonic() < until_s, f"{group} has got to {looks[-1]}, not to {high}"
            time.sleep(LOOK_EVERY_S)
            looks.append(look(server, consumed(server, topic, group)))
    inside = [each for each in looks if each.count >= low]
    return rate(inside[0], inside[-1])


class Look(NamedTuple):
    at_s: float
    count: int
    cpu_s: float


def look(server: Server, count: int) -> Look:
    return Look(time.perf_counter(), count, processes.cpu_s(server.pid))


def rate(first: Look, last: Look) -> Rate:
    count = last.count - first.count
    return Rate(count / (last.at_s - first.at_s), (last.cpu_s - first.cpu_s) / max(1, count) * 1e6)


def stored(server: Server, topic: str) -> int:
    """Count stored messages by the ends of the topic's queues (30)."""
    return sum(
        int(server.ask(30, {"topic": topic, "queueId": str(queue)})["extFields"]["offset"]) for queue in range(QUEUES)
    )


def consumed(server: Server, topic: str, group: str) -> int:
    return sum(server.committed(group, topic, queue) or 0 for queue in range(QUEUES))


def started(repetitions: int) -> dict[str, float]:
    """Seconds from nothing to the first message that is stored; medians."""
    seconds: dict[str, list[float]] = {"ours": [], "apache": []}
    for _ in range(repetitions):
        for name, start in (("ours", our_server), ("apache", apache_server)):
            began_s = time.perf_counter()
            with start(properties=PROPERTIES) as server:
                server.until(lambda server=server: first_send(server))  # type: ignore[misc]
                seconds[name].append(time.perf_counter() - began_s)
    return {name: round(statistics.median(each), 2) for name, each in seconds.items()}


def first_send(server: Server) -> bool:
    header = {
        "producerGroup": "bench",
        "topic": "First",
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": "4",
        "queueId": "0",
        "sysFlag": "0",
        "bornTimestamp": "1700000000000",
        "flag": "0",
        "properties": "",
        "reconsumeTimes": "0",
        "unitMode": "false",
    }
    return bool(server.ask(10, header, b"first")["code"] == 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    print(json.dumps(measured(QUICK if parser.parse_args().quick else FULL)))
