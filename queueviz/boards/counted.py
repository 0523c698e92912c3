"""Sentences that depend on a number, for pages that fill them in the browser.

English and Chinese need at most two forms: one for 1, one for any other number.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from queueviz.texts import Text
from sandbox.kernel.sentences import Plural, Sentence


class Counted(NamedTuple):
    """A sentence with a form for each number.

    `form(n)` is an `ngettext`.  `by` names the field of the event that has the number (of a list, its length).
    """

    form: Callable[[int], str]
    by: str = "n"


CountedTexts = dict[str, Text | Counted]


def forms(text: Text | Counted) -> str | list[str]:
    """Return the text for JSON: one text, or a list with its two forms."""
    return [text.form(1), text.form(2)] if isinstance(text, Counted) else str(text)


def translated(sentence: Sentence) -> Text | Counted:
    """Return the translatable text of a sentence declared in the engine.  It is translated when it is shown."""
    if isinstance(sentence, Plural):
        return Counted(partial(ngettext, sentence.one, sentence.many), sentence.by)
    return _(sentence)
