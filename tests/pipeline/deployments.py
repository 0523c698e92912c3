"""Spark at an address, for tests that compare the results of the same orders."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.pipeline.runs.launch import ENDED, Child, Order, Where
from tests.pipeline.command_line import children
from tests.pipeline.connect_server import serving
from tests.pipeline.executor_kills import Sparks
from tests.pipeline.source_jobs import child_with_sources
from tests.pipeline.standalone import Cluster, Executor, standalone


class Deployment(NamedTuple):
    """A child process whose Spark writes `words`; results are below `home`.  `cluster`: where there is one."""

    name: str
    home: Path
    child: Child
    words: Path
    cluster: Cluster | None

    def run(self, order: Order, *, killed: bool = False) -> dict[str, Any]:
        """Return the last report.  `killed`: an executor is killed while it has a task that has started Python."""
        if killed:
            assert self.cluster is not None
            return Sparks(self.cluster, self.child, self.words).run_killed(order, has_python)
        self.child.order(order)
        return next(dict(report) for report in self.child.reports() if report["state"] in ENDED)


def has_python(executor: Executor) -> bool:
    """Return true if a task of the executor is at work: Spark does not count those that it is only launching."""
    return any("pyspark.daemon" in line for line in children(executor.process).values())


@contextmanager
def deployment_at(name: str, where: Where, home: Path, cluster: Cluster | None = None) -> Iterator[Deployment]:
    words = home / "words"
    with words.open("wb") as errors, child_with_sources(where, home / "spark", errors) as child:
        yield Deployment(name, home, child, words, cluster)


@contextmanager
def local(home: Path) -> Iterator[Deployment]:
    with deployment_at("local", Where("local[2]"), home) as deployment:
        yield deployment


@contextmanager
def connect(home: Path) -> Iterator[Deployment]:
    """A Connect server, and its client."""
    server = home / "server"
    server.mkdir()
    with serving(server) as (remote, _), deployment_at("connect", Where(remote=remote), home) as deployment:
        yield deployment


@contextmanager
def cluster(home: Path) -> Iterator[Deployment]:
    """A standalone cluster of two workers, and its application."""
    with (
        standalone(home / "cluster") as workers,
        deployment_at("cluster", Where(workers.address), home, workers) as deployment,
    ):
        yield deployment


DEPLOYMENTS = {"local": local, "connect": connect, "cluster": cluster}
