"""Search terms of the journal: words in the reader's language, translated for the engine."""

from __future__ import annotations

import re

from queueviz.boards.action_texts import ACTIONS
from queueviz.boards.counted import Counted, forms
from queueviz.boards.fact_texts import FACTS, VALUES
from queueviz.texts import Text
from sandbox.journal.event_filter import Term

MOST_WORDS = 8

_FIELD = re.compile(r"\{\w+\}")


def terms_of(search: str) -> tuple[Term, ...]:
    """Return a search term for each word.

    A term has the word, and the kinds of events, actions and values whose sentences contain it.

    >>> [term.text for term in terms_of("Crash A")]
    ['crash', 'a']
    """
    return tuple(_term(word) for word in search.lower().split()[:MOST_WORDS])


def _term(word: str) -> Term:
    kinds = {name.partition(":")[0] for name, fact in FACTS.items() if _says(word, fact.word) or _says(word, fact.text)}
    actions = {name.partition(":")[0] for name, text in ACTIONS.items() if _says(word, text)}
    values = {value for value, label in VALUES.items() if _says(word, label)}
    return Term(word, frozenset(kinds), frozenset(values | actions))


def _says(word: str, text: Text | Counted) -> bool:
    labels = forms(text)
    return any(word in _FIELD.sub("", form).lower() for form in ([labels] if isinstance(labels, str) else labels))
