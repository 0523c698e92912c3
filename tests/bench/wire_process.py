"""Costs of a process as Linux counts them, and Apache's benchmark in its own processes."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.interop.clients import java_classpath
from tests.interop.servers import GOODBYE_S, Server

CLIENT = "4.9.8"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
JVM = ("java", "-Xms256m", "-Xmx256m", "-XX:+UseSerialGC", "-Duser.home={home}", "-Drocketmq.client.logLevel=ERROR")


def client_classpath() -> str:
    """Raises Unavailable where Maven or the artifacts are not here."""
    return java_classpath(CLIENT, "benchmark")


class Memory(NamedTuple):
    """Mebibytes.  `own` leaves out what is mapped from files: the store, which lies in the page cache anyway."""

    resident: float
    own: float


def cpu_s(pid: int) -> float:
    """Seconds of CPU a process has used, its system calls included, to a hundredth."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def memory(pid: int) -> Memory:
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    resident, own = (int(lines[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon"))
    return Memory(round(resident, 1), round(own, 1))


@contextmanager
def producer(server: Server, topic: str, *, threads: int, body_bytes: int, header: str, home: Path) -> Iterator[None]:
    """Inside: `benchmark.Producer` sends with so many threads, each one message after the other.

    `header` is ROCKETMQ, which the benchmark of 4.9.8 chooses, or JSON, which is every client's default.
    """
    options = ["-n", server.namesrv, "-t", topic, "-w", str(threads), "-s", str(body_bytes)]
    with _benchmark("Producer", options, home, f"-Drocketmq.serialize.type={header}"):
        yield


@contextmanager
def consumer(server: Server, topic: str, group: str, *, home: Path) -> Iterator[None]:
    """Inside: `benchmark.Consumer` pulls what it can with its twenty threads, and does nothing with it."""
    with _benchmark("Consumer", ["-n", server.namesrv, "-t", topic, "-g", group, "-p", "false"], home):
        yield


@contextmanager
def _benchmark(name: str, options: list[str], home: Path, *flags: str) -> Iterator[None]:
    command = [
        *(part.format(home=home) for part in JVM),
        *flags,
        "-cp",
        client_classpath(),
        f"org.apache.rocketmq.example.benchmark.{name}",
        *options,
    ]
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=home)
    try:
        yield
        assert started.poll() is None, f"the benchmark's {name} ended by itself"
    finally:
        started.kill()
        started.wait(GOODBYE_S)
