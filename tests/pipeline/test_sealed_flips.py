"""Sealed files that change on the disk, read by Spark: never another row."""

import random
from pathlib import Path
from typing import Any

import orjson
import pytest

from sandbox.pipeline.sealed.entries import entries_in
from tests.pipeline.conftest import Run
from tests.pipeline.sealed_reads import sealed
from tests.pipeline.test_export import lines
from tests.pipeline.test_seal_job import exported
from tests.unit.store.damage import overwrite
from tests.wide import seeds

pytestmark = pytest.mark.pipeline


@pytest.fixture(scope="module")
def plain() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def expected(run: Run, golden: Path, plain: list[dict[str, Any]], tmp_path: Path) -> list[dict[str, Any]]:
    """Rows of the store without sealed files."""
    plain[:] = plain or exported(run, tmp_path / "plain", store=golden)
    return plain


@pytest.mark.parametrize("seed", seeds(4, 40))
def test_a_sealed_file_with_a_flipped_bit_is_named_or_its_log_file_is_read(
    seed: int, run: Run, golden: Path, expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    sealed(golden, tmp_path / "sealed" / "broker-a")
    chance = random.Random(seed)
    file = chance.choice(sorted((tmp_path / "sealed" / "broker-a").glob("*.parquet")))
    footer_at = entries_in(file.parent)[int(file.name[:20])].footer_at
    at = chance.randrange(4, footer_at) if chance.randrange(3) else chance.randrange(footer_at, file.stat().st_size)
    overwrite(file, at, bytes([file.read_bytes()[at] ^ 1 << chance.randrange(8)]))
    *_, last = run("export", store=golden, sealed=tmp_path / "sealed", format="ndjson")
    if at < footer_at and last["state"] != "done":
        assert last["why"].startswith(f"The sealed log file {file} is damaged or was deleted during the run. ")
    else:
        assert last["state"] == "done", last
        found = sorted(map(orjson.loads, lines(tmp_path / "out", "json")), key=lambda row: row["physicalOffset"])
        assert found == expected
