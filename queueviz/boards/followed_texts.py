"""Consequences of an action, in the reader's language."""

from __future__ import annotations

from queueviz.boards.counted import Counted, translated
from queueviz.boards.finding_texts import filled
from queueviz.texts import Text
from sandbox.queries.rows.followed import SENTENCES, Followed

TEXTS: dict[str, Text | Counted] = {name: translated(sentence) for name, sentence in SENTENCES.items()}


def followed_text(answer: Followed) -> str:
    """Return the sentences of an answer to `what-followed`."""
    return " ".join(filled(TEXTS[row["sentence"]], row["values"], {}) for row in answer["sentences"])
