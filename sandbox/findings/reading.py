"""Open findings as rows of the channel `findings/<slug>`."""

from collections.abc import Mapping, Sequence

from sandbox.findings.english import text_of
from sandbox.findings.figures import WHO, Figures, Values
from sandbox.findings.finding import INFO, MEMBER, Finding, Remedy, Said, Subject
from sandbox.findings.rule import Rule
from sandbox.findings.tracker import Key, OpenFinding
from sandbox.findings.view import ClusterView
from sandbox.queries.rows.findings import FigureTable, FindingMark, FindingRow, Findings, RemedyRow, SentenceRow


def rows_of(shown: Sequence[OpenFinding], view: ClusterView | None, rules: Sequence[Rule]) -> Findings:
    if view is None:
        return {"at_ms": None, "began_ms": None, "findings": [], "checks": [], "groups": 0, "topics": 0, "brokers": 0}
    open_codes = {each.finding.code for each in shown}
    by_code = {rule.code: rule for rule in rules}
    checked = [(rule.code, rule.checks(view)) for rule in rules if rule.code not in open_codes]
    return {
        "at_ms": view.at_ms,
        "began_ms": view.history.began_ms,
        "findings": finding_rows(shown, view.labels, by_code),
        "checks": [{"code": code, "known": check.known, "all": check.all} for code, check in checked],
        "groups": len(view.groups),
        "topics": sum(row["kind"] == "normal" for row in view.topics.values()),
        "brokers": len({row["broker"] for row in view.brokers.values()}),
    }


def finding_rows(
    shown: Sequence[OpenFinding], labels: Mapping[str, str], by_code: Mapping[str, Rule]
) -> list[FindingRow]:
    """Return the rows, each consequence after its cause."""
    return _causes_first(
        [_row(each.finding, each.since_ms, each.because_of, by_code[each.finding.code], labels) for each in shown]
    )


def mark_of(shown: Sequence[OpenFinding], view: ClusterView | None, group: str | None = None) -> FindingMark | None:
    """Return the worst error or warning that no other explains: of a group, or of the whole cluster."""
    for each in shown:
        finding = each.finding
        if finding.severity == INFO or each.because_of is not None:
            continue
        if group is None or f"group {group}" in finding.touches:
            labels = {} if view is None else view.labels
            return {
                "code": finding.code,
                "severity": finding.severity,
                "subject": name_of(finding.subject, labels),
            }
    return None


def key_of(key: Key) -> str:
    """Return a key as text: `offset_pinned/queue/broker-a:3/svc/orders`."""
    code, subject = key
    return "/".join((code, subject.kind, subject.name, subject.group, subject.topic)).rstrip("/")


def name_of(subject: Subject, labels: Mapping[str, str]) -> str:
    return labels.get(subject.name, subject.name) if subject.kind == MEMBER else subject.name


def _row(finding: Finding, since_ms: int, because_of: Key | None, rule: Rule, labels: Mapping[str, str]) -> FindingRow:
    return {
        "key": key_of(finding.key),
        "code": finding.code,
        "severity": finding.severity,
        "kind": finding.subject.kind,
        "subject": name_of(finding.subject, labels),
        "group": finding.subject.group,
        "topic": finding.subject.topic,
        "since_ms": since_ms,
        "text": text_of(finding, labels),
        "says": sentences_of(finding, labels),
        "why": None if finding.figures is None else _table(finding.figures, labels),
        "marks": list(finding.marks),
        "because_of": None if because_of is None else key_of(because_of),
        "remedy": None if finding.remedy is None else _remedy(finding.remedy, labels),
        "reason": finding.reason,
        "lab": rule.lab,
        "incident": rule.incident,
        "event": finding.event,
    }


def sentences_of(finding: Finding, labels: Mapping[str, str]) -> list[SentenceRow]:
    """Return the sentences with the labels of members in place of their row keys."""
    return [_sentence(sentence, labels) for sentence in finding.says]


def _sentence(sentence: Said, labels: Mapping[str, str]) -> SentenceRow:
    return {
        "sentence": sentence.sentence,
        "values": {
            name: labels.get(str(value), value) if name == "who" else value for name, value in sentence.values.items()
        },
    }


def _table(table: Figures, labels: Mapping[str, str]) -> FigureTable:
    return {
        "rows": [{"values": _values(row.values, labels), "mark": row.mark, "about": row.about} for row in table.rows],
        "total": _values(table.total, labels),
        "beside": _values(table.beside, labels),
        "left_out": table.left_out,
        "window_ms": table.window_ms,
    }


def _values(values: Values, labels: Mapping[str, str]) -> dict[str, object]:
    return {
        name: labels.get(str(value), value) if name in WHO else list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
    }


def _remedy(remedy: Remedy, labels: Mapping[str, str]) -> RemedyRow:
    values = {**remedy.fields, "who": remedy.fields.get("actor", "")}
    return {
        "label": {"sentence": remedy.label, "values": values},
        "action": remedy.action,
        "fields": dict(remedy.fields),
        "does": None if remedy.does is None else _sentence(remedy.does, labels),
    }


def _causes_first(rows: list[FindingRow]) -> list[FindingRow]:
    """Return the rows with each consequence after its cause."""
    consequences: dict[str, list[FindingRow]] = {}
    for row in rows:
        if row["because_of"] is not None:
            consequences.setdefault(row["because_of"], []).append(row)
    ordered: list[FindingRow] = []

    def add(row: FindingRow) -> None:
        if row not in ordered:
            ordered.append(row)
            for consequence in consequences.get(row["key"], ()):
                add(consequence)

    for row in rows:
        if row["because_of"] is None:
            add(row)
    for row in rows:  # causes in a circle: none of them is lost
        add(row)
    return ordered
