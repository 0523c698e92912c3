"""Notices shown to all viewers of a sandbox, beside the reason why it does not run."""

from typing import Any, NamedTuple

from sandbox.store.results import RecoveryReport

LOG_CUT = ("The commit log of {broker} could not be read from byte {offset} on when it was opened. It ends there now, "
           "as RocketMQ ends it: {bytes} bytes were cut off.")


class Notice(NamedTuple):
    """A sentence in English; translations fill `pattern` with `values`.  `dismissible`: by its owner."""

    pattern: str
    values: dict[str, Any]
    dismissible: bool = False


def note_cut(cuts: dict[str, dict[str, int]], node: str, report: RecoveryReport) -> None:
    """Of several cuts of a log: the place of the first, and the bytes of all."""
    before = cuts.get(node, {"offset": report.end_offset, "bytes": 0})
    cuts[node] = {"offset": min(before["offset"], report.end_offset), "bytes": before["bytes"] + report.truncated_bytes}


def of_cuts(cuts: dict[str, dict[str, int]]) -> list[Notice]:
    texts = [{"broker": node} | {name: str(value) for name, value in cut.items()} for node, cut in sorted(cuts.items())]
    return [Notice(LOG_CUT, values, dismissible=True) for values in texts]
