"""Stores damaged from seeds: every reader ends, no reader loses an intact message, the audit finds each damage."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.damaged import damaged, wrong_findings, wrong_with

ROOT = Path(__file__).parents[3]
MOST_BYTES = 256 << 20
EVERYDAY, NIGHTLY, AUDITED = 12, 100, 500


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


@pytest.mark.wide
@pytest.mark.parametrize("begin", range(EVERYDAY, AUDITED, 61))
def test_both_commands_name_the_damages_of_five_hundred_stores_and_nothing_else(begin: int, tmp_path: Path) -> None:
    for seed in range(begin, min(begin + 61, AUDITED)):
        root = tmp_path / str(seed)
        assert wrong_findings(root, damaged(seed, root)) == [], seed
