"""The findings that were open at a past event, from the facts of the journal.

A fact has the sentences with which its finding opened; nothing records them later.  No finding outlives a sleep: a
clean end closes all, and after a killed server the looks begin again with the next `SandboxWoken`.
"""

from collections.abc import Iterable
from typing import NamedTuple

from sandbox.findings.all_rules import BY_CODE
from sandbox.findings.english import sentence_of
from sandbox.findings.finding import Finding, Said, Subject
from sandbox.findings.reading import finding_rows, key_of
from sandbox.findings.tracker import ranked
from sandbox.journal.event_filter import EventFilter, Row, Term
from sandbox.queries.rows.findings import FindingRow

OPENED, CLOSED, WOKEN = "FindingOpened", "FindingClosed", "SandboxWoken"
FACTS = EventFilter("told", (Term("finding", frozenset({WOKEN})),))
"""The facts to search for; some events with other names match, too."""


class Recorded(NamedTuple):
    """Findings that were open, the causes before their consequences.  `opened_ms`: by the key of a finding."""

    findings: list[FindingRow]
    opened_ms: dict[str, int]


def open_findings(facts: Iterable[Row]) -> Recorded:
    """Return the findings that are open after these facts, the oldest fact first."""
    opened: dict[tuple[object, ...], tuple[Finding, int, int]] = {}
    for fact in facts:
        if fact["type"] == WOKEN:
            opened.clear()
        elif fact["type"] in (OPENED, CLOSED) and fact["code"] in BY_CODE:
            key = tuple(fact[name] for name in ("code", "kind", "subject", "group", "topic"))
            opened.pop(key, None)
            if fact["type"] == OPENED:
                opened[key] = _finding(fact), int(fact["since_ms"]), int(fact["at_ms"])
    shown = ranked(list(opened.values()), BY_CODE)
    return Recorded(finding_rows(shown, {}, BY_CODE), {key_of(each.finding.key): each.opened_ms for each in shown})


def _finding(fact: Row) -> Finding:
    sentences = (Said(name, values) for name, values in fact.get("says", ()))
    return Finding(
        fact["code"],
        fact["severity"],
        Subject(fact["kind"], fact["subject"], fact["group"], fact["topic"]),
        tuple(each for each in sentences if _is_known(fact["code"], each)),
        marks=tuple(fact.get("marks", ())),
        touches=frozenset(fact.get("touches") or _names(fact)),
        event=str(fact["seq"]),
    )


def _names(fact: Row) -> list[str]:
    """Return the names that a fact of an earlier version touches."""
    names = {"group": fact["group"], "topic": fact["topic"], fact["kind"]: fact["subject"]}
    return [f"{kind} {name}" for kind, name in names.items() if name]


def _is_known(code: str, sentence: Said) -> bool:
    """Return True if this version has the sentence, with these values."""
    try:
        sentence_of(code, sentence, {})
    except KeyError:
        return False
    return True
