"""Stores damaged from seeds: every reader ends, no reader loses an intact message, the audit finds each damage."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.damaged import wrong_with

ROOT = Path(__file__).parents[3]
MOST_BYTES = 256 << 20
EVERYDAY, NIGHTLY = 12, 100


@pytest.mark.parametrize("seed", range(EVERYDAY))
def test_all_readers_of_a_damaged_store_agree_and_lose_no_intact_message(seed: int, tmp_path: Path) -> None:
    assert wrong_with(seed, tmp_path) == []


@pytest.mark.wide
def test_a_hundred_damaged_stores_are_read_so_within_256_mb() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.pipeline.damaged", str(EVERYDAY), str(NIGHTLY)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    reported = json.loads(done.stdout.splitlines()[-1])
    assert reported["wrong"] == []
    assert reported["peak_bytes"] < MOST_BYTES
