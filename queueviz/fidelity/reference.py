"""The text of docs/fidelity.md and of a page for each section, made from the ledger and the marks of the tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from queueviz.fidelity.ledger import Claim, Ledger, ledger
from queueviz.fidelity.marks import by_row, scan
from sandbox.tools.reference import MADE, cell, table

INDEX = "fidelity.md"
FOLDER = "fidelity"
SECTIONS = {  # section → name of its page, title
    "0": ("offsets", "Offset management"),
    "1": ("consumers", "Consumer side"),
    "2": ("offset-stores", "Notes on offset stores"),
    "3": ("concepts", "Concepts and working principles"),
    "4": ("source-code", "Consumer source code"),
    "D": ("differences", "Differences between articles and code"),
}
HEAD = ("row", "the article", "RocketMQ 4.9.8", "here", "shown by")


def pages(root: Path) -> dict[str, str]:
    """Return the pages of the tree at `root`, whose tests are in `tests/`, by their paths below `docs`."""
    rows, tests = ledger(), by_row(scan(root / "tests", root))
    sections = {f"{FOLDER}/{name}.md": _section(rows, section, tests) for section, (name, _) in SECTIONS.items()}
    return {INDEX: _index(rows), **sections}


def _index(rows: Ledger) -> str:
    lines = [
        "# What is verified",
        "",
        MADE,
        "Five articles explain how RocketMQ works. The pages below list each claim of these articles with:",
        "",
        "- the behaviour of RocketMQ 4.9.8's code",
        "- the behaviour of the engine of QueueViz",
        "- the tests that show it",
        "",
        "Where an article and the code differ, the engine follows the code and the pages show both values.",
        "",
        "`manage.py fidelity` runs the tests. The page `/fidelity/` has the same list, with links to the boards that",
        "show each claim. `store 4` in a row is a section of [the specification](spec/README.md).",
        "",
    ]
    titles = ((f"[{title}]({FOLDER}/{name}.md)", section) for section, (name, title) in SECTIONS.items())
    return "\n".join(lines + table(("section", "rows"), ((title, _extent(rows, section)) for title, section in titles)))


def _extent(rows: Ledger, section: str) -> str:
    ids = [claim.row for claim in rows.section(section)]
    return f"{ids[0]} to {ids[-1]}"


def _section(rows: Ledger, section: str, tests: Mapping[str, list[str]]) -> str:
    lines = [
        f"# {SECTIONS[section][1]}",
        "",
        MADE,
        "All sections and the meaning of the columns: [What is verified](../fidelity.md).",
        "",
    ]
    rows_of_page = (_row(claim, tests.get(claim.row, ())) for claim in rows.section(section))
    return "\n".join(lines + table(HEAD, rows_of_page))


def _plain(text: str) -> str:
    """Return the text with the signs escaped that markdown and HTML interpret, as in `%RETRY%<group>` and `w * 4`."""
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
            f"[{Path(path).name}::{name}](../../{path})" for path, _, name in (test.partition("::") for test in tests)
        )
        or "no test"
    )
