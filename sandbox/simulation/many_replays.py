"""Repeated execution of many recorded sandboxes, in processes: each takes a core for a second or more."""

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from sandbox.simulation.replay import replay


class Rerun(NamedTuple):
    """The result of executing one sandbox again.

    `compared`: the number of events written again unchanged.  `differs`: the first difference, or why the run cannot
    be executed; None: there is no difference.
    """

    slug: str
    compared: int
    differs: str | None


def executed_again(directories: Sequence[Path], processes: int) -> Iterator[Rerun]:
    """Execute sandboxes again; yield results in the order of the directories."""
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(_again, directories)


def _again(directory: Path) -> Rerun:
    try:
        done = replay(directory)
    except Exception as error:  # whatever a forged journal says, the others are executed
        return Rerun(directory.name, 0, f"{type(error).__name__}: {error}")
    difference = done.first_difference
    return Rerun(directory.name, done.events, None if difference is None else f"from event {difference.seq} on")
