"""Consequences of an action, in the reader's language."""

from __future__ import annotations

from queueviz.boards.counted import Counted, translated
from queueviz.templatetags.formats import duration, number
from queueviz.texts import Text
from sandbox.queries.rows.followed import SENTENCES, Followed

TEXTS: dict[str, Text | Counted] = {name: translated(sentence) for name, sentence in SENTENCES.items()}


def followed_text(answer: Followed) -> str:
    """Return the sentences of an answer to `what-followed`."""
    return " ".join(_sentence(row["sentence"], row["values"]) for row in answer["sentences"])


def _sentence(name: str, values: dict[str, object]) -> str:
    text = TEXTS[name]
    pattern = text.form(int(str(values[text.by]))) if isinstance(text, Counted) else str(text)
    return pattern.format(**{key: _shown(key, value) for key, value in values.items()})


def _shown(key: str, value: object) -> str:
    return duration(str(value)) if key.endswith("_ms") else number(value) if isinstance(value, int) else str(value)
