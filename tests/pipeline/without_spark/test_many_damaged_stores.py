"""Stores damaged from seeds: every reader ends, nobody loses a whole message, and the audit finds each damage."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from sandbox.pipeline.audit.whole import audit
from sandbox.pipeline.sources.records import rows_of
from tests.pipeline.audits import table
from tests.pipeline.conftest import Run
from tests.pipeline.damaged import damaged, wrong_with

ROOT = Path(__file__).parents[2]
MOST_BYTES = 256 << 20
EVERYDAY, NIGHTLY, AT_ONCE = 12, 500, 100


@pytest.mark.parametrize("seed", range(EVERYDAY))
def test_a_damaged_store_is_read_by_everybody_alike_and_no_whole_message_is_lost(seed: int, tmp_path: Path) -> None:
    assert wrong_with(seed, tmp_path) == []


@pytest.mark.pipeline
def test_the_jobs_end_on_damaged_stores_and_say_what_plain_readers_say(run: Run, tmp_path: Path) -> None:
    roots = {f"s-{seed}/broker-a": tmp_path / str(seed) for seed in range(EVERYDAY)}
    for seed, root in enumerate(roots.values()):
        damaged(seed, root)
    *_, last = run("store_audit", stores=roots, out=tmp_path / "audit")
    assert last["state"] == "done", last
    told = {name: verdict.findings for name, verdict in zip(sorted(roots), audit(roots), strict=True)}
    assert Counter(row["store"] for row in table(tmp_path / "audit", "findings")) == {
        name: len(findings) for name, findings in told.items()}
    *_, last = run("export", stores=roots, format="ndjson", out=tmp_path / "export")
    assert last["tables"] == {"messages": sum(len(made) for root in roots.values() for made in rows_of(root))}


@pytest.mark.nightly
@pytest.mark.parametrize("begin", range(0, NIGHTLY, AT_ONCE))
def test_hundreds_of_damaged_stores_are_read_so_within_256_mb(begin: int) -> None:
    done = subprocess.run([sys.executable, "-m", "tests.pipeline.damaged", str(begin), str(begin + AT_ONCE)], cwd=ROOT,
                          capture_output=True, text=True, check=True)
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["wrong"] == []
    assert told["peak_bytes"] < MOST_BYTES
