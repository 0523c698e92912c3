"""Texts about members of one group whose subscriptions differ: the differences, and each subscription.

Twin of static/queueviz/js/member_words.js.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from queueviz.templatetags.formats import number
from queueviz.texts import Texts
from sandbox.queries.rows.member_words import EXPRESSIONS, LISTENER, MODEL, TOPICS, MemberWords, NamedWords

DIFFER: Texts = {
    "differ.head": _("Subscriptions of the members differ: {what}"),
    "differ.topics": _("subscribed topics"),
    "differ.expressions": _("tags"),
    "differ.model": _("message model"),
    "differ.listener": _("listener"),
    "differ.unknown": _("subscription not reported"),
    "differ.CLUSTERING": _("clustering"),
    "differ.BROADCASTING": _("broadcasting"),
    "differ.concurrent": _("concurrent"),
    "differ.orderly": _("orderly"),
    "differ.dropped": _("{n} dropped by its client"),
    "differ.dropped_unknown": _("its client dropped an unknown number"),
    "differ.passed_over": _("{n} filtered by brokers"),
    "differ.shared": _("Several connections use client ID {ids}: all get the same queues, other queues have no reader"),
    "differ.same_id": _("one of {n} connections with this client ID"),
}


class Differing(TypedDict):
    """The differences between members of a group, from a board's header or a row of the Groups page."""

    shared_ids: list[str]
    members_differ: list[str]


def differ_text(row: Differing) -> str:
    """Return the sentence on these differences, for a board's header or a row of the Groups page.

    It is empty if all members have the same subscriptions and different client ids.
    """
    differ, shared = row.get("members_differ"), row.get("shared_ids")
    parts = [str(DIFFER["differ.shared"]).format(ids=", ".join(shared))] if shared else []
    parts += (
        [str(DIFFER["differ.head"]).format(what=", ".join(str(DIFFER[f"differ.{what}"]) for what in differ))]
        if differ
        else []
    )
    return "; ".join(parts)


def words_text(words: MemberWords, differ: Sequence[str]) -> str:
    """Return a member's subscriptions as text, such as `orders TagA, 20 dropped by its client`.

    Listener and model appear only if members differ in them.
    """
    subscriptions = words.get("subscriptions")
    parts = (
        [str(DIFFER["differ.unknown"])]
        if subscriptions is None
        else [f"{sub['topic']} {sub['expression'] or '*'}" for sub in subscriptions]
    )
    apart = ((MODEL, words.get("model")), (LISTENER, words.get("listener")))
    parts += [str(DIFFER[f"differ.{value}"]) for what, value in apart if what in differ and value]
    if {TOPICS, EXPRESSIONS} & set(differ):
        parts += _counts(words)
    return ", ".join(parts)


def group_words(members: Sequence[NamedWords], differ: Sequence[str]) -> str:
    """Return the subscriptions of a group's members as text, one line per member."""
    return "\n".join(f"{member['actor'] or member['client_id']}: {words_text(member, differ)}" for member in members)


def _counts(words: MemberWords) -> list[str]:
    dropped, passed_over = words.get("dropped"), words.get("passed_over")
    counts = [str(DIFFER["differ.dropped_unknown"])] if dropped is None else []
    counts += [str(DIFFER["differ.dropped"]).format(n=number(dropped))] if dropped else []
    return counts + ([str(DIFFER["differ.passed_over"]).format(n=number(passed_over))] if passed_over else [])
