"""Counters of the live sockets since the start of the process, and the lateness of their frames."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

REMEMBERED_S = 10.0
WORST = ("late_ms", "oldest_unacknowledged_ms")


def together(counted: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the figures of several hubs (`Hub.counted`) as one: sums, and the maximum of the `WORST` figures."""
    total = {"sockets": 0, "channels": 0, **dict.fromkeys(WORST, 0)}
    for counts in counted:
        for name, value in counts.items():
            total[name] = max(total[name], value) if name in WORST else total.get(name, 0) + value
    return total


@dataclass
class Figures:
    """The counters of one hub.

    `snapshots_again`: snapshots to viewers that had one already, because they fell behind or the sandbox woke anew.
    """

    encoded: int = 0
    frames: int = 0
    bytes: int = 0
    snapshots: int = 0
    snapshots_again: int = 0
    fact_frames: int = 0
    reads: int = 0
    closed_slow: int = 0

    def snapshot_sent(self, size_bytes: int, *, again: bool) -> None:
        self.frames += 1
        self.bytes += size_bytes
        self.snapshots += 1
        self.snapshots_again += again

    def delta_sent(self, size_bytes: int) -> None:
        self.frames += 1
        self.bytes += size_bytes

    def facts_sent(self, size_bytes: int) -> None:
        self.fact_frames += 1
        self.bytes += size_bytes


class Lateness:
    """The longest delay of a board that was due, in the last ten to twenty seconds."""

    def __init__(self) -> None:
        self._from_s = 0.0
        self._worst_s = self._worst_before_s = 0.0

    def note(self, now_s: float, late_s: float) -> None:
        self._forget(now_s)
        self._worst_s = max(self._worst_s, late_s)

    def worst_s(self, now_s: float) -> float:
        self._forget(now_s)
        return max(self._worst_s, self._worst_before_s)

    def _forget(self, now_s: float) -> None:
        passed_s = now_s - self._from_s
        if passed_s >= REMEMBERED_S:
            self._worst_before_s = self._worst_s if passed_s < 2 * REMEMBERED_S else 0.0
            self._from_s, self._worst_s = now_s, 0.0
