"""`manage.py serve` in a data home of its own, on some cores; processor time of a process and its children."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.server.server import Server

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
OF_ONE_NET = 250


def address_of(number: int) -> str:
    """Return the loopback address of a student: limits are counted by address.  From 0 on."""
    return f"127.0.{1 + number // OF_ONE_NET}.{1 + number % OF_ONE_NET}"


@contextlib.contextmanager
def served(cores: set[int] | None = None, engines: int = 0) -> Iterator[Server]:
    """End the server with the block.  `cores`: it runs on these only.  `engines`: processes of their own."""
    with tempfile.TemporaryDirectory() as home:
        server = Server(Path(home) / "home", engines=engines, variables={"QUEUEVIZ_LOG_LEVEL": "WARNING"})
        ours = os.sched_getaffinity(0)
        os.sched_setaffinity(0, cores or ours)  # a child inherits it, with all its threads
        try:
            server.start()
            os.sched_setaffinity(0, ours)
            yield server
        finally:
            os.sched_setaffinity(0, ours)
            server.end()


def cpu_s(pid: int) -> float:
    """User and system time of a process with all its threads and the processes it started."""
    children: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended meanwhile
            children.update(map(int, task.read_text().split()))
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S + sum(map(cpu_s, children))


def memory_mib(pid: int) -> tuple[float, float]:
    """Resident memory of a process: now, and the most that it ever had."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    now, most = (int(lines[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    return now, most
