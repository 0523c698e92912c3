"""Sentences for the actions in the journal's `ActionTaken`, in the reader's language.

The page adds the actor: "…, by owner".
"""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from queueviz.boards.counted import Counted, CountedTexts, translated
from queueviz.boards.fact_texts import VALUES, VALUES_OF
from queueviz.templatetags.formats import UNKNOWN, duration, number
from queueviz.texts import Text, Texts
from sandbox.control.actions import BY_NAME

ACTIONS: CountedTexts = {
    f"{name}:{case}" if case else name: translated(sentence)
    for name, kind in BY_NAME.items()
    for case, sentence in kind.sentences().items()
}

ROLES: Texts = {
    "owner": _("owner"),
    "editor": _("editor"),
    "viewer": _("viewer"),
    "student": _("student"),
    "instructor": _("instructor"),
    "operator": _("operator"),
    "template": _("the template"),
    "token": _("a program"),
}


class _Values(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return UNKNOWN


def action_text(action: str, fields: Mapping[str, object]) -> str:
    """Return the sentence of an action with its values, as `words.js` does; without a sentence, its name."""
    sentence = _sentence_of(action, fields)
    if sentence is None:
        return action
    pattern = sentence.form(_count(fields.get(sentence.by))) if isinstance(sentence, Counted) else str(sentence)
    return pattern.format_map(_Values({name: _shown(name, value) for name, value in fields.items()}))


def _sentence_of(action: str, fields: Mapping[str, object]) -> Text | Counted | None:
    """Return the sentence of the case that the fields name, else the action's own."""
    for name, value in fields.items():
        case = str(value).lower() if isinstance(value, bool) else value
        sentence = ACTIONS.get(f"{action}:{name}={case}") or (
            ACTIONS.get(f"{action}:{name}") if value is not None else None
        )
        if sentence:
            return sentence
    return ACTIONS.get(action)


def _count(value: object) -> int:
    return len(value) if isinstance(value, list) else int(str(value or 0))


def _shown(name: str, value: object) -> str:
    if isinstance(value, list):
        return str(len(value))
    if name.endswith("_ms") and value is not None:
        return duration(str(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return number(value)
    if name in VALUES_OF:
        return str(VALUES.get(str(value), value))
    return UNKNOWN if value is None else str(value)
