"""A Spark standalone cluster on loopback, from the jars of the pip package: a master and two workers, one core each."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sandbox.pipeline.runs.launch import environment_of, spark_home
from tests.pipeline.command_line import children
from tests.server.processes import in_sessions
from tests.server.server import until

WORKERS = 2
READY_WITHIN_S = 120.0
GONE_WITHIN_S = 30.0
_MASTER = re.compile(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
_REGISTERED = re.compile("Successfully registered with master")
_EXECUTOR = re.compile(r"CoarseGrainedExecutorBackend .*--executor-id (\d+) .*--app-id (\S+)")
_BEGUN = re.compile(r"Running task \S+ in stage \S+ \(TID (\d+)\)")
_ENDED = re.compile(r"(?:Finished|Exception in|killed) task \S+ in stage \S+ \(TID (\d+)\)")


class Executor(NamedTuple):
    """`number`: Spark's of the application.  `log`: what it says."""

    process: int
    number: str
    log: Path

    def tasks(self) -> set[str]:
        """Numbers of the tasks that it has begun and not ended, as far as it says."""
        said = self.log.read_text(errors="replace") if self.log.exists() else ""
        return set(_BEGUN.findall(said)) - set(_ENDED.findall(said))


class Cluster(NamedTuple):
    """`workers`: their processes."""

    address: str
    workers: list[int]
    home: Path

    def executors(self) -> list[Executor]:
        found = (
            (process, _EXECUTOR.search(line)) for worker in self.workers for process, line in children(worker).items()
        )
        return [
            Executor(process, named[1], self.home / "work" / named[2] / named[1] / "stderr")
            for process, named in found
            if named
        ]


@contextmanager
def standalone(home: Path) -> Iterator[Cluster]:
    """It starts far from our code, and has no path to it; at its end no process of it is left."""
    (home / "pyspark").mkdir(parents=True)
    environment = environment_of({name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, home)
    environment |= {
        "SPARK_HOME": spark_home(home / "pyspark"),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": os.environ.get("SPARK_SUBMIT_OPTS", ""),
        "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",  # which has a fixed port
        "PATH": f"{Path(sys.executable).parent}:{environment['PATH']}",
    }
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, role: str, *arguments: str) -> Path:
        log = home / f"{name}.log"
        command = [
            f"{environment['SPARK_HOME']}/bin/spark-class",
            f"org.apache.spark.deploy.{role}",
            *arguments,
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--webui-port",
            "0",
        ]
        with log.open("wb") as words:
            started.append(
                subprocess.Popen(command, cwd=home, env=environment, stdout=words, stderr=words, start_new_session=True)
            )
        return log

    def reported(log: Path, what: re.Pattern[str]) -> str:
        def look() -> list[str]:
            assert all(process.poll() is None for process in started), log.read_text()[-2_000:]
            return what.findall(log.read_text())

        return until(look, within_s=READY_WITHIN_S, what=f"{what.pattern} in {log}")[0]

    try:
        master = reported(start("master", "master.Master"), _MASTER)
        logs = [
            start(
                f"worker-{number}",
                "worker.Worker",
                master,
                "--cores",
                "1",
                "--memory",
                "1g",
                "--work-dir",
                str(home / "work"),
            )
            for number in range(WORKERS)
        ]
        for log in logs:
            reported(log, _REGISTERED)
        yield Cluster(master, [process.pid for process in started[1:]], home)
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        sessions = {process.pid for process in started}
        until(lambda: not in_sessions(sessions), within_s=GONE_WITHIN_S, what="no process is left")
