"""Sentences as declared beside what they describe; the site translates them and fills in the fields they name."""

from typing import NamedTuple


class Plural(NamedTuple):
    """Two forms of a sentence; field `by` counts, a list by its length."""

    by: str
    one: str
    many: str


Sentence = str | Plural


def forms_of(sentence: Sentence) -> tuple[str, ...]:
    return (sentence,) if isinstance(sentence, str) else (sentence.one, sentence.many)
