"""The disk space that all sandboxes of a server take together, checked against its limits."""

import os
import shutil
from collections.abc import Container, Iterable
from pathlib import Path

from sandbox.cluster.notices import Notice
from sandbox.control.limits import MIB, HostLimits

HOME_FULL = ("All sandboxes of this server together take {used} MiB of the {allowed} MiB they may. Until there is room "
             "again, brokers refuse messages as with a full disk.")


class DataHome:
    """RocketMQ watches one disk for one broker; here many brokers share one disk, and each sees only its own
    `store_bytes`.

    All together may take `data_bytes`, and no more than `disk_share` of the disk.  `full`: the result of the last
    check.
    """

    def __init__(self, root: Path, limits: HostLimits) -> None:
        self._root = root
        self._limits = limits
        self._sizes: dict[str, int] = {}
        self.full: Notice | None = None

    def measure(self, slugs: Iterable[str], awake: Container[str]) -> None:
        """Add up the disk blocks of all.  A sleeping sandbox does not grow: measured once.  Run it in a thread."""
        known = self._sizes
        self._sizes = {slug: known[slug] if slug in known and slug not in awake else taken_bytes(self._root / slug)
                       for slug in slugs}
        used = sum(self._sizes.values())
        allowed = min(self._limits.data_bytes, int(shutil.disk_usage(self._root).total * self._limits.disk_share))
        values = {"used": -(-used // MIB), "allowed": allowed // MIB}
        self.full = Notice(HOME_FULL, values) if used >= allowed else None


def taken_bytes(directory: Path) -> int:
    """Disk blocks of all files below `directory` in bytes, as `du` counts them; a file deleted meanwhile counts 0."""
    taken, left = 0, [str(directory)]
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
                    else:
                        taken += entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError:
            continue
    return taken
