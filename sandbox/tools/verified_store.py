"""`manage.py mqstore verify`: the findings of the audit as lines or as one JSON value."""

import json
from collections.abc import Callable
from pathlib import Path

from sandbox.kernel.errors import StoreError
from sandbox.queries.rows.stores import Row
from sandbox.store.config import parse_delay_levels
from sandbox.store_audit.one_process import verify
from sandbox.store_audit.verdict import NORMAL_STATES, Verdict


def verify_store(
    root: Path, write: Callable[[str], object], *, as_json: bool, delay_levels: str | None, index_slots: int | None
) -> int:
    """Write the findings and counts of the audit.  Return 1 if it found errors, else 0."""
    verdict = verify(root, _delay_levels_ms(delay_levels), index_slots)
    if as_json:
        write(json.dumps(verdict_row(verdict), ensure_ascii=False, separators=(",", ":")))
    else:
        _write_lines(verdict, write)
    return 0 if verdict.sound else 1


def verdict_row(verdict: Verdict) -> Row:
    checked = verdict.checked
    findings = [
        {"severity": item.severity, "code": item.kind, "where": item.file, "position": item.position, "text": item.says}
        for item in verdict.findings
    ]
    return {
        "records": checked["records"],
        "blanks": checked["blanks"],
        "log_end": checked["log_end"],
        "queues": checked["queues"],
        "units": checked["queue_units"],
        "index_entries": checked["index_entries"],
        "findings": findings,
        "omitted": checked["omitted"],
        "sound": verdict.sound,
        "checked": checked,
    }


def _write_lines(verdict: Verdict, write: Callable[[str], object]) -> None:
    checked = verdict.checked
    for item in verdict.findings:
        write(f"{item.severity:<8} {item.file} at {item.position}: {item.says} [{item.kind}]")
    if checked["omitted"]:
        write(f"{checked['omitted']} more findings are not shown")
    for name, text in NORMAL_STATES.items():
        if checked[name]:
            write(f"{'note':<8} {checked[name]} {text} [{name}]")
    write(
        f"{checked['records']} records up to {checked['log_end']}, {checked['queue_units']} units in "
        f"{checked['queues']} queues, {checked['index_entries']} index entries: "
        f"{'sound' if verdict.sound else 'NOT sound'}"
    )


def _delay_levels_ms(text: str | None) -> tuple[int, ...] | None:
    try:
        return parse_delay_levels(text) if text else None
    except ValueError as error:
        raise StoreError(f"--delay-levels must be a broker's messageDelayLevel, such as 1s 5s 10s: {error}") from None
