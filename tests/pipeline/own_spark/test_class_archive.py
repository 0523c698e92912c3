"""An archive of the classes that Spark's Java loads: one process writes it, the next one maps it."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from sandbox.pipeline.runs.launch import ENDED, Child, Order, Where
from sandbox.pipeline.spark import java_classes
from sandbox.pipeline.spark.java_classes import WRITTEN_WITHIN_S
from tests.server.processes import processes_below


@pytest.mark.wide
@pytest.mark.pipeline
def test_spark_maps_what_its_first_process_wrote(golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "var"
    monkeypatch.setattr(java_classes, "FOLDER", folder)
    maps = []
    for turn in range(2):
        with (
            (tmp_path / "words").open("wb") as words,
            Child(Where("local[2]"), tmp_path / "spark", os.environ, errors=words) as child,
        ):
            child.order(Order(f"{turn}", "export", {"a": str(golden)}, {}, str(tmp_path / "out"), {}))
            last = next(report for report in child.reports() if report["state"] in ENDED)
            maps.append(mapped_below(child.process_id))
        assert last["state"] == "done", last
        if [file.suffix for file in folder.iterdir()] == [".begun"]:
            pytest.skip(f"its Java could not write one within {WRITTEN_WITHIN_S:g} s: the machine has other work")
        assert [file.suffix for file in folder.iterdir()] == [".jsa"]
        assert b"cds" not in (tmp_path / "words").read_bytes()
    archive = str(next(folder.iterdir()))
    assert (archive in maps[0], archive in maps[1]) == (False, True)


def mapped_below(process_id: int) -> str:
    """Files that the processes started by it have mapped."""
    found = ""
    for process in processes_below(process_id):
        with suppress(OSError):
            found += Path(f"/proc/{process}/maps").read_text()
    return found
