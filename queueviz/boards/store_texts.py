"""Texts for the Store page's JavaScript."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from queueviz.texts import Texts

WORDS: Texts = {
    "store.span": _("The log from {min} to {max}: flushed to {flushed}, messages in memory from {memory}"),
    "store.deleted": _("deleted"),
    "store.min": _("min"),
    "store.flushed": _("flushed"),
    "store.replicated": _("replicated"),
    "store.memory": _("in memory from here"),
    "store.max": _("max"),
    "store.ok": _("ok"),
    "store.full": _("full"),
    "store.failing": _("failing"),
}


def store_words() -> dict[str, str]:
    """Return the texts for the Store page's JavaScript, ready for JSON."""
    return {key: str(text) for key, text in WORDS.items()}
