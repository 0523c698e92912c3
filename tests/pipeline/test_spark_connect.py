"""On a Spark Connect server that knows nothing of us."""

import json
from pathlib import Path

import pytest

from sandbox.pipeline.results import manifest_of
from tests.pipeline.connect_server import serving
from tests.pipeline.test_errors import command, refused

pytestmark = pytest.mark.pipeline


def test_jobs_run_on_a_connect_server_with_our_code_sent_to_it(golden: Path, tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    out = tmp_path / "out"
    with serving(tmp_path / "server") as remote:
        done = command(tmp_path, "export", "--store", golden, "--remote", remote, "--out", out, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["tables"] == {"messages": 153}
        before = manifest_of(out)
        done = command(tmp_path, "store_audit", "--store", golden, "--remote", remote, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["tables"]["findings"] == 0
        why = refused(tmp_path, "export", "--store", tmp_path / "nowhere", "--remote", remote, "--out", out)
        assert why.startswith(f"{tmp_path}/nowhere is no store")
        assert manifest_of(out) == before
    assert refused(tmp_path, "export", "--store", golden, "--remote", remote, "--out", out) == (
        f"No Spark Connect server answers at {remote}: connection refused.")
    assert manifest_of(out) == before
