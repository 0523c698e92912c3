"""A Spark Connect server from the jars of the pip package, in a process of its own, on loopback."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc  # type: ignore[import-untyped]

from sandbox.pipeline.runs.launch import environment_of, spark_home
from tests.server.server import free_port, until

READY_WITHIN_S = 180.0


@contextmanager
def serving(home: Path, master: str = "local[2]") -> Iterator[tuple[str, int]]:
    """Its address, as `--remote` takes it, and its process, once it answers.

    It starts far from our code, and has no path to it.
    """
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
    }
    (home / "pyspark").mkdir()
    spark = spark_home(home / "pyspark")
    arguments = [
        f"{spark}/bin/spark-submit",
        "--master",
        master,
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
    ]
    for name, value in settings.items():
        arguments += ["--conf", f"{name}={value}"]
    environment = environment_of({name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, home)
    environment["SPARK_HOME"] = spark
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [*arguments, "spark-internal"], cwd=home, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            until(lambda: process.poll() is not None or answers(port), within_s=READY_WITHIN_S, what="the server")
            assert process.poll() is None, (home / "server.log").read_text()[-2_000:]
            yield f"sc://127.0.0.1:{port}", process.pid
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def answers(port: int) -> bool:
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        try:
            grpc.channel_ready_future(channel).result(1.0)
        except grpc.FutureTimeoutError:
            return False
    return True
