"""The sentences of findings in the reader's language."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from queueviz.boards.counted import Counted, translated
from queueviz.boards.fact_texts import VALUES
from queueviz.templatetags.formats import duration, number, rate
from queueviz.texts import Text
from sandbox.findings.all_rules import RULES
from sandbox.findings.reasons import REASONS
from sandbox.queries.rows.findings import SentenceRow

MOVING = {  # durations that go on while a page shows them
    **dict.fromkeys(("unfinished_ms", "failing_ms", "hung_ms", "silent_ms", "oldest_ms", "age_ms"), "since"),
    **dict.fromkeys(("left_ms", "next_ms", "removed_ms", "gone_ms"), "until"),
}
VALUES_OF = ("state", "limit", "disk", "why")  # values that hold a word of `VALUES`

SENTENCES: dict[str, Text | Counted] = {
    f"{rule.code}.{name}": translated(sentence) for rule in RULES for name, sentence in rule.sentences.items()
}
TITLES: dict[str, Text] = {rule.code: _(rule.title) for rule in RULES}
WHY_NOT: dict[str, Text] = {name: _(text) for name, text in REASONS.items()}
TITLE_OF = _("{subject}: {code}")
HEALTHY: dict[str, Text] = {rule.code: _(rule.healthy) for rule in RULES}


def title_text(code: str, kind: str, subject: str, queue_names: Mapping[str, str]) -> str:
    """Return the name of a finding; of one that is not about a group, with its subject (`words.js`)."""
    title = str(TITLES.get(code, code))
    shown = queue_names.get(subject, subject) if kind == "queue" else subject
    return title if kind == "group" else str(TITLE_OF).format(subject=shown, code=title)


def sentence_text(code: str, row: SentenceRow, queue_names: Mapping[str, str], at_ms: int | None = None) -> str:
    """Return a sentence with its values.  `queue_names`: short names by row, `q3` for `broker-a:3`.

    `at_ms`: time of the values; with it durations are HTML that a page counts on (`moving_duration`).  Empty: this
    version has no such sentence, because another one wrote the last state of a sandbox.
    """
    try:
        return filled(SENTENCES[f"{code}.{row['sentence']}"], row["values"], queue_names, at_ms)
    except KeyError:
        return ""


def filled(
    text: Text | Counted, values: Mapping[str, object], queue_names: Mapping[str, str], at_ms: int | None = None
) -> str:
    """Return a sentence with its values as a reader sees them: durations, numbers, short names of queues."""
    pattern = text.form(int(str(values[text.by]))) if isinstance(text, Counted) else str(text)
    shown = {name: _shown(name, value, queue_names, at_ms) for name, value in values.items()}
    return pattern.format(**shown) if at_ms is None else format_html(pattern, **shown)


def moving_duration(name: str, ms: object, at_ms: int | None) -> str:
    """Return a duration with the time from or to which it counts, for `finding_pace.js`; others as text.

    What is left is rounded up to seconds, as on the cards.
    """
    how = MOVING.get(name)
    if how is None or not isinstance(ms, int):
        return duration(str(ms))
    shown = duration(-(-ms // 1000) * 1000 if how == "until" else ms)
    if at_ms is None:
        return shown
    return format_html('<span data-{}="{}">{}</span>', how, at_ms - ms if how == "since" else at_ms + ms, shown)


def _shown(name: str, value: object, queue_names: Mapping[str, str], at_ms: int | None) -> str:
    if name.endswith("_ms"):
        return moving_duration(name, value, at_ms)
    if name == "queue":
        return queue_names.get(str(value), str(value))
    if name == "names":
        return ", ".join(queue_names.get(queue, queue) for queue in str(value).split(", "))
    if name in VALUES_OF:
        return str(VALUES.get(str(value), value))
    if isinstance(value, float):
        return rate(value)
    return number(value) if isinstance(value, int) or str(value).isdecimal() else str(value)
