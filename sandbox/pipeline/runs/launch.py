"""The child process with Spark: start, orders and reports.

The child reads orders and prints reports, both as JSON, one a line; all other output goes to its standard error.
This module imports nothing of Spark.

    order   {"run", "job", "stores": {name: dir}, "journals": {sandbox: dir}, "out", "options": {},
            "sealed": {name: dir}}, {"cancel": run}, {"end": run} for one that follows, or at a socket
            {"leave": true} to end after the orders (`session_socket`)
    report  {"run", "state": "starting"} · {"run", "state": "running", "stage", "done", "tasks"}
            {"run", "state": "done", "tables": {name: rows}}, with "malformed": {name: rows} where bodies are columns
            {"run", "state": "failed", "why"}, with "is_ours": true where the sentence says all · {…, "cancelled"}
"""

import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import IO, NamedTuple, NotRequired, Self, TypedDict

from sandbox.kernel import json_bytes
from sandbox.pipeline.spark import small_runs
from sandbox.pipeline.spark.java import java_home, link
from sandbox.pipeline.spark.java_classes import WRITTEN_WITHIN_S, archive_of
from sandbox.pipeline.spark.master_address import Where, look_for

__all__ = ["ENDED", "Child", "Order", "Report", "Where", "environment_of"]

ENDED = frozenset({"done", "failed", "cancelled"})
ROOT = Path(__file__).parents[3]
GOODBYE_S = 20.0  # Spark stops its executors
SECOND_COMPILER_LATE = " ".join(
    f"-XX:Tier4{name}Threshold={calls}"
    for name, calls in (("Invocation", 50_000), ("MinInvocation", 6_000), ("Compile", 150_000), ("BackEdge", 400_000))
)
"""Java's own thresholds, ten times: its second compiler is for loops over rows, and else competes with the planner."""


class Report(TypedDict):
    """A report of the child process about a run, one line of its output."""

    run: str
    state: str
    stage: NotRequired[int]
    done: NotRequired[int]  # tasks
    tasks: NotRequired[int]
    tables: NotRequired[dict[str, int]]  # rows, of a run that is done
    why: NotRequired[str]  # of one that failed
    is_ours: NotRequired[bool]  # `why` says all


class Order(NamedTuple):
    """An order to the child process: one run.

    `sealed`: by store, the directory for sealed log files, existing or not.
    """

    run: str
    job: str
    stores: dict[str, str]
    journals: dict[str, str]
    out: str
    options: dict[str, str]
    sealed: dict[str, str] = {}


class Launch(NamedTuple):
    """The command and the environment of a process with Spark.

    `writes_within_s`: additional time for its end, in which its Java writes the class archive.
    """

    arguments: list[str]
    environment: dict[str, str]
    writes_within_s: float

    @classmethod
    def of(cls, where: Where, home: Path, environment: Mapping[str, str], *, reads_few: bool = False) -> "Launch":
        """Return the launch for this Spark.  Raises NoJava or NoSpark if either is not installed.

        `home`: a directory of ours for scratch files, which is created.
        """
        look_for(where, environment)
        arguments = [sys.executable, "-m", "sandbox.pipeline"]
        if where.remote is not None:
            arguments += ["--remote", where.remote]
        elif where.master is not None:
            arguments += ["--master", where.master]
        home.mkdir(parents=True, exist_ok=True)
        env = environment_of(environment, home)
        java_options = [] if "SPARK_SUBMIT_OPTS" in env else [small_runs.JAVA if reads_few else SECOND_COMPILER_LATE]
        writes_within_s = 0.0
        if where.remote is None and (archive := archive_of(Path(env["JAVA_HOME"]), env)) is not None:
            java_options.append(archive.options)
            if archive.draft is not None:
                arguments += ["--writes-archive", str(archive.draft)]
                writes_within_s = WRITTEN_WITHIN_S
        env["SPARK_SUBMIT_OPTS"] = " ".join([env.get("SPARK_SUBMIT_OPTS", ""), *java_options]).strip()
        return cls(arguments, env, writes_within_s)


class Orders(ABC):
    """The line to a process with Spark.  Use it as a context manager: leaving it closes the line."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def order(self, order: Order) -> None:
        self._say(order._asdict())

    def cancel(self, run: str) -> None:
        self._say({"cancel": run})

    def end(self, run: str) -> None:
        """End a run that follows: it finishes as `done`."""
        self._say({"end": run})

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def _say(self, value: dict[str, object]) -> None: ...


class Child(Orders):
    """The child process.  Use it as a context manager: leaving it asks the process to exit."""

    _ends_within_s = GOODBYE_S

    def __init__(
        self,
        where: Where,
        home: Path,
        environment: Mapping[str, str],
        *,
        errors: IO[bytes] | None = None,
        reads_few: bool = False,
        listens: bool = False,
    ) -> None:
        """Start the process.

        `home`: a directory of ours for scratch files.  `reads_few`: all its runs read few bytes
        (`small_runs.is_few`).  `listens`: commands may send it orders too (`kept_session`).  Raises NoJava or
        NoSpark if either is not installed.
        """
        launch = Launch.of(where, home, environment, reads_few=reads_few)
        self._ends = ExitStack()
        env = launch.environment
        if where.has_workers_here and "SPARK_HOME" not in env:
            scratch = self._ends.enter_context(tempfile.TemporaryDirectory(dir=home, ignore_cleanup_errors=True))
            env["SPARK_HOME"] = spark_home(Path(scratch))
        self._ends_within_s += launch.writes_within_s
        arguments = [*launch.arguments, *(["--listen", str(home)] if listens else [])]
        self._process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=env,
            cwd=ROOT,
            start_new_session=True,
        )  # Ctrl-C goes to the parent, which then ends the child

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def process_id(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """The exit code as in `subprocess`: negative is the signal that ended the process; None while it runs."""
        return self._process.poll()

    def reports(self) -> Iterator[Report]:
        """Yield the reports in order until the process ends."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            yield json_bytes.loads(line)

    def close(self) -> None:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(self._ends_within_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        self._ends.close()

    def kill(self) -> None:
        """Kill a process that does not respond; call `close` after it."""
        self._process.kill()

    def _say(self, value: dict[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json_bytes.dumps(value, option=json_bytes.OPT_APPEND_NEWLINE))
        self._process.stdin.flush()


def environment_of(environment: Mapping[str, str], home: Path) -> dict[str, str]:
    """Return the child's environment: Java, this Python for the workers too, and all sockets on this machine only.

    The path of our code is not set: workers get it from the session (`session.packed`).
    """
    java = java_home(environment, home)
    return {
        "SPARK_LOCAL_IP": "127.0.0.1",
        **environment,
        "JAVA_HOME": java,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_DIRS": environment.get("SPARK_LOCAL_DIRS", str(home)),
    }


def spark_home(beside: Path) -> str:
    """Fill the directory `beside` with links to PySpark's own files and return its path.

    The directory `work` is left out: there, workers on this machine store received files.
    """
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    for entry in Path(spec.submodule_search_locations[0]).iterdir():
        if entry.name != "work":
            link(entry, beside / entry.name)
    return str(beside)
