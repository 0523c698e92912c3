"""A finding in English, for commands, notebooks, the API and logs; pages translate its sentences themselves."""

from collections.abc import Iterator, Mapping

from sandbox.findings.all_rules import BY_CODE
from sandbox.findings.figures import BESIDE, COLUMNS
from sandbox.findings.finding import Finding, Said
from sandbox.kernel.sentences import Plural
from sandbox.queries.rows.findings import FigureTable

UNKNOWN = "–"
MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000


def text_of(finding: Finding, labels: Mapping[str, str]) -> str:
    """Return its sentences.  `labels`: the names of members, by their row keys."""
    return " ".join(sentence_of(finding.code, sentence, labels) for sentence in finding.says)


def sentence_of(code: str, row: Said, labels: Mapping[str, str]) -> str:
    sentence = BY_CODE[code].sentences[row.sentence]
    if isinstance(sentence, Plural):
        sentence = sentence.one if row.values[sentence.by] == 1 else sentence.many
    return sentence.format(**{name: _shown(name, value, labels) for name, value in row.values.items()})


def _shown(name: str, value: object, labels: Mapping[str, str]) -> str:
    if name == "who":
        return labels.get(str(value), str(value))
    if name.endswith("_ms") and isinstance(value, int):
        return duration(value)
    if isinstance(value, float):
        return f"{value:,.1f}".removesuffix(".0")
    return f"{value:,}" if isinstance(value, int) else str(value)


def figure_lines(table: FigureTable) -> Iterator[str]:
    """Yield the rows of a table with their names of columns, then the values beside it."""
    needed = {"needed": table["beside"].get("needed", UNKNOWN)}
    for row in (*(row["values"] for row in table["rows"]), table["total"]):
        yield ", ".join(f"{COLUMNS[name].format(**needed)} {_cell(name, value)}" for name, value in row.items())
    yield ", ".join(f"{BESIDE[name]} {_cell(name, value)}" for name, value in table["beside"].items())


def _cell(name: str, value: object) -> str:
    if isinstance(value, list):
        return " / ".join(_cell(name, each) for each in value[: 1 if value[1] is None else 2])
    return UNKNOWN if value is None else "none" if value == "" else _shown(name, value, {})


def duration(ms: int) -> str:
    """Return a duration in its largest unit.

    >>> duration(400), duration(23_400), duration(240_000), duration(5_400_000)
    ('0.4 s', '23 s', '4 min', '1.5 h')
    """
    for unit_ms, unit in ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min")):
        if ms >= unit_ms:
            return f"{ms / unit_ms:.1f}".removesuffix(".0") + f" {unit}"
    return f"{ms / 1000:.1f} s" if ms < 1_000 else f"{ms // 1000} s"
