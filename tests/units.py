"""Which tests stay together on one worker, and which begin first, so that all workers have work to the end.

A unit is a file: what a file sets up once is set up once in a whole run.  All files of `pipeline` itself are one unit,
around one Spark; those of its folders `without_spark` and `own_spark` do without it.  Of `interop` a unit is a file and
the client or server its tests are about.  Long units come first, the many short ones fill up the end.  pytest-xdist's
own groups (`xdist_group`) do nothing under pytest 9.2: it would append them to a test's id, which can no longer be
written.
"""

import re
from pathlib import PurePosixPath
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

FIRST = ("pipeline", "own_spark", "databases", "browser", "server", "house", "bench", "sim")  # folders; then all others
PEER = re.compile(r"\[([a-z]*-?[\d.]*)")  # the first parameter: java-4.9.8, apache-5.3.3, ours, signed, 4.9.7


class Units(LoadScopeScheduling):
    """Hands out whole units, in the order they were collected in."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        config.option.loadscopereorder = False  # most tests first is not longest first
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


def unit_of(nodeid: str) -> str:
    path, _, test = nodeid.partition("::")
    folders = folders_of(nodeid)
    if folders[-1] == "pipeline":
        return "pipeline"
    if "interop" in folders:
        peer = PEER.search(test)
        return f"{'ours' if 'ours' in folders else path} {peer[1] if peer else ''}"
    return path


def place_of(nodeid: str) -> int:
    folder = folders_of(nodeid)[-1]
    return FIRST.index(folder) if folder in FIRST else len(FIRST)


def folders_of(nodeid: str) -> tuple[str, ...]:
    return PurePosixPath(nodeid.partition("::")[0]).parent.parts
