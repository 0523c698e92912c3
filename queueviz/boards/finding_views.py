"""Findings of a sandbox as text, the causes before their consequences (channel `findings/<slug>`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, TypedDict
from urllib.parse import urlencode

from django.utils.html import format_html_join
from django.utils.translation import gettext as _

from queueviz.boards.finding_figures import Table, table_text
from queueviz.boards.finding_texts import HEALTHY, WHY_NOT, sentence_text, title_text
from queueviz.boards.page import Context, Place, Readings, data_of
from queueviz.boards.rows import short_names
from queueviz.texts import Text
from sandbox.labs.catalogue import LABS
from sandbox.labs.incidents import INCIDENTS
from sandbox.queries.rows.findings import CheckRow, FindingRow, Findings, RemedyRow

SAMPLES_MS = 30_000  # after which no check waits for samples any more


class RemedyView(NamedTuple):
    """A remedy's button.

    `does`: what it will do, shown before it runs; empty: the dialog of the action has a preview for this `actor`.
    """

    label: str
    action: str
    actor: str
    values: str  # JSON
    does: str


class FindingView(NamedTuple):
    """One finding as text.  `consequences`: findings that it explains."""

    key: str
    severity: str
    first: str
    more: str
    subject: str
    since_ms: int
    figures: Table | None
    marks: str  # JSON
    board: str  # query of the Board that shows it; empty: none does
    remedy: RemedyView | None
    reason: Text | str  # why it has no remedy
    lab: str
    lab_title: str
    incident: str
    incident_title: str
    event: str | None
    consequences: tuple[FindingView, ...]
    opened: str = ""  # in the past: when its sentences were written


class CheckView(NamedTuple):
    """A check that holds, or is unknown for some of its subjects."""

    text: Text
    known: int
    all: int
    holds: bool


class FindingsView(TypedDict):
    """`at_ms` None: nothing is known, because the sandbox sleeps or has just begun.

    `crashed`: members whose processes crashed and did not start again.  `moves`: figures change without a fact of the
    journal, so a page fetches them again.  `begins`: too short a time was looked at for some checks.
    """

    at_ms: int | None
    findings: list[FindingView]
    healthy: list[CheckView]
    unknown: list[CheckView]
    crashed: list[str]
    errors: int
    warnings: int
    groups: int
    topics: int
    brokers: int
    moves: bool
    begins: bool


def channel(board: Place) -> str:
    return f"findings/{board.slug}"


def all_of(board: Place, readings: Readings) -> FindingsView:
    """Return all findings as text, the causes in their order, each with its consequences."""
    data = data_of(readings, channel(board), Findings)
    if data is None or data["at_ms"] is None:
        data = {"at_ms": None, "began_ms": None, "findings": [], "checks": [], "groups": 0, "topics": 0, "brokers": 0}
    checks = [_check(row) for row in data["checks"] if row["all"]]  # of nothing there is no check
    all_hold = all(check.holds for check in checks)
    return {
        **view_of(trees(board, data["findings"], data["at_ms"]), data["findings"]),
        "at_ms": data["at_ms"],
        "healthy": [check for check in checks if check.holds],
        "unknown": [check for check in checks if not check.holds],
        "crashed": _crashed(board),
        "groups": data["groups"],
        "topics": data["topics"],
        "brokers": data["brokers"],
        "begins": data["at_ms"] is not None and data["at_ms"] - (data.get("began_ms") or 0) < SAMPLES_MS,
        "moves": _runs(board) and (data["at_ms"] is None or bool(data["findings"]) or not all_hold),
    }


def view_of(views: list[FindingView], rows: list[FindingRow]) -> FindingsView:
    """Return findings without checks."""
    severities = [row["severity"] for row in rows]
    return {
        "at_ms": None,
        "findings": views,
        "healthy": [],
        "unknown": [],
        "crashed": [],
        "errors": severities.count("error"),
        "warnings": severities.count("warning"),
        "groups": 0,
        "topics": 0,
        "brokers": 0,
        "moves": False,
        "begins": False,
    }


def _crashed(board: Place) -> list[str]:
    members = [member for group in board.groups for member in group["members"]]
    return sorted({member["actor"] for member in members if member.get("state") == "crashed" and member["actor"]})


def _runs(board: Place) -> bool:
    """Return True if time passes there: a sandbox may be asleep, or its clock stopped."""
    return board.attached or (board.snapshot["sandbox"]["state"] == "live" and board.snapshot.get("rate", 0) > 0)


def trees(
    board: Place, rows: list[FindingRow], at_ms: int | None, opened: Mapping[str, str] = MappingProxyType({})
) -> list[FindingView]:
    """Return the causes, each with its consequences.

    `at_ms`: of the look; None if the times in the sentences stand.  `opened`: by key, when the sentences of the past
    were written.
    """
    queue_names = short_names(
        {f"{queue['broker']}:{queue['queue_id']}" for topic in board.topics for queue in topic["queues"]}
    )
    keys = {row["key"] for row in rows}
    below: dict[str | None, list[FindingRow]] = {}
    for row in rows:
        below.setdefault(row["because_of"] if row["because_of"] in keys else None, []).append(row)

    def view(row: FindingRow, path: frozenset[str]) -> FindingView:
        consequences = [each for each in below.get(row["key"], ()) if each["key"] not in path]
        below_it = tuple(view(each, path | {each["key"]}) for each in consequences)
        return _view(row, queue_names, at_ms, below_it)._replace(opened=opened.get(row["key"], ""))

    return [view(row, frozenset({row["key"]})) for row in below.get(None, ())]


def of_board(views: list[FindingView], group: str | None, topic: str | None) -> list[FindingView]:
    """Return the findings with those of the board's group and topic first; the order stays otherwise."""
    return sorted(views, key=lambda view: not _is_of(view, group, topic))


def _is_of(view: FindingView, group: str | None, topic: str | None) -> bool:
    return view.subject.partition(" ")[0] in (group, topic) or any(
        _is_of(each, group, topic) for each in view.consequences
    )


def _view(
    row: FindingRow, queue_names: dict[str, str], at_ms: int | None, consequences: tuple[FindingView, ...]
) -> FindingView:
    says = (sentence_text(row["code"], sentence, queue_names, at_ms) for sentence in row["says"])
    sentences = [sentence for sentence in says if sentence]
    lab = LABS.get(row["lab"])
    incident = INCIDENTS.get(row["incident"])
    return FindingView(
        key=row["key"],
        severity=row["severity"],
        first=sentences[0] if sentences else title_text(row["code"], row["kind"], row["subject"], queue_names),
        more=format_html_join(" ", "{}", ((sentence,) for sentence in sentences[1:])),
        subject=_subject(row, queue_names),
        since_ms=row["since_ms"],
        figures=table_text(row.get("why"), queue_names, at_ms),
        marks=json.dumps(row["marks"]),
        board=_board(row),
        remedy=None if row["remedy"] is None else _remedy(row, row["remedy"], queue_names),
        reason=WHY_NOT.get(row.get("reason", ""), ""),
        lab=row["lab"] if lab is not None else "",
        lab_title=str(_(lab.title)) if lab is not None else "",
        incident=row["incident"] if incident is not None else "",
        incident_title=str(_(incident.title)) if incident is not None else "",
        event=row["event"],
        consequences=consequences,
    )


def _subject(row: FindingRow, queue_names: dict[str, str]) -> str:
    name = queue_names.get(row["subject"], row["subject"]) if row["kind"] == "queue" else row["subject"]
    return " · ".join(dict.fromkeys(part for part in (row["group"], row["topic"], name) if part))


def _board(row: FindingRow) -> str:
    where = {"group": row["group"], "topic": row["topic"], "sel": row["subject"] if row["kind"] == "queue" else ""}
    return urlencode({name: value for name, value in where.items() if value}) if row["group"] else ""


def _remedy(row: FindingRow, remedy: RemedyRow, queue_names: dict[str, str]) -> RemedyView:
    does = remedy.get("does")  # none in a last state that an earlier version wrote
    return RemedyView(
        sentence_text(row["code"], remedy["label"], queue_names),
        remedy["action"],
        str(remedy["fields"].get("actor", "")),
        json.dumps({"action": remedy["action"], **remedy["fields"]}),
        sentence_text(row["code"], does, queue_names) if does else "",
    )


def _check(row: CheckRow) -> CheckView:
    return CheckView(HEALTHY[row["code"]], row["known"], row["all"], row["known"] == row["all"])


def line_of(board: Place, readings: Readings) -> Context:
    """Return the values of the Board's line."""
    return line(board, all_of(board, readings))


def line(board: Place, view: FindingsView) -> Context:
    """Return the worst finding of the Board's group and topic, the others, and those of the whole sandbox."""
    group = board.group()
    findings = of_board(view["findings"], group["group"] if group else None, board.topic(group))
    return {
        "finding": findings[0] if findings else None,
        "more_findings": findings[1:],
        "all_findings": view,
    }
