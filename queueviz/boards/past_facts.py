"""The search of the journal for the findings that were open at a past event."""

from typing import NamedTuple

from sandbox.control.readings import LookedBack
from sandbox.findings.recorded import WOKEN, Recorded, open_findings
from sandbox.journal.event_filter import EventFilter, Row

EVENT = EventFilter("all")
MOST_PAGES = 4
ROWS = 500  # of a page


class PastFindings(NamedTuple):
    """The findings open at an event.

    `at_ms`: time of the event, None if unknown.  `from_seq`: where the search ended too early, else None.
    """

    at: int
    at_ms: int | None
    recorded: Recorded
    from_seq: int | None


class FactSearch:
    """The facts up to event `at`, newest first: while `goes_on`, the caller reads a page before `before`."""

    def __init__(self, at: int, event: LookedBack) -> None:
        """`event`: a page of the event alone (`EVENT`, one row)."""
        self.at = at
        self.before: int | None = at + 1
        self._at_ms = event.rows[0]["at_ms"] if event.rows else None
        self._facts: list[Row] = []
        self._pages = 0

    @property
    def goes_on(self) -> bool:
        return self.before is not None and self._pages < MOST_PAGES

    def take(self, page: LookedBack) -> None:
        """Add a page; the search ends at the newest wake, because no finding outlives a sleep."""
        self._pages += 1
        self.before = page.before
        for fact in page.rows:
            self._facts.append(fact)
            if fact["type"] == WOKEN:
                self.before = None
                break

    @property
    def findings(self) -> PastFindings:
        return PastFindings(self.at, self._at_ms, open_findings(reversed(self._facts)), self.before)
