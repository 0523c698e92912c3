"""The first line that a user reads after a typical mistake, made as Spark's worker makes it."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StringType, StructField, StructType
from pyspark.util import handle_worker_exception

from sandbox.journal.events import SandboxSlept
from sandbox.kernel.errors import BrokerRefused, ConnectFailed, CorruptRecord, SandboxError, StoreError
from sandbox.pipeline.rocketmq import RocketMQ
from sandbox.pipeline.runs.error_sentences import sentence_of
from sandbox.pipeline.sources.error_reports import CONDITIONS, condition_of, report_of, reports_errors
from sandbox.pipeline.sources.journal import JournalSource
from sandbox.pipeline.sources.store import StoreSource
from tests.pipeline.journals import write_journal
from tests.pipeline.mistakes import MISTAKES, ONCE, STREAM, Mistake
from tests.pipeline.store_reads import Broker
from tests.server.server import free_port

SOURCES = {kind.name(): kind for kind in (StoreSource, JournalSource, RocketMQ)}
HEAD_BYTES = 8  # of the worker's answer: that it is an error, and its length


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    home = tmp_path_factory.mktemp("mistakes")
    broker = Broker(home / "store")
    broker.put(10)
    broker.store.crash()
    journal = write_journal(home / "journal", [SandboxSlept("idle")])
    return {"store": str(broker.root), "journal": str(journal), "port": str(free_port())}


def filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def words(call: Callable[[], object]) -> str:
    """Return the text that a worker sends to Spark if the call raises."""
    out = BytesIO()
    try:
        call()
    except Exception as error:
        handle_worker_exception(error, out)
    return out.getvalue()[HEAD_BYTES:].decode()


def made(mistake: Mistake, options: dict[str, str]) -> None:
    """Do what Spark does with the source."""
    source = SOURCES[mistake.form](options)
    schema: Any = None
    if mistake.columns is not None:
        schema = StructType([StructField(column.split()[0], StringType()) for column in mistake.columns.split(", ")])
    elif mistake.how in (ONCE, STREAM):
        source.schema()
    if mistake.how == ONCE:
        source.reader(schema).partitions()
    elif mistake.how == STREAM:
        source.streamReader(schema).initialOffset()
    else:
        source.writer(StructType([StructField("value", StringType())]), overwrite=False)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_the_first_line_is_the_sentence(mistake: Mistake, values: dict[str, str]) -> None:
    options = {name: filled(value, values) for name, value in mistake.options.items()}
    text = words(lambda: made(mistake, options))
    sentence = filled(mistake.says, values)
    begin = f"[{mistake.condition}] {sentence}".lower()  # Spark passes options of streams in lower case
    assert text.splitlines()[0].lower().startswith(begin)
    assert "Traceback (most recent call last):" in text
    assert sentence_of(Exception(f"[X] Failed: {text} SQLSTATE: 38000")).lower().startswith(sentence.lower())


@pytest.mark.parametrize("setting", ["SPARK_HIDE_TRACEBACK", "SPARK_SIMPLIFIED_TRACEBACK"])
def test_settings_of_the_session_keep_the_sentence_first(
    setting: str, monkeypatch: pytest.MonkeyPatch, values: dict[str, str]
) -> None:
    monkeypatch.setenv(setting, "1")
    text = words(StoreSource({"path": values["store"], "topik": "x"}).schema)
    assert text.splitlines()[0].replace("]:", "]").startswith("[ROCKETMQ_INVALID_OPTION] No option topik. Did you")
    assert sentence_of(Exception(text)).startswith("No option topik. Did you mean topic?")


def test_a_reported_error_is_still_of_its_class_and_says_the_same() -> None:
    for error in (
        StoreError("The store\nis gone."),
        CorruptRecord("x"),
        BrokerRefused(17, "no"),
        ConnectFailed("x"),
        ValueError("x"),
        PermissionError(13, "Permission denied", "/srv/store"),
    ):
        report = report_of(error)
        assert isinstance(report, OSError if isinstance(error, OSError) else type(error))
        assert "\n" not in str(report)
        assert report_of(report) is report
    assert str(report_of(PermissionError(13, "Permission denied", "/srv"))) == "/srv cannot be used: permission denied."


def test_a_mistake_of_ours_has_no_condition() -> None:
    for error in (KeyError("x"), UnicodeDecodeError("utf-8", b"", 0, 1, "x"), AssertionError()):
        assert condition_of(error) is None
        assert report_of(error) is error
    assert condition_of(SandboxError("x")) == "ROCKETMQ_ERROR"
    assert all(name.startswith("ROCKETMQ_") for _, name in CONDITIONS)


def test_a_mistake_of_ours_keeps_its_cause() -> None:
    @reports_errors
    def fail() -> None:
        raise KeyError("outer") from IndexError("inner")

    text = words(fail)
    assert "KeyError: 'outer'" in text
    assert text.index("IndexError: inner") < text.index("KeyError: 'outer'")
    assert "ROCKETMQ" not in text


def test_errors_amid_rows_are_reported_too(tmp_path: Path) -> None:
    journal = write_journal(tmp_path, [SandboxSlept("idle")] * 3)
    [segment] = journal.glob("*")
    segment.write_bytes(segment.read_bytes() + b"nonsense\n")
    reader = JournalSource({"path": str(journal)}).reader(None)
    text = words(lambda: [list(reader.read(part)) for part in reader.partitions()])
    assert text.startswith(f"[ROCKETMQ_CORRUPT_DATA] {segment} cannot be read: 'nonsense' is not JSON.\n")


def test_a_name_that_cannot_be_encoded_is_shown_escaped() -> None:
    @reports_errors
    def fail() -> None:
        raise StoreError("/srv/\udcff is gone.")

    assert words(fail).startswith("[ROCKETMQ_UNREADABLE_FILES] /srv/\\udcff is gone.")
