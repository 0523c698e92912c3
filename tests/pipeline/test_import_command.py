"""`manage.py pipeline` before Spark: what it reads, and where a relative path leads."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from queueviz.management.commands.pipeline import options_of, source_of

NOTHING: dict[str, Any] = {"store": None, "sandbox": None, "students": None, "option": [], "format": None,
                           "follow": False, "append": False}


def test_an_import_reads_files_and_no_store(tmp_path: Path) -> None:
    assert source_of({**NOTHING, "job": "import"}, tmp_path) == ({}, {}, "files")


def test_every_other_job_has_to_be_told_what_to_read(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="Name what to read: --store DIR") as refused:
        source_of({**NOTHING, "job": "export"}, tmp_path)
    assert refused.value.returncode == 1


def test_a_path_is_relative_to_who_asks_and_not_to_the_process_with_spark(monkeypatch: pytest.MonkeyPatch,
                                                                        tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert options_of({**NOTHING, "option": ["path=rows.csv", "topic=T"]}) == {
        "path": str(tmp_path / "rows.csv"), "topic": "T"}
