"""Marks texts for translation.  Text and values travel apart; the site joins them in the reader's language."""


def _(text: str) -> str:
    return text
