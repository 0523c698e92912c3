"""What the live sockets cost, counted since the process began."""

from dataclasses import dataclass


@dataclass
class Figures:
    """`again`: snapshots to viewers that had one already, because they fell behind or the sandbox woke anew."""

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
