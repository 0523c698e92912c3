"""The Spark session with measured settings (docs/pipeline-worker.md), and the code shipped to its workers."""

import atexit
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from sandbox.pipeline.rocketmq import RocketMQ
from sandbox.pipeline.sources.journal import JournalSource
from sandbox.pipeline.sources.store import StoreSource
from sandbox.pipeline.spark.java import java_home
from sandbox.pipeline.spark.master_address import KEPT_IN, NoSpark

CHECKPOINTING = "org.apache.spark.sql.execution.streaming.checkpointing"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.codegen.cache.maxEntries": "2000",  # by default 100, less than a delivery audit has classes
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # by default INT96, which only old readers need
    "spark.python.unix.domain.socket.enabled": "true",
    # Workers: without these every large NumPy array is returned to the system, and its pages cost a fault each again.
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(64 << 20),
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(128 << 20),
    # Streams: a checkpoint is written in 3 ms instead of 25, and leaves no .crc files.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.sql.streaming.checkpointFileManagerClass": f"{CHECKPOINTING}.FileSystemBasedCheckpointFileManager",
}
OF_A_SESSION = (
    "spark.sql.session.timeZone",
    "spark.sql.execution.arrow.pyspark.enabled",
    "spark.sql.parquet.outputTimestampType",
)
"""SETTINGS that a session on an external server may set for itself, and that our sources need."""
SERVER_READY_S = 15.0
DRIVER_MEMORY = "2g"
LOCAL = "local[*]"
ROOT = Path(__file__).parents[2]


def open_session(*, master: str | None = None, remote: str | None = None, **more: str) -> SparkSession:
    """Open a session: `local[*]` by default, a cluster by `master`, or a Connect server by `remote`.

    A Connect server has its own settings.  `more`: further settings of a local session or cluster.  Raises NoJava.
    """
    directory = Path(tempfile.mkdtemp(prefix="queueviz-code-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)  # executors load it with their first task
    builder: Any = SparkSession.builder.appName("QueueViz")
    if remote is not None:
        wait_for_server(remote)
        builder = builder.remote(remote)
    else:
        set_programs(os.environ, master or LOCAL, directory)
        builder = builder.master(master or LOCAL).config("spark.driver.memory", DRIVER_MEMORY)
        for key, value in {**SETTINGS, **addresses(os.environ), **more}.items():
            builder = builder.config(key, value)
    session: SparkSession = builder.getOrCreate()
    if remote is not None:
        for key in OF_A_SESSION:
            session.conf.set(key, SETTINGS[key])
    _ship(session, packed(directory))
    for source in (StoreSource, JournalSource, RocketMQ):
        if not is_known(session, source.name()):
            session.dataSource.register(source)
    return session


def set_programs(environment: MutableMapping[str, str], master: str, beside: Path) -> None:
    """Set the Java and the Python of Spark where the user has not.  Raises NoJava.

    Without it, workers are `python3` of the path.  Executors on other machines keep theirs.  `beside`: a directory of
    ours for the wrapper of the Java from PyPI.
    """
    environment.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if master.startswith("local"):
        environment.setdefault("PYSPARK_PYTHON", sys.executable)
    if not environment.get("JAVA_HOME"):
        environment["JAVA_HOME"] = java_home(environment, beside)


def is_known(session: Any, name: str) -> bool:
    """Return True if Spark has found the format by itself, in the wheel that this code is from.

    Registering it again would log a warning.  On a cluster it is registered, as executors may have only the shipped
    code.
    """
    if not (ROOT / "pyspark_rocketmq").is_dir() or not is_in_one_process(session):
        return False
    return bool(session._jsparkSession.sessionState().dataSourceManager().dataSourceExists(name))


def is_in_one_process(session: Any) -> bool:
    """Return True if the driver is also the only executor; False for a Connect server, which does not report it."""
    context = getattr(session, "_sc", None)
    return context is not None and re.match(r"local(\[|$)", context.master) is not None


def addresses(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the driver's listening address and the one for executors: 127.0.0.1, unless SPARK_LOCAL_IP is set."""
    return dict.fromkeys(
        ("spark.driver.host", "spark.driver.bindAddress"), environment.get("SPARK_LOCAL_IP", "127.0.0.1")
    )


def keep_in_files(session: Any, directory: Path) -> None:
    """Store intermediate tables of a run in `directory` if executors may lose their memory, as on a cluster.

    A Connect server does not report if it is a cluster, so the tables are stored there too.
    """
    context = getattr(session, "_sc", None)
    if context is None:
        session.conf.set(KEPT_IN, str(directory))
    elif not is_in_one_process(session):
        context.setCheckpointDir(str(directory))


def wait_for_server(remote: str) -> None:
    """Wait until a Connect server accepts connections.

    Raises NoSpark after `SERVER_READY_S` without one; Spark's own client would try for ten minutes.
    """
    import grpc  # type: ignore[import-untyped]
    from pyspark.sql.connect.client import DefaultChannelBuilder

    with DefaultChannelBuilder(remote).toChannel() as channel:
        try:
            grpc.channel_ready_future(channel).result(SERVER_READY_S)
        except grpc.FutureTimeoutError:
            raise NoSpark(f"The server at {remote} is not a Spark Connect server.") from None


def packed(directory: Path) -> Path:
    """Write the package `sandbox` as a zip file into `directory` and return its path."""
    root = Path(__file__).parents[1]
    path = directory / "sandbox.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for file in sorted(root.rglob("*.py")):
            out.write(file, Path("sandbox") / file.relative_to(root))
    return path


def _ship(session: Any, path: Path) -> None:
    if hasattr(session, "addArtifacts") and "connect" in type(session).__module__:
        session.addArtifacts(str(path), pyfile=True)
    else:
        session.sparkContext.addPyFile(str(path))
