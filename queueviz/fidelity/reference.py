"""docs/fidelity.md, made from the ledger and the marks of the tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from queueviz.fidelity.ledger import Claim, Ledger, ledger
from queueviz.fidelity.marks import by_row, scan
from sandbox.tools.reference import MADE, cell, table

NAME = "fidelity.md"
SECTIONS = {
    "0": "Offset management",
    "1": "Consumer side",
    "2": "Notes on offset stores",
    "3": "Concepts and working principles",
    "4": "Consumer source code",
    "D": "Differences between articles and code",
}
HEAD = ("row", "the article", "RocketMQ 4.9.8", "here", "shown by")


def page(root: Path) -> str:
    """The page of the tree at `root`, whose tests lie in `tests/`."""
    return text(ledger(), by_row(scan(root / "tests", root)))


def text(rows: Ledger, tests: Mapping[str, list[str]]) -> str:
    lines = [
        "# Articles and code",
        "",
        MADE,
        "Five articles on RocketMQ say how it works; this is each thing they say, what RocketMQ 4.9.8's code",
        "does, what the engine here does, and the tests that show it: in a running sandbox, or at the class",
        "where that says as much. Where an article's value and the code's differ, the engine follows the code and",
        "the pages show both. `manage.py fidelity` runs the tests; the page `/fidelity/` is the same list with",
        "links to where it can be seen. A place such as `store 4` is a section of",
        "[the specification](spec/README.md).",
        "",
    ]
    for section, title in SECTIONS.items():
        lines += [f"## {title}", ""]
        lines += table(HEAD, (_row(claim, tests.get(claim.row, ())) for claim in rows.section(section)))
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Return words that markdown and HTML leave as they are: `%RETRY%<group>` is no tag, `w * 4` no emphasis."""
    return cell(text).replace("<", "&lt;").replace("*", "\\*")


def _row(claim: Claim, tests: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    claim_text = _plain(claim.claim)
    if claim.has_values:
        claim_text += f" (**{_plain(claim.seed_value)}** → **{_plain(claim.code_value)}**)"
    if claim.differs:
        claim_text += f" Differs: {', '.join(claim.differs)}."
    code = _plain(f"{claim.rocketmq} ({claim.source})")
    return (claim.row, claim_text, code, _plain(claim.ours), _links(tests))


def _links(tests: list[str] | tuple[str, ...]) -> str:
    return (
        "<br>".join(
            f"[{Path(path).name}::{name}](../{path})" for path, _, name in (test.partition("::") for test in tests)
        )
        or "nothing yet"
    )
