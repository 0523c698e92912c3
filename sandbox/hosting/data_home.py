"""Disk space that all sandboxes of a server use together, and the check of its limits."""

import os
import shutil
from collections.abc import Container, Iterable
from contextlib import suppress
from pathlib import Path

from sandbox.cluster.notices import Notice
from sandbox.cluster.record import replace_file
from sandbox.control.limits import MIB, HostLimits
from sandbox.hosting.engine_share import Share

HOME_FULL = (
    "All sandboxes of this server together use {used} MiB of {allowed} MiB. Until space is free, brokers refuse "
    "messages as with a full disk."
)
TAKEN = ".taken-"  # and the number of an engine


class DataHome:
    """Disk use of all sandboxes.  RocketMQ watches one disk for one broker; here many brokers share one disk.

    Each broker sees only its own `store_bytes`.  All together may use `data_bytes`, and no more than `disk_share` of
    the disk.  `full`: the notice of the last check, or None.  Each of several engines measures its own sandboxes and
    writes the sum to a file for the others.
    """

    def __init__(self, root: Path, limits: HostLimits, share: Share | None = None) -> None:
        self._share = share
        self._root = root
        self._limits = limits
        self._sizes: dict[str, int] = {}
        self.full: Notice | None = None

    def measure(self, slugs: Iterable[str], awake: Container[str]) -> None:
        """Add up the disk blocks of all sandboxes and set `full`.  Run it in a thread.

        A sleeping sandbox does not grow, so it is measured once.
        """
        known = self._sizes
        self._sizes = {
            slug: known[slug] if slug in known and slug not in awake else taken_bytes(self._root / slug)
            for slug in slugs
        }
        used = sum(self._sizes.values())
        if self._share is not None:
            used += self._exchange(self._share.number, used)
        allowed = min(self._limits.data_bytes, int(shutil.disk_usage(self._root).total * self._limits.disk_share))
        values = {"used": -(-used // MIB), "allowed": allowed // MIB}
        self.full = Notice(HOME_FULL, values) if used >= allowed else None

    def _exchange(self, number: int, used: int) -> int:
        """Write this engine's sum for the other engines; return the total of their last sums."""
        mine = self._root / f"{TAKEN}{number}"
        with suppress(OSError):  # the disk is full: the other engines use an earlier sum
            replace_file(mine, str(used).encode())
        return sum(_number_in(path) for path in self._root.glob(f"{TAKEN}*") if path != mine and not path.suffix)


def forget_sums(root: Path) -> None:
    """Delete the sums of earlier engines, before engines start, because there may have been more of them."""
    for path in root.glob(f"{TAKEN}*"):
        path.unlink(missing_ok=True)


def _number_in(path: Path) -> int:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return 0


def taken_bytes(directory: Path) -> int:
    """Return the disk blocks of all files below `directory` in bytes, as `du` counts them; a deleted file counts 0."""
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
