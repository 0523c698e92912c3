"""Failures before a run: one sentence, an exit code other than 0, and the last good result stays."""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from sandbox.kernel.errors import StoreError
from sandbox.pipeline.runs.error_sentences import NO_ROOM, SPARK_GONE, WORKER_GONE, last_words, sentence_of
from sandbox.pipeline.spark.master_address import NoSpark, Where, look_for
from tests.pipeline.command_line import refused
from tests.server.server import free_port


@contextmanager
def listener() -> Iterator[int]:
    """A port that accepts connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


# Where Spark is to run.


@pytest.mark.parametrize(
    "master", ["local", "local[4]", "local[*]", "local[2,3]", "local-cluster[2,1,1024]", "k8s://https://10.0.0.1:443"]
)
def test_a_master_as_spark_writes_it_is_taken(master: str) -> None:
    look_for(Where(master=master), {})


@pytest.mark.parametrize(
    "master",
    [
        "loca[2]",
        "local[0]",
        "local[x]",
        "spark://host",
        "spark://:7077",
        "host:7077",
        "",
        "local-cluster[2,1]",
        "mesos://host:5050",
        "spark://host:70 77",
    ],
)
def test_another_master_is_refused_with_what_would_be_right(master: str) -> None:
    with pytest.raises(NoSpark) as said:
        look_for(Where(master=master), {})
    assert str(said.value).startswith(f"The master {master} is not an address of a Spark cluster. Write it as spark://")


def test_yarn_needs_to_know_where_its_configuration_is() -> None:
    with pytest.raises(NoSpark, match=r"^The master yarn needs its configuration: set HADOOP_CONF_DIR"):
        look_for(Where(master="yarn"), {})
    look_for(Where(master="yarn"), {"YARN_CONF_DIR": "/etc/hadoop"})


def test_a_missing_master_or_server_is_reported_before_spark_starts() -> None:
    port = free_port()
    with pytest.raises(NoSpark, match=rf"^No Spark master answers at spark://127\.0\.0\.1:{port}: connection ref"):
        look_for(Where(master=f"spark://127.0.0.1:{port}"), {})
    with pytest.raises(NoSpark, match=rf"^No Spark Connect server answers at sc://127\.0\.0\.1:{port}: connection ref"):
        look_for(Where(remote=f"sc://127.0.0.1:{port}"), {})
    with listener() as there:
        look_for(Where(master=f"spark://127.0.0.1:{port},127.0.0.1:{there}"), {})
        look_for(Where(remote=f"sc://127.0.0.1:{there}/;user_id=me"), {})


@pytest.mark.parametrize("remote", ["127.0.0.1:15002", "sc://", "sc://host:port", "sc://host:1/path", "spark://h:1"])
def test_another_remote_is_refused_with_what_would_be_right(remote: str) -> None:
    with pytest.raises(NoSpark, match=r"is not an address of a Spark Connect server\. Write it as sc://host:15002\.$"):
        look_for(Where(remote=remote), {})


# Sentences.

JAVA_LAST_WORDS = 'WARN x\nException in thread "main" org.apache.spark.SparkException: Could not parse it.\n\tat java\n'


@pytest.mark.parametrize(
    ("why", "said", "sentence"),
    [
        (StoreError("The store is gone."), "", "The store is gone."),
        (Exception("x\nsandbox.kernel.errors.StoreError: The queue ends at 5.\n at"), "", "The queue ends at 5."),
        (Exception("java.io.IOException: No space left on device"), "", NO_ROOM),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/out"), "", NO_ROOM),
        (OSError(errno.EROFS, os.strerror(errno.EROFS), "/out"), "", "/out cannot be used: read-only file system."),
        (
            Exception("[JAVA_GATEWAY_EXITED] Java gateway process exited"),
            JAVA_LAST_WORDS,
            "Spark did not start: Could not parse it.",
        ),
        (
            Exception("[JAVA_GATEWAY_EXITED] Java gateway process exited"),
            "",
            "Spark did not start: Java ended at once. Check that it is Java 17 or newer and that memory is free.",
        ),
        (
            Exception(
                "An error occurred while calling o103.collectToPython.\n: org.apache.spark.SparkException: Job aborted "
                "due to stage failure: Python worker exited unexpectedly (crashed). Consider"
            ),
            "",
            WORKER_GONE,
        ),
        (Exception("An error occurred while calling o48.addTag"), "", SPARK_GONE),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), "", SPARK_GONE),
        (
            Exception("Failed: Traceback (most recent call last):\n  File x\nbuiltins.KeyError: 'orders'\n SQLSTATE"),
            "",
            "'orders'",
        ),
        (Exception("\n\n  What nobody knows.  \n more"), "", "What nobody knows."),
    ],
)
def test_every_reason_is_one_sentence(why: Exception, said: str, sentence: str) -> None:
    assert sentence_of(why, log=said) == sentence


def test_the_last_words_are_read_where_standard_error_is_a_file(tmp_path: Path) -> None:
    with (tmp_path / "words").open("wb", buffering=0) as words:
        words.write(b"x" * 100_000 + JAVA_LAST_WORDS.encode())
        assert last_words(words.fileno()).endswith(JAVA_LAST_WORDS)
    reading, writing = os.pipe()
    assert last_words(writing) == "", "nothing to read again"
    os.close(reading)
    os.close(writing)


# The command.


@pytest.fixture
def home(tmp_path: Path, settings: Any) -> Path:
    settings.QUEUEVIZ_HOME = tmp_path
    return tmp_path


def test_what_is_wrong_with_the_wish_is_one_line_and_a_code(home: Path) -> None:
    assert refused(home, "export", "--sandbox", "nobody") == f"No sandbox nobody in {home}."


def test_what_is_wrong_with_the_wish_is_said_without_spark(home: Path, golden: Path) -> None:
    (home / "file").write_text("mine")
    port = free_port()
    store = ("export", "--store", str(golden))
    for words, why in (
        ((*store, "--master", "loca[2]"), "The master loca[2] is not an address of a Spark"),
        (
            (*store, "--remote", f"sc://127.0.0.1:{port}"),
            f"No Spark Connect server answers at sc://127.0.0.1:{port}: connection refused.",
        ),
        (
            (*store, "--out", str(home / "file")),
            f"{home}/file is a file or is below a file. Choose a directory for the result.",
        ),
        ((*store, "--out", "/proc/nowhere"), "/proc/nowhere cannot be used: no such file or directory."),
        (("exprot", "--store", str(golden)), "No job exprot. Jobs are: "),
        (("export", "--class", str(home)), f"No sandbox in {home}. manage.py simulate_class writes such a directory."),
    ):
        with pytest.raises(CommandError) as error:
            call_command("pipeline", *words)
        assert str(error.value).startswith(why)
        assert error.value.returncode == 1
    assert (home / "file").read_text() == "mine"
    assert not list((home / "pipeline" / ".spark").glob("*.log"))


def test_a_server_that_is_not_spark_connect_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    from sandbox.pipeline import session

    monkeypatch.setattr(session, "SERVER_READY_S", 0.5)
    with listener() as port, pytest.raises(NoSpark, match=rf"^The server at sc://127\.0\.0\.1:{port} is not a Spark C"):
        session.wait_for_server(f"sc://127.0.0.1:{port}")
