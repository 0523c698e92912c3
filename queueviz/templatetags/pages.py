"""Template tags for all pages: tabs, hashed third-party scripts, access to dictionaries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import TypedDict

from django import template
from django.conf import settings
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from queueviz.boards.counted import Counted, CountedTexts
from queueviz.boards.fact_texts import VALUES
from queueviz.boards.followed_texts import followed_text
from queueviz.boards.page import BoardPage
from queueviz.boards.registry import BOARDS, TABS
from queueviz.boards.reset_plan import Preview, shown
from queueviz.operations.module_graph import imported
from queueviz.templatetags.formats import number
from sandbox.queries.rows.followed import Followed
from sandbox.queries.rows.plans import ResetPlanAnswer
from sandbox.queries.rows.walks import IndexWalk, WalkedFile, WalkEnd, WalkStep

register = template.Library()

OTHER_ACTIONS = {
    "CrashActor": _("crash it"),
    "StopActor": _("stop it cleanly"),
    "HangActor": _("let it hang"),
    "KillBroker": _("kill it"),
    "StopBroker": _("shut it down"),
    "PowerCut": _("cut its power"),
}


@register.simple_tag
def tabs(attached: object = False) -> tuple[BoardPage, ...]:
    """Return the views in the navigation; for a real cluster, only those it supports.

    Groups of a sandbox are few: What is wrong lists them, and leads to their page.
    """
    return tuple(tab for tab in TABS if (BOARDS[tab.name].attached if attached else tab.name != "groups"))


@register.simple_tag
def speeds() -> tuple[tuple[float, str], ...]:
    """Return the clock rates on the transport bar, with their labels."""
    return ((0.25, "¼×"), (1, "1×"), (4, "4×"), (20, "20×"))


@register.simple_tag
def other_action(name: str) -> str:
    """Return the words for an action that replaces another one."""
    return str(OTHER_ACTIONS[name])


@register.simple_tag
def followed(answer: Followed) -> str:
    """Return what followed an action, in words."""
    return followed_text(answer)


@register.filter
def get(mapping: Mapping[str, object] | None, key: str) -> object:
    return (mapping or {}).get(key)


@register.simple_tag
def vendor_script(package: str, name: str) -> SafeString:
    """Return the script element of a third-party file, with version, hash and integrity attribute."""
    entry = _vendored()[package, name]
    return format_html(
        '<script src="{}" integrity="{}" defer></script>', static(f"vendor/{entry['file']}"), entry["integrity"]
    )


@register.simple_tag
def vendor_url(package: str, name: str) -> str:
    return static(f"vendor/{_vendored()[package, name]['file']}")


@register.simple_tag
def page_script(name: str) -> SafeString:
    """Return the script element of a page's module, with a preload link for each module it imports.

    So the browser requests all of them at once.
    """
    links = ((static(f"queueviz/js/{module}"),) for module in imported(name))
    return format_html(
        '{}\n<script type="module" src="{}"></script>',
        format_html_join("\n", '<link rel="modulepreload" href="{}">', links),
        static(f"queueviz/js/{name}"),
    )


@cache
def _vendored() -> dict[tuple[str, str], dict[str, str]]:
    listing = json.loads((settings.SITE / "static" / "vendor" / "VENDOR.json").read_text())
    return {(entry["package"], entry["file"].rsplit("/", 1)[-1]): entry for entry in listing}


@register.filter
def word(value: object) -> object:
    """Return the translated word for a state or reason; a name stays as it is."""
    return VALUES.get(str(value), value)


@register.filter
def to_json(value: object) -> str:
    """Return the value as JSON for a data attribute.  The template escapes the quotes."""
    return json.dumps(value, default=str)


@register.simple_tag
def reset_plan(answer: ResetPlanAnswer) -> Preview:
    return shown(answer)


class WalkedStation(WalkedFile):
    """One file of a walk, with the values the drawing needs."""

    window: range  # of slots
    tested: list[WalkStep]
    matches: list[WalkStep]


class Walk(TypedDict):
    """The stations of an index walk."""

    files: list[WalkedStation]
    negative: bool  # the hash


@register.simple_tag
def walk(answer: IndexWalk) -> Walk:
    """Return the stations of an index walk, with the values that the drawing needs."""
    files: list[WalkedStation] = []
    for file in answer.get("files", ()):
        chain = list(file.get("chain") or ())
        slot, slots = file.get("slot") or 0, file.get("slots") or 1
        first = max(0, min(slot - 3, slots - 7))
        tested = [entry for entry in chain if entry["verdict"] in ("match", "other_key")]
        files.append(
            {
                **file,
                "chain": chain,
                "window": range(first, min(slots, first + 7)),
                "tested": tested,
                "matches": [entry for entry in tested if entry["verdict"] == "match"],
            }
        )
    return {"files": files, "negative": int(answer.get("hash_signed") or 0) < 0}


VERDICTS = {
    "match": _("key matches"),
    "other_key": _("same hash, other key"),
    "other_hash": _("other hash"),
    "too_old": _("older than requested"),
    "too_new": _("newer than requested"),
}
ENDS: CountedTexts = {
    "slot_empty": _("Nothing found: slot {slot} is empty"),
    "only_other_hashes": Counted(
        lambda n: ngettext(
            "Nothing found: the chain holds {entries} entry, with another hash",
            "Nothing found: the chain holds {entries} entries, all with another hash",
            n,
        ),
        "entries",
    ),
    "only_collisions": _("Nothing found: the same hash, but other keys"),
    "left_window": Counted(
        lambda n: ngettext(
            "Nothing found: the chain left the time window after {entries} entry",
            "Nothing found: the chain left the time window after {entries} entries",
            n,
        ),
        "entries",
    ),
    "not_dispatched": _("Nothing found: a message still waits for dispatch"),
    "no_file_in_range": _("Nothing found: no index file covers this time window"),
    "no_files": _("Nothing found: no index file exists yet"),
}


@register.simple_tag
def verdict(code: str) -> object:
    return VERDICTS.get(code, code)


@register.simple_tag
def walk_end(ended: WalkEnd | None) -> str:
    """Return a sentence on the end of the walk: the last station, and the reason."""
    code, values = (str(ended["code"]), ended.get("values") or {}) if ended else ("", {})
    sentence = ENDS.get(code, _("Nothing found"))
    text = sentence.form(int(values[sentence.by] or 0)) if isinstance(sentence, Counted) else str(sentence)
    return text.format_map({name: number(value) for name, value in values.items()} | _Missing())


class _Missing(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return number(None)


TEMPLATES = {
    "empty": _("one name server and one broker only"),
    "replicas": _("a master with its slave, and another master only"),
    "flights": _("a year of flights at 600 times their speed, consumed by two groups"),
    "orders": _("two brokers, eight queues, three concurrent consumers"),
    "payments": _("orderly consumers and their queue locks"),
    "cluster": _("two name servers, a master with its slave, another master"),
    "shrink": _("reduction from sixteen queues to eight"),
    "index": _("two hundred messages with keys, two of them colliding"),
    "retries": _("one delivery in five fails; one key always does"),
}


@register.simple_tag
def template_text(name: str) -> object:
    return TEMPLATES.get(name, "")
