"""The broker, the client beside it and the attackers as processes, and what they use."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.interop.servers import ROOT, free_ports, process

LOOK_EVERY_S = 0.5
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# One file of the log is small, so that many are made; nothing is deleted meanwhile.
PROPERTIES = "brokerName=broker-a\nenablePropertyFilter=true\nmappedFileSizeCommitLog=67108864\n"


class Broker:
    """`manage.py broker` on a store; its log is `log`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.store = root / "store"
        self.address = f"127.0.0.1:{free_ports(1)}"
        self.lives = 0
        self.pid = 0

    @property
    def log(self) -> Path:
        return self._root / f"broker-{self.lives}.log"

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        self.lives += 1
        properties = self._root / "broker.properties"
        properties.write_text(PROPERTIES)
        command = [
            sys.executable,
            "manage.py",
            "broker",
            "--store",
            str(self.store),
            "--listen",
            self.address,
            "--properties",
            str(properties),
        ]
        with process(command, self.log, b"name server") as started:
            self.pid = started.pid
            yield started


class Usage(NamedTuple):
    """Usage at one moment.  `own_bytes` are not backed by a file; mapped store files come and go with the page cache.

    `sockets_bytes` is what the kernel keeps for all TCP connections of this network namespace.
    """

    at_s: float
    own_bytes: int
    resident_bytes: int
    cpu_s: float
    sockets_bytes: int


class Watch:
    """Looks at a process twice a second."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._over = threading.Event()
        self.rows: list[Usage] = [usage(pid)]
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            try:
                self.rows.append(usage(self._pid))
            except (OSError, KeyError):  # it is gone
                return


def usage(pid: int) -> Usage:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return Usage(
        time.monotonic(),
        kib(status["RssAnon"]),
        kib(status["VmRSS"]),
        (int(fields[11]) + int(fields[12])) / TICKS_PER_S,
        sockets_bytes(),
    )


def sockets_bytes() -> int:
    tcp = next(line for line in Path("/proc/net/sockstat").read_text().splitlines() if line.startswith("TCP:")).split()
    return int(tcp[tcp.index("mem") + 1]) * os.sysconf("SC_PAGE_SIZE")


def kib(text: str) -> int:
    return int(text.split()[0]) * 1024


class Prober:
    """A module that prints its latencies, each second a line of them."""

    def __init__(self, module: str, *arguments: str | Path) -> None:
        command = [sys.executable, "-m", f"tests.robustness.{module}", *map(str, arguments)]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        self.seconds: list[tuple[float, list[float]]] = []
        self.said: list[dict[str, Any]] = []
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def between(self, begin_s: float, end_s: float) -> list[float]:
        """Milliseconds of the requests in whole seconds inside that time."""
        return sorted(ms for at_s, row in self.seconds if begin_s + 1 <= at_s <= end_s for ms in row)

    def stop(self) -> dict[str, Any]:
        """Stop the process and return its last output, with `broken` after a failure."""
        self._process.terminate()
        self._process.wait(30)
        self._thread.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
        return next((row for row in reversed(self.said) if "refused" not in row), {"broken": "it said nothing"})

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for text in self._process.stdout:
            row = json.loads(text)
            if "ms" in row:
                self.seconds.append((row["at_s"], row["ms"]))
            else:
                self.said.append(row)


def attack(
    kinds: list[str], address: str, *, seed: int, seconds: float, share: float, found: Path, ready: Callable[[], None]
) -> list[dict[str, Any]]:
    """Attackers of these kinds at once, each with its part of the share; what each of them said at its end.

    They begin together, when all of them are ready.
    """
    commands = [
        [
            sys.executable,
            "-m",
            "tests.robustness.attack",
            kind,
            "--address",
            address,
            "--seed",
            str(seed + n),
            "--seconds",
            str(seconds),
            "--share",
            str(share / len(kinds)),
            "--out",
            str(found),
        ]
        for n, kind in enumerate(kinds)
    ]
    started = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for command in commands
    ]
    for each in started:
        assert each.stdout is not None
        each.stdout.readline()
    ready()
    for each in started:
        assert each.stdin is not None
        each.stdin.write(b"go\n")
        each.stdin.flush()
    said = []
    for kind, each in zip(kinds, started, strict=True):
        out, err = each.communicate(timeout=seconds + 60)
        if each.returncode or not out:
            raise AssertionError(f"the attacker {kind} failed: {err.decode()[-2_000:]}")
        said.append(json.loads(out))
    return said
