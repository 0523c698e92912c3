"""Sentences for the actions in the journal's `ActionTaken`, in the reader's language.

The page adds the actor: "…, by owner".
"""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from queueviz.boards.counted import CountedTexts, translated
from queueviz.texts import Texts
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
