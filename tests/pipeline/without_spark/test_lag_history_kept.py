"""A result that grows batch by batch: each batch is in once, whatever was killed when."""

import shutil
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.dataset
import pytest

from sandbox.pipeline.lag import result_store
from sandbox.pipeline.lag.result_store import DIRECTORY, FILES_AT_MOST, STATE, Place
from sandbox.pipeline.runs.results import manifest_of

FIRST = "aaaaaaaa-1"


def add(out: Path, batch: int, *, checkpoint: str = FIRST, rows: int = 1) -> None:
    place = Place(checkpoint, batch)
    if not result_store.is_in(out, place):
        table = pa.table({"batch": [batch] * rows})
        result_store.add(
            out,
            place,
            {"seconds": table, STATE: pa.table({"state": [b"%d" % batch]})},
            job="lag_history",
            run="r",
            true_to={"s": batch},
            source={},
        )


def shown(out: Path) -> list[int]:
    manifest = manifest_of(out)
    assert manifest is not None
    table = manifest.tables["seconds"]
    rows = pyarrow.dataset.dataset(out / table.path, format="parquet").to_table().column("batch").to_pylist()
    assert len(rows) == table.rows
    return sorted(rows)


def test_batches_add_up_and_the_state_is_the_last_ones(tmp_path: Path) -> None:
    for batch in range(3):
        add(tmp_path, batch)
    assert shown(tmp_path) == [0, 1, 2]
    before = result_store.state_before(tmp_path, Place(FIRST, 3))
    assert before is not None
    assert pyarrow.dataset.dataset(before).to_table().to_pylist() == [{"state": b"2"}]


def test_a_repeated_batch_is_stored_once(tmp_path: Path) -> None:
    for batch in (0, 1, 1, 2, 2):
        add(tmp_path, batch)
    assert shown(tmp_path) == [0, 1, 2]


class Killed(Exception):
    """Stands for the end of the process."""


@pytest.mark.parametrize("step", range(8))
def test_killed_at_any_step_a_repeated_batch_is_stored_once(tmp_path: Path, monkeypatch: Any, step: int) -> None:
    """Every call that changes the disk is a place to die, before it and so after the one before."""
    add(tmp_path, 0)
    add(tmp_path, 1)
    left = step

    def dying(real: Any) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return real(*args, **more)

        return call

    with monkeypatch.context() as patch:
        patch.setattr("pyarrow.parquet.write_table", dying(result_store.pq.write_table))
        patch.setattr("os.link", dying(result_store.os.link))
        patch.setattr("os.replace", dying(result_store.os.replace))
        patch.setattr("shutil.rmtree", dying(shutil.rmtree))
        died = False
        try:
            add(tmp_path, 2)
        except Killed:
            died = True
    assert died == (step < 7)
    assert shown(tmp_path) in ([0, 1], [0, 1, 2])
    add(tmp_path, 2)
    add(tmp_path, 3)
    assert shown(tmp_path) == [0, 1, 2, 3]
    assert len(list((tmp_path / DIRECTORY).iterdir())) == 2  # this result, and the one that a reader may still use


def test_files_do_not_become_many(tmp_path: Path) -> None:
    for batch in range(FILES_AT_MOST * 2 + 5):
        add(tmp_path, batch)
    assert shown(tmp_path) == list(range(FILES_AT_MOST * 2 + 5))
    manifest = manifest_of(tmp_path)
    assert manifest is not None
    assert len(list((tmp_path / manifest.tables["seconds"].path).iterdir())) <= FILES_AT_MOST


def test_another_streams_result_is_replaced(tmp_path: Path) -> None:
    add(tmp_path, 0)
    add(tmp_path, 1)
    add(tmp_path, 0, checkpoint="bbbbbbbb-2", rows=2)
    assert shown(tmp_path) == [0, 0]


def test_a_checkpoint_without_its_result_is_begun_again(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    for stream, stays in ((FIRST, True), ("bbbbbbbb-2", False)):
        checkpoint.mkdir()
        (checkpoint / "metadata").write_bytes(orjson.dumps({"id": stream}))
        add(tmp_path, 0)
        result_store.begin_again_if_torn(tmp_path, checkpoint)
        assert checkpoint.exists() == stays
        shutil.rmtree(checkpoint, ignore_errors=True)


def test_a_run_without_news_makes_the_result_its_own(tmp_path: Path) -> None:
    result_store.look_again(tmp_path, "r-1")
    assert manifest_of(tmp_path) is None
    add(tmp_path, 0)
    result_store.look_again(tmp_path, "r-2")
    manifest = manifest_of(tmp_path)
    assert manifest is not None
    assert (manifest.run, shown(tmp_path)) == ("r-2", [0])
    add(tmp_path, 1)
    assert shown(tmp_path) == [0, 1]
