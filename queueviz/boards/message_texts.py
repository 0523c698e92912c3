"""Words of the Messages pages: the fate of a message, and the reason there is none."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

STATES: dict[str, Any] = {  # sign, word, tone
    "committed": ("✓", _("committed past it"), "ok"),
    "finished": ("◐", _("done, commit pending"), "warn"),
    "finished_ahead": ("◐", _("done before an older one"), "warn"),
    "processing": ("▶", _("being processed"), "move"),
    "buffered": ("▤", _("buffered in the member"), "move"),
    "pulled": ("▽", _("pulled; what it did with it is its own business"), "plain"),
    "passed_over": ("∅", _("pulled past: not given to it"), "plain"),
    "waiting": ("…", _("not pulled yet"), "plain"),
    "delayed": ("↻", _("waits to be tried again"), "warn"),
    "dead_letter": ("✕", _("dead letter"), "bad"),
    "no_offset": ("–", _("no place in this queue yet"), "plain"),
    "unknown": ("?", _("nobody knows"), "plain"),
}

STEPS: dict[str, Any] = {
    "born": _("made by its producer"),
    "stored": _("stored"),
    "half": _("stored as a half message"),
    "delayed": _("put off"),
    "retry": _("stored again to be retried"),
    "dead_letter": _("stored as a dead letter"),
    "pulled": _("pulled"),
    "filtered": _("dropped by text at the client"),
    "given": _("given to a listener"),
    "once": _("consumed once by order"),
}

OUTCOMES: dict[str | None, Any] = {  # sign, word, tone
    "SUCCESS": ("✓", _("success"), "ok"),
    "LATER": ("↻", _("wants it later"), "warn"),
    "FAILED": ("✕", _("failed"), "bad"),
    "TIMEOUT": ("✕", _("took too long"), "bad"),
    "IGNORED": ("∅", _("result ignored: the queue was given up"), "plain"),
    "INTERRUPTED": ("✕", _("cut short: its process ended"), "bad"),
    None: ("▶", _("still working"), "move"),
    "CR_SUCCESS": ("✓", _("success"), "ok"),
    "CR_LATER": ("↻", _("wants it later"), "warn"),
    "CR_THROW_EXCEPTION": ("✕", _("failed"), "bad"),
}

WORDS: dict[str, Any] = {
    "body.binary": _("binary, {size}"),
    "body.empty": _("empty"),
}

WHY: dict[str, Any] = {
    "not_indexed": _(
        "No broker that runs has a message with this unique key, and it is no offset id: those have 32 "
        "hexadecimal digits (56 with IPv6), the broker's address and the position in its log."
    ),
    "other_broker": _(
        "No message here has this unique key. Read as an offset id it names a broker at {address}; here are {known}."
    ),
    "broker_down": _("{broker}, which stored it, is not running."),
    "deleted": _("Position {physical_offset} was in a log file that {broker} has deleted: its log begins at {low}."),
    "beyond_end": _("The log of {broker} ends at {high}, before position {physical_offset}."),
    "no_record": _("No record begins at position {physical_offset} of {broker}."),
}

FLAGS: dict[str, Any] = {
    "compressed": _("compressed"),
    "multi_tags": _("several tags"),
    "half": _("half message"),
    "committed": _("of a committed transaction"),
    "rolled_back": _("of a rolled back transaction"),
    "born_host_v6": _("producer with IPv6"),
    "store_host_v6": _("broker with IPv6"),
}


class SignWord(dict[str, Any]):
    """{"sign", "word", "tone"} for a template."""


def sign_word(table: dict[Any, Any], code: str | None) -> SignWord:
    """Return sign and word of a code; an unknown code stays as it is."""
    sign, word, tone = table.get(code, ("·", code, "plain"))
    return SignWord(sign=sign, word=word, tone=tone)


def message_words() -> dict[str, str]:
    """Return the words of the moving page, ready for JSON."""
    return {
        **{key: str(text) for key, text in WORDS.items()},
        "messages.held": str(_("{n} more, held while you are here")),
        "messages.time": str(_("{value} is no time. Write it like 2026-11-20 10:42:17, in UTC.")),
    }
