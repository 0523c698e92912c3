"""The table of codes in docs/findings.md: all rules in their order, with the figures of the code."""

import re
from pathlib import Path

import pytest

from sandbox.findings import all_rules
from sandbox.findings.all_rules import RULES
from sandbox.findings.english import duration
from sandbox.findings.finding import WORST_FIRST
from sandbox.findings.rule import Rule

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "findings.md"
ROW = re.compile(r"^\| `(\w+)` \|(.*)\|$", re.MULTILINE)
KNOWN = re.compile(r"(yes|partly: .+|no|no: .+)")


@pytest.fixture(scope="module")
def rows() -> dict[str, list[str]]:
    """The cells of each row by its code, without the code."""
    return {code: [cell.strip() for cell in cells.split("|")] for code, cells in ROW.findall(PAGE.read_text("utf-8"))}


def severities(rule: Rule) -> set[str]:
    """Return the severities that the module of a rule imports."""
    module = vars(vars(all_rules)[rule.code])
    return {severity for severity in WORST_FIRST if module.get(severity.upper()) == severity}


def test_each_rule_has_its_row_in_the_order_of_the_checks(rows: dict[str, list[str]]) -> None:
    assert list(rows) == [rule.code for rule in RULES], "one row for each rule of sandbox/findings/all_rules.py"


def test_rows_have_the_figures_and_the_links_of_the_rules(rows: dict[str, list[str]]) -> None:
    for rule in RULES:
        condition, holding, severity, real_cluster, links = rows[rule.code]
        assert condition, rule.code
        assert holding == (duration(rule.hold_ms) if rule.hold_ms else "at once"), rule.code
        assert set(severity.split(", ")) == severities(rule), rule.code
        assert KNOWN.fullmatch(real_cluster), rule.code
        assert links == ", ".join(f"`{slug}`" for slug in (rule.lab, rule.incident) if slug), rule.code
