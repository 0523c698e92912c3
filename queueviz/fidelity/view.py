"""Rows of the ledger as the page shows them: translated, filtered, with links to the pages that show each claim."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote

from django.utils.translation import gettext_lazy as _

from queueviz.boards.registry import BOARDS
from queueviz.fidelity.ledger import SAME, Claim, Ledger

LONGEST_SEARCH = 80  # characters of a search that are looked at
SECTIONS = (
    ("0", _("Offset management")),
    ("1", _("Consumer side")),
    ("2", _("Notes on offset stores")),
    ("3", _("Concepts and working principles")),
    ("4", _("Consumer source code")),
    ("D", _("Differences between articles and code")),
)
PLACES = {  # where a claim is seen → what its page is called; the paths are the boards'
    "board": _("Board"),
    "locks": _("Locks"),
    "index": _("Index"),
    "reset": _("Reset"),
    "topics": _("Topics"),
    "journal": _("Journal"),
    "settings": _("Settings"),
    "client": _("Client"),
    "wire": _("Wire"),
    "topology": _("Topology"),
    "rebalance": _("Rebalance"),
    "store": _("Store"),
    "messages": _("Messages"),
}


class Values(NamedTuple):
    """The article's value and the code's value, with the difference they belong to."""

    difference: str  # D6, or empty for a claim's own values
    article: str
    code: str


class Row(NamedTuple):
    row: str
    claim: str
    values: list[Values]
    rocketmq: str
    source: str
    ours: str
    is_same: bool
    places: list[tuple[object, str | None]]  # title, and the address where there is such a page
    concerned: list[str]  # of a difference: the claims it belongs to


class Section(NamedTuple):
    name: str
    title: object
    rows: list[Row]


@dataclass(frozen=True)
class Shown:
    sections: list[Section]
    count: int
    of: int


def shown(
    rows: Ledger, language: str, *, slug: str | None, search: str = "", section: str = "", differing: bool = False
) -> Shown:
    """Return the rows that contain every word of `search`, in the reader's language or in English, by section.

    `slug`: the sandbox to link to.  `differing`: only claims with a difference.
    """
    words = search[:LONGEST_SEARCH].casefold().split()
    sections = []
    for name, title in SECTIONS:
        if section in ("", name):
            kept = [claim for claim in rows.section(name) if not differing or claim.has_values or claim.differs]
            made = [_row(rows, claim, language, slug) for claim in kept if _has(claim, words)]
            if made:
                sections.append(Section(name, title, made))
    return Shown(sections, sum(len(section.rows) for section in sections), len(rows))


def values_of(rows: Ledger, differences: Iterable[str], language: str) -> list[Values]:
    return [
        Values(name, rows[name].said("seed_value", language), rows[name].said("code_value", language))
        for name in differences
    ]


def seen_at(rows: Ledger, board: str) -> list[str]:
    """Return the rows of the differences whose values the page `board` shows."""
    return [claim.row for claim in rows.section("D") if board in claim.where]


def _row(rows: Ledger, claim: Claim, language: str, slug: str | None) -> Row:
    own = [Values("", claim.said("seed_value", language), claim.said("code_value", language))]
    return Row(
        claim.row,
        claim.said("claim", language),
        [*(own if claim.has_values else ()), *values_of(rows, claim.differs, language)],
        claim.said("rocketmq", language),
        claim.source,
        claim.said("ours", language),
        claim.ours == SAME,
        [(PLACES[board], _address(board, slug)) for board in claim.where],
        rows.concerned(claim.row) if claim.section == "D" else [],
    )


def _address(board: str, slug: str | None) -> str | None:
    """Return the link to a page of the sandbox that shows a claim.  None without a sandbox.

    A client's page needs a client in its address, so its link leads to the Board.
    """
    if slug is None or board not in BOARDS:
        return None
    return f"/s/{quote(slug)}/" + ("" if board in ("board", "client") else BOARDS[board].path)


def _has(claim: Claim, words: list[str]) -> bool:
    text: list[Any] = [
        claim.row,
        *claim.differs,
        claim.claim,
        claim.claim_zh,
        claim.rocketmq,
        claim.rocketmq_zh,
        claim.source,
        claim.ours,
        claim.ours_zh,
        claim.seed_value,
        claim.seed_value_zh,
        claim.code_value,
        claim.code_value_zh,
    ]
    whole = "\n".join(text).casefold()
    return all(word in whole for word in words)
