"""Texts of the Messages pages: the state of a message in a group, and the reason why a message is missing."""

from __future__ import annotations

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from queueviz.texts import Text, Texts

Signs = dict[str | None, tuple[str, Text, str]]  # by code; None: not ended

STATES: Signs = {  # sign, word, tone
    "committed": ("✓", _("offset committed past the message"), "ok"),
    "finished": ("◐", _("done, commit pending"), "warn"),
    "finished_ahead": ("◐", _("done, but an older message is not"), "warn"),
    "processing": ("▶", _("being processed"), "move"),
    "buffered": ("▤", _("buffered in the member"), "move"),
    "pulled": ("▽", _("pulled; its processing is not reported"), "plain"),
    "passed_over": ("∅", _("skipped by the pull: not delivered"), "plain"),
    "waiting": ("…", _("not pulled yet"), "plain"),
    "delayed": ("↻", _("waits for its retry"), "warn"),
    "dead_letter": ("✕", _("dead letter"), "bad"),
    "no_offset": ("–", _("no offset in this queue yet"), "plain"),
    "unknown": ("?", _("not reported"), "plain"),
}

COPYING: Texts = {
    "message.copied": _("Copied"),
    "message.not_copied": _("The browser did not allow copying."),
}

STEPS: Texts = {
    "born": _("created by its producer"),
    "stored": _("stored"),
    "half": _("stored as a half message"),
    "delayed": _("scheduled for later"),
    "retry": _("stored again for a retry"),
    "dead_letter": _("stored as a dead letter"),
    "pulled": _("pulled"),
    "filtered": _("filtered by tag at the client"),
    "given": _("delivered to a listener"),
    "once": _("consumed once on request"),
}

OUTCOMES: Signs = {  # sign, word, tone
    "SUCCESS": ("✓", _("success"), "ok"),
    "LATER": ("↻", _("retry later"), "warn"),
    "FAILED": ("✕", _("failed"), "bad"),
    "TIMEOUT": ("✕", _("timed out"), "bad"),
    "IGNORED": ("∅", _("result ignored: the queue was released"), "plain"),
    "INTERRUPTED": ("✕", _("interrupted: the member's process ended"), "bad"),
    None: ("▶", _("still processing"), "move"),
    "CR_SUCCESS": ("✓", _("success"), "ok"),
    "CR_LATER": ("↻", _("retry later"), "warn"),
    "CR_THROW_EXCEPTION": ("✕", _("failed"), "bad"),
}

WORDS: Texts = {
    "body.binary": _("binary, {size}"),
    "body.empty": _("empty"),
}

WHY: Texts = {
    "not_indexed": _(
        "No running broker has a message with this unique key. It is not an offset ID either: these have 32 "
        "hexadecimal digits (56 with IPv6), the broker's address and the log position."
    ),
    "other_broker": _(
        "No message here has this unique key. As an offset ID, it points to a broker at {address}. Brokers here: "
        "{known}."
    ),
    "broker_down": _("{broker} stored this message and is not running."),
    "deleted": _("Position {physical_offset} was in a log file that {broker} deleted. Its log now begins at {low}."),
    "beyond_end": _("The log of {broker} ends at {high}, before position {physical_offset}."),
    "no_record": _("Position {physical_offset} of {broker} is not the start of a record."),
}

FLAGS: Texts = {
    "compressed": _("compressed"),
    "multi_tags": _("several tags"),
    "half": _("half message"),
    "committed": _("of a committed transaction"),
    "rolled_back": _("of a rolled back transaction"),
    "born_host_v6": _("producer with IPv6"),
    "store_host_v6": _("broker with IPv6"),
}


class SignWord(TypedDict):
    """The sign, the word and the tone of a code, for templates."""

    sign: str
    word: Text
    tone: str


def sign_word(table: Signs, code: str | None) -> SignWord:
    """Return sign and word of a code; an unknown code stays as it is."""
    sign, word, tone = table.get(code, ("·", code or "", "plain"))
    return {"sign": sign, "word": word, "tone": tone}


def message_words() -> dict[str, str]:
    """Return the texts for the Messages page's JavaScript, ready for JSON."""
    return {
        **{key: str(text) for key, text in WORDS.items()},
        "messages.held": str(_("{n} more, paused while you are here")),
        "messages.time": str(_("Not a date and time: {value}. Example: 2026-11-20 10:42:17, in UTC.")),
    }
