"""Sentences declared next to the events and actions they describe; the site translates them and fills in the fields."""

from typing import NamedTuple


class Plural(NamedTuple):
    """Singular and plural of a sentence; field `by` is the number, or a list whose length counts."""

    by: str
    one: str
    many: str


Sentence = str | Plural


def forms_of(sentence: Sentence) -> tuple[str, ...]:
    return (sentence,) if isinstance(sentence, str) else (sentence.one, sentence.many)
