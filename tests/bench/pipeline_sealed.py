"""Sealed log files beside Spark's own Parquet of the same rows, in the turns of `bench pipeline`.

noop, full, light                       all but the last log file are sealed, and the last one is read from the log
noop_closed, full_closed, light_closed  of a closed store all are sealed
seal_s, seal_cpu_s                      sealing all but the last file of the log
"""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

LIGHT = ("queueId", "queueOffset", "storeTimestamp")
QUERIES = ("noop", "full", "light")
KINDS = {"sealed": "", "closed": "_closed"}  # of reads, and how their ratios are called
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Took(NamedTuple):
    """`cpu_s`: of this process and all below it, which are Java's and Python's workers."""

    wall_s: float
    cpu_s: float


def took(work: Callable[[], object]) -> Took:
    began_s, began_cpu_s = time.perf_counter(), cpu_s()
    work()
    return Took(time.perf_counter() - began_s, cpu_s() - began_cpu_s)


def cpu_s() -> float:
    """Processor time of this process, of those below it, and of those of them that have ended."""
    times: dict[int, int] = {}
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # ended meanwhile
            parents[int(entry.name)], times[int(entry.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(times.get(process, 0) for process in ours) / _TICKS_PER_S


class Sealed:
    """A store, sealed twice: as one that is written to, and as a closed one."""

    def __init__(self, spark: Any, root: Path, home: Path) -> None:
        from sandbox.pipeline.sealed.sealing import seal_stores

        self._spark, self._root = spark, root
        self._directories = {kind: home / kind for kind in KINDS}
        self._as("sealed")
        self.cost = took(lambda: seal_stores(spark, {"s": root}, {"s": self._directories["sealed"]}))
        self._as("closed")
        seal_stores(spark, {"s": root}, {"s": self._directories["closed"]})

    def read(self, kind: str, columns: tuple[str, ...] = ()) -> Any:
        from sandbox.pipeline.sealed.reading import messages

        self._as(kind)
        return messages(self._spark, {"s": self._root}, {"s": self._directories[kind]}, columns)

    def _as(self, kind: str) -> None:
        """Hold the store as a broker does, or not."""
        if kind == "closed":
            (self._root / "abort").unlink(missing_ok=True)
        else:
            (self._root / "abort").touch()


def ratios(taken: Mapping[str, Took]) -> dict[str, dict[str, float]]:
    """Return the speed and the processor cost of a read with sealed files relative to Parquet."""
    found = {}
    for kind, ending in KINDS.items():
        for query in QUERIES:
            ours, parquet = taken[f"{query}.{kind}"], taken[f"{query}.parquet"]
            found[query + ending] = {
                "wall": round(parquet.wall_s / ours.wall_s, 3),
                "cpu": round(parquet.cpu_s / ours.cpu_s, 3),
            }
    return found
