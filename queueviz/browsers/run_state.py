"""The run of one connected browser: which entry may come next, and what an honest browser would not send."""

from datetime import datetime

from queueviz.browsers.messages import CameMessage, TileMessage
from queueviz.courses.lite_models import LiteEntry, LiteRun
from queueviz.courses.lite_runs import MOST_ENTRIES, Entry, entry_of, receipt_of
from sandbox.control.rights import Actor, is_by

STUDENT = str(Actor("student", "student"))  # as a student's actions on the server are written
LATEST_MS = 2**53


class Elsewhere(Exception):
    """The run went on in another browser: it has other entries than this one."""


class RunState:
    """The newest state of a run, ahead of its row until `keep` has stored it.

    `receipts`: of all its entries, in order; the first `stored` of them may be sent to the browser.  `is_broken`: an
    entry was not stored, so no later one may be.
    """

    def __init__(self, run: LiteRun, receipts: list[str], due_at: datetime | None = None) -> None:
        self.run = run
        self.due_at = due_at
        self.receipts = receipts
        self.stored = len(receipts)
        self.is_broken = False

    @property
    def receipt(self) -> str:
        """The newest receipt, empty without any."""
        return self.receipts[-1] if self.receipts else ""

    def take(self, message: CameMessage, now: datetime) -> LiteEntry | None:
        """Return the row of a new entry, or None for one that was received before, or is one too many.

        Raises Elsewhere if the entry differs from the received one, or does not follow the newest one.
        """
        entry = Entry(
            message.n, message.turn, message.ms, message.at_ms, message.name, message.fields, self._by(message.by)
        )
        before = message.n - 1
        if before > len(self.receipts):
            raise Elsewhere
        receipt = receipt_of(self.receipts[before - 1] if before else "", entry)
        if before < len(self.receipts):
            if self.receipts[before] != receipt:
                raise Elsewhere
            return None
        if message.n > MOST_ENTRIES:
            self.note("entries")
            return None
        if self._is_late(message, now):
            self.note("late")
        if is_by(entry.by, "instructor") and not self.run.intervened:
            self.note("teacher")
        self.receipts.append(receipt)
        self.run.at_ms = max(self.run.at_ms, message.at_ms)
        return entry_of(self.run, entry, receipt, now)

    def note_teacher(self) -> None:
        """Note that entries in a teacher's name may follow."""
        self.run.intervened = True

    def see(self, message: TileMessage) -> None:
        """Keep the time and the teacher's hold, from which the run goes on in another browser."""
        run = self.run
        run.at_ms, run.hold = max(run.at_ms, min(message.tile["at_ms"], LATEST_MS)), message.hold or None

    def _by(self, by: str) -> str:
        """Return the actor: only a teacher's or the student's name can be in the run of a browser."""
        if by == STUDENT or is_by(by, "instructor"):
            return by
        self.note("actor")
        return STUDENT

    def _is_late(self, message: CameMessage, now: datetime) -> bool:
        return self.due_at is not None and now > self.due_at and message.name == "AnswerStep"

    def note(self, kind: str) -> None:
        """Count what an honest browser would not send; the proof names it."""
        self.run.odd = {**self.run.odd, kind: self.run.odd.get(kind, 0) + 1}
