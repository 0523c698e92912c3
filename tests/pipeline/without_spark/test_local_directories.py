"""Directories of the sources: paths, `file:` URIs, and several in one read."""

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.journal.events import SandboxSlept
from sandbox.kernel.errors import StoreError
from sandbox.pipeline.sources.journal import JournalSource
from sandbox.pipeline.sources.local_directories import by_name, local_path
from sandbox.pipeline.sources.store import StoreSource
from tests.pipeline.journals import write_journal
from tests.pipeline.store_reads import Broker

Source = StoreSource | JournalSource


def store(root: Path, messages: int) -> Path:
    broker = Broker(root)
    broker.put(messages)
    broker.store.crash()
    return root


def rows(source: Source) -> list[dict[str, Any]]:
    reader = source.reader(None)
    return [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/srv/store", "/srv/store"),
        ("relative/store", "relative/store"),
        ("/srv/a%20b", "/srv/a%20b"),
        ("file:/srv/store", "/srv/store"),
        ("file:///srv/a%20b%25", "/srv/a b%"),
        ("FILE://localhost/srv/%E4%BD%A0", "/srv/你"),
        ("a:b", "a:b"),
    ],
)
def test_a_path_and_a_file_uri_name_the_same_directory(text: str, path: str) -> None:
    assert local_path(text) == Path(path)


def test_a_directory_that_exists_as_written_is_not_decoded(tmp_path: Path) -> None:
    (tmp_path / "a%20b").mkdir()
    assert local_path(f"file:{tmp_path}/a%20b") == tmp_path / "a%20b"
    assert local_path(f"file:{tmp_path}/a%2520b") == tmp_path / "a%20b"


@pytest.mark.parametrize("text", ["hdfs://node:8020/store", "s3a://bucket/store", "file://other/store", "hdfs:/store"])
def test_a_uri_of_another_scheme_or_machine_is_refused(text: str) -> None:
    sentence = f"{text} is not a local directory. Mount or copy it, and set its local path."
    for source in (
        StoreSource({"path": text}),
        StoreSource({"stores": json.dumps({"a": text})}),
        StoreSource({"paths": json.dumps([text, text])}),
        JournalSource({"path": text}),
        JournalSource({"journals": json.dumps({"a": text})}),
    ):
        with pytest.raises(ValueError) as refusal:
            source.reader(None)
        assert str(refusal.value) == sentence


def test_the_shortest_unique_end_of_a_path_is_its_name() -> None:
    assert by_name([Path("/srv/x/broker-a"), Path("/srv/broker-b")]) == {
        "broker-a": Path("/srv/x/broker-a"),
        "broker-b": Path("/srv/broker-b"),
    }
    assert list(by_name([Path("/1/x/a"), Path("/2/x/a"), Path("/2/x/b"), Path("/a")])) == ["1/x/a", "2/x/a", "b", "/a"]
    with pytest.raises(ValueError, match=r"/1/a is listed twice\. Load each directory once\."):
        by_name([Path("/1/a"), Path("/2/a"), Path("/1/a")])


def test_several_stores_of_one_load_have_their_names_in_a_column(tmp_path: Path) -> None:
    paths = [str(store(tmp_path / "x" / "broker-a", 1)), f"file:{store(tmp_path / 'y' / 'broker-a', 2)}"]
    source = StoreSource({"paths": json.dumps(paths), "columns": "topic"})
    assert source.schema() == "store STRING, topic STRING"
    assert sorted((row["store"], row["topic"]) for row in rows(source)) == [
        ("x/broker-a", "orders"),
        ("y/broker-a", "orders"),
        ("y/broker-a", "orders"),
    ]
    ends = json.dumps({"x/broker-a": {"orders": {"0": 0}}})
    assert len(rows(StoreSource({"paths": json.dumps(paths), "endingOffsets": ends}))) == 2
    with pytest.raises(ValueError, match=r"Set load\(\[…\]\) or the option stores, not both\."):
        StoreSource({"paths": json.dumps(paths), "stores": "{}"}).reader(None)


def test_several_journals_of_one_load_have_the_names_of_their_sandboxes(tmp_path: Path) -> None:
    paths = [write_journal(tmp_path / name / "journal", [SandboxSlept("idle")]) for name in ("a", "b")]
    listed = json.dumps([str(paths[0]), paths[1].as_uri()])
    assert [row["sandbox"] for row in rows(JournalSource({"paths": listed}))] == ["a", "b"]
    assert [row["sandbox"] for row in rows(JournalSource({"path": paths[0].as_uri()}))] == ["a"]
    with pytest.raises(StoreError, match="No directory"):
        JournalSource({"journals": json.dumps({"a": (tmp_path / "gone").as_uri()})}).reader(None)
    with pytest.raises(ValueError, match="Option journals must be a JSON object of names and directories"):
        JournalSource({"journals": "[]"}).reader(None)


def test_files_of_brokers_and_sandboxes_are_not_written(tmp_path: Path) -> None:
    for source, sentence in ((StoreSource, "Spark cannot write to a store: "), (JournalSource, "Spark cannot write ")):
        with pytest.raises(ValueError, match=sentence):
            source({"path": str(tmp_path)}).writer(None, overwrite=False)
        with pytest.raises(ValueError, match=sentence):
            source({"path": str(tmp_path)}).streamWriter(None, overwrite=False)
