"""A run in a browser's interpreter and the same run on a server write the same journal, byte for byte."""

from pathlib import Path

import pytest

from sandbox.cluster.templates import TEMPLATES
from tests import wide
from tests.lite.any_run import run_anything
from tests.lite.node_runs import NodeRuns


@pytest.mark.parametrize("template", sorted(TEMPLATES))
def test_a_disk_in_memory_loses_and_keeps_what_a_disk_with_files_does(
    template: str, tmp_path: Path, feeds: Path
) -> None:
    in_memory = run_anything(tmp_path / "memory", template, 11, feeds=feeds)
    assert in_memory == run_anything(tmp_path / "files", template, 11, feeds=feeds, on_files=True)


@pytest.mark.parametrize("first", wide.seeds(1, 8))
def test_the_journal_of_a_browser_is_that_of_a_server(
    first: int, tmp_path: Path, feeds: Path, node_runs: NodeRuns
) -> None:
    """Three seeds in each run, of other templates each; with `--wide` eight of all."""
    templates = sorted(TEMPLATES) if first else ["flights", "orders", "payments"]
    runs = [(template, 100 + first) for template in templates]
    digests, _ = node_runs.run(runs)
    assert digests == {
        (template, seed): run_anything(tmp_path, template, seed, feeds=feeds, on_files=True) for template, seed in runs
    }
