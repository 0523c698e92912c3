"""`manage.py serve` as a process of its own, on a free port, in a data home of its own."""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx

ROOT = Path(__file__).parents[2]
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
START_WITHIN_S = 60.0
LOOK_EVERY_S = 0.25


class Served(NamedTuple):
    url: str
    pid: int


@contextlib.contextmanager
def served(cores: set[int] | None = None, engines: int = 0) -> Iterator[Served]:
    """Ends with the block.  `cores`: it may run on these only.  `engines`: processes of their own, 0 for none."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "QUEUEVIZ_HOME": home, "QUEUEVIZ_LOG_LEVEL": "WARNING",
                       "QUEUEVIZ_HISTORY_S": "0"}  # fmt: skip
        command = [sys.executable, str(ROOT / "manage.py"), "serve", "--without-worker", "--port", str(port),
                   "--engines", str(engines)]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        if cores:
            os.sched_setaffinity(process.pid, cores)  # before it has threads: those inherit it
        base = f"http://127.0.0.1:{port}"
        try:
            _wait_for(base, process)
            yield Served(base, process.pid)
        finally:
            process.terminate()
            process.wait(15)


def _wait_for(base: str, process: "subprocess.Popen[bytes]") -> None:
    until_s = time.monotonic() + START_WITHIN_S
    trouble = "nothing listens"
    while time.monotonic() < until_s and process.poll() is None:
        time.sleep(LOOK_EVERY_S)
        try:
            answer = httpx.get(f"{base}/healthz", timeout=5)
        except httpx.TransportError as why:
            trouble = str(why)
            continue
        if answer.status_code == 200:
            return
        if answer.status_code == 500:  # broken, not late: waiting does not mend it
            raise RuntimeError("the server is broken; its log says why")
        trouble = answer.text
    raise RuntimeError(f"the server did not start: {trouble}")


def cpu_s(pid: int) -> float:
    """User and system time of a process with all its threads and the processes it started."""
    children: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended meanwhile
            children.update(map(int, task.read_text().split()))
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S + sum(map(cpu_s, children))
