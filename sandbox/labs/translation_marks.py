"""Marks of texts for translation.

Text and values are passed separately; the site formats them in the reader's language.
"""


def _(text: str) -> str:
    return text
