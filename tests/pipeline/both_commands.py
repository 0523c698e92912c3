"""The findings of a store as `mqstore verify` prints them and as the job `store_audit` writes them."""

import json
from pathlib import Path

from sandbox.pipeline.jobs.store_audit import FINDINGS, findings_of
from sandbox.store_audit.one_process import audit
from sandbox.store_audit.verdict import Verdict
from sandbox.tools import mqstore

COLUMNS = [column.split()[0] for column in FINDINGS.split(", ")]
Row = tuple[str, str, str, int, str]  # severity, kind, file, position, sentence


def verified(root: Path) -> tuple[list[Row], bool, dict[str, int]]:
    """Return the findings of `mqstore verify --json`, true if it calls the store sound, and its counts."""
    lines: list[str] = []
    code = mqstore.run(mqstore.StoreOptions("verify", str(root), json=True), lines.append)
    [report] = map(json.loads, lines)
    assert code == (0 if report["sound"] else 1)
    names = ("severity", "code", "where", "position", "text")
    return [tuple(row[name] for name in names) for row in report["findings"]], report["sound"], report["checked"]


def audited(verdict: Verdict) -> tuple[list[Row], bool, dict[str, int]]:
    """Return the same of the rows that the job makes of a verdict."""
    rows = (dict(zip(COLUMNS, row, strict=True)) for row in findings_of(verdict))
    names = ("severity", "kind", "file", "position", "says")
    return [tuple(row[name] for name in names) for row in rows], verdict.sound, verdict.checked


def agreed(root: Path) -> Verdict:
    """Return the verdict on a store, of which both commands say the same."""
    [verdict] = audit({"s": root})
    if (root / "commitlog").is_dir():  # otherwise it is no store to `mqstore`
        assert verified(root) == audited(verdict)
    return verdict
