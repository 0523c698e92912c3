"""Findings of a group over time, from the facts `FindingOpened` and `FindingClosed` of the journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from queueviz.boards.finding_texts import title_text
from sandbox.journal.event_filter import EventFilter, Row, Term

FINDINGS = EventFilter("told", (Term("finding"),))
"""The facts to search for; some events with other names match, too."""


class Band(NamedTuple):
    """The time of one finding.  `until_ms` None: it is open.  `key`: as in `bands.js`."""

    key: str
    word: str
    since_ms: int
    until_ms: int | None
    seq: str  # of the fact that opened it, else of the one that closed it


def bands_of(facts: Iterable[Row], group: str, queue_names: Mapping[str, str]) -> list[Band]:
    """Return the bands of a group and of the whole cluster, the oldest first.

    A finding that another one explains, or of severity info, has no band: the same rule as in the live chart.

    Args:
        facts: of the journal, the oldest first; the older ones may be missing.
        queue_names: short names by row, `q3` for `broker-a:3`.
    """
    open_bands: dict[str, Band] = {}
    left_out: set[str] = set()
    closed: list[Band] = []
    for fact in facts:
        if fact["type"] not in ("FindingOpened", "FindingClosed") or fact["group"] not in ("", group):
            continue
        key = "/".join(str(fact[name]) for name in ("code", "kind", "subject", "group", "topic"))
        word, at_ms = title_text(fact["code"], fact["kind"], fact["subject"], queue_names), int(fact["at_ms"])
        before = open_bands.pop(key, None)
        if fact["type"] == "FindingClosed":
            since_ms = at_ms - int(fact["lasted_ms"])
            band = before or Band(key, word, since_ms, None, str(fact["seq"]))
            if key not in left_out:
                closed.append(band._replace(until_ms=at_ms))
            left_out.discard(key)
        elif fact["severity"] == "info" or fact["because_of"]:
            left_out.add(key)
        else:
            since_ms = int(fact["since_ms"])
            if before is not None:  # its end was not recorded: the server was killed
                closed.append(before._replace(until_ms=max(before.since_ms, since_ms)))
            open_bands[key] = Band(key, word, since_ms, None, str(fact["seq"]))
    return sorted([*closed, *open_bands.values()], key=lambda band: (band.since_ms, band.key))
