"""Whatever comes over the wire, a client that behaves is served beside it."""

import json
from pathlib import Path

import pytest

from tests.robustness.report import table
from tests.robustness.run import run


def test_a_client_that_behaves_is_served_whatever_others_send(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    config = request.config
    seed = config.getoption("--seed")
    print(f"seed {seed}")
    report = run(config.getoption("--minutes"), seed, tmp_path)
    config.robustness_lines = [*table(report), "", json.dumps(report)]  # type: ignore[attr-defined]
    if path := config.getoption("--report"):
        path.write_text(json.dumps(report, indent=1))
    assert [row["sentence"] for row in report["verdicts"] if not row["holds"]] == []
