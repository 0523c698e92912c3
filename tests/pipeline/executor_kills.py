"""Runs on a standalone cluster, and the kill of an executor that has a task."""

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

from sandbox.pipeline.runs.launch import ENDED, Child, Order
from tests.pipeline.command_line import WITHIN_S
from tests.pipeline.standalone import WORKERS, Cluster, Executor
from tests.server.server import until

LOOK_EVERY_S = 0.005  # tasks are short
Moment = Callable[[Executor], bool]


class Killer:
    """Kills the first executor that has a task at the moment asked for, while one run is at work."""

    def __init__(self, cluster: Cluster, words: Path, moment: Moment) -> None:
        self.cluster, self.words, self.moment = cluster, words, moment
        self.over = Event()
        self.before = len(words.read_text(errors="replace"))

    def kill(self) -> str:
        """Return Spark's message about the lost task.  If the task had ended just then, kill another executor."""
        while not (lost := self._kill_one()):
            continue
        return lost

    def _kill_one(self) -> str:
        """Empty: it had no task any more."""
        victim = until(self._chosen, within_s=WITHIN_S, every_s=LOOK_EVERY_S, what="an executor with a task")
        assert victim is not None
        number = victim.number
        os.kill(victim.process, signal.SIGKILL)
        until(lambda: f"Lost executor {number} on" in self._said(), within_s=WITHIN_S)
        until(
            lambda: number not in self._numbers() and len(self._numbers()) == WORKERS,
            within_s=WITHIN_S,
            what="another executor in its place",
        )
        return next(
            (
                line
                for line in self._said().splitlines()
                if "Lost task" in line and f"executor {number}): ExecutorLostFailure" in line
            ),
            "",
        )

    def _chosen(self) -> Executor | None:
        assert not self.over.is_set(), "the job ended before a task could be killed"
        return next((one for one in self.cluster.executors() if one.tasks() and self.moment(one)), None)

    def _numbers(self) -> set[str]:
        return {one.number for one in self.cluster.executors()}

    def _said(self) -> str:
        """Return Spark's output of this run."""
        return self.words.read_text(errors="replace")[self.before :]


class Sparks(NamedTuple):
    """A child process of ours on the cluster, whose Spark writes `words`."""

    cluster: Cluster
    child: Child
    words: Path

    def run(self, order: Order) -> dict[str, Any]:
        """The last report."""
        self.child.order(order)
        return next(reported for reported in self.child.reports() if reported["state"] in ENDED)

    def run_killed(self, order: Order, moment: Moment) -> dict[str, Any]:
        """The last report.  Raises AssertionError where no task was lost."""
        killer = Killer(self.cluster, self.words, moment)
        with ThreadPoolExecutor(1) as pool:
            killed = pool.submit(killer.kill)
            last = self.run(order)
            killer.over.set()
            print(f"{order.job}: {killed.result(WITHIN_S)}")
        return last
