"""Lab in progress in a cluster: evaluates the journal as it grows and records the steps that are met.

It depends on the journal's entries alone, not on timers or readers, so executing the actions again writes the same.
"""

from collections.abc import Iterable

from sandbox.cluster.cluster import Cluster
from sandbox.cluster.journal_files import DIRECTORY
from sandbox.control.actions import Action, AnswerStep, fields_of
from sandbox.journal.events import Entry, Event, LabFinished, StepMet
from sandbox.journal.schema import from_row
from sandbox.journal.segments import rows_since
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.attempt import Attempt
from sandbox.labs.catalogue import LABS

ALWAYS = frozenset({"StartLab", "AnswerStep", "TakeHint", "RestartLab", "SetRate", "Step"})


class LabProgress:
    """Progress of the current lab.  `attempt` is None if no lab was started.

    The record keeps where the attempt began and how many attempts there were.
    """

    @classmethod
    def beside(cls, cluster: Cluster) -> "LabProgress":
        return cls(cluster)

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._next = 0
        self._waits = False  # the turn that writes outcomes is called already
        self._left: list[Event] = []  # outcomes that a kill took from the journal
        self.attempt: Attempt | None = None

    def resume(self) -> None:
        """Rebuild the attempt after sleep, from the entries in the journal's files."""
        kept = self._cluster.record.lab
        if kept:
            self._cluster.journal_files.show()
            rows = rows_since(self._cluster.directory / DIRECTORY, kept["began"] + 1)
            self._fold(
                kept["lab"],
                kept["seed"],
                kept["attempts"][kept["lab"]],
                kept["began"],
                map(from_row, rows),
                exam=kept.get("exam", False),
            )

    def begin(self, lab: str, attempt: int, began: int, *, exam: bool) -> None:
        """Start an attempt.  `began`: the seq of its LabStarted, which is the journal's newest entry."""
        record = self._cluster.record
        attempts = {**record.lab.get("attempts", {}), lab: attempt}
        record.lab = {"lab": lab, "seed": record.seed, "began": began, "attempts": attempts, "exam": exam}
        self._fold(lab, record.seed, attempt, began, (), exam=exam)

    def attempts(self, lab: str) -> int:
        """Return the number of attempts begun in this sandbox."""
        return int(self._cluster.record.lab.get("attempts", {}).get(lab, 0))

    def current(self, lab: str) -> Attempt:
        """Return the attempt, up to the journal's newest entry.

        Raises ActionRefused (409) if this lab is not in progress.
        """
        self.catch_up()
        if self.attempt is None or self.attempt.lab.slug != lab:
            raise ActionRefused(409, "Lab {lab} is not in progress here.", "Start the lab in a new sandbox.", lab=lab)
        return self.attempt

    def seq_of(self, action: Action) -> int | None:
        """Return the seq of the `ActionTaken` of an answer that was received before, else None.

        Its receipt is then sent again.  Raises ActionRefused (409) if its key belongs to another answer.
        """
        if not isinstance(action, AnswerStep) or not action.key:
            return None
        self.catch_up()
        if self.attempt is None or action.attempt not in (0, self.attempt.attempt):
            return None
        return self.attempt.receipts.seq_of(fields_of(action))

    def catch_up(self) -> None:
        """Evaluate the entries written since the last call.

        Outcomes are written by the turn that each entry requests.
        """
        if self.attempt is None:
            return
        for entry in self._cluster.journal.since(self._next):
            self.attempt.see(entry)
        self._next = self._cluster.journal.next_seq

    def check_alone(self) -> None:
        """Raise ActionRefused (409) while a lab is in progress, because external clients must not take part in it."""
        if self.attempt is not None and not self.attempt.finished:
            raise ActionRefused(
                409,
                "Lab {lab} is in progress. With an external client, it could not be replayed.",
                "Finish the lab, or open the ports of another sandbox.",
                lab=self.attempt.lab.number,
            )

    def check_allowed(self, action: str) -> None:
        """Raise ActionRefused (403) if the lab in progress does not allow the action."""
        attempt = self.attempt
        if attempt is None or attempt.finished or action in ALWAYS or action in attempt.lab.allowed:
            return
        raise ActionRefused(
            403,
            "Lab {lab} does not use {action}.",
            "The lab uses: {allowed}.",
            lab=attempt.lab.number,
            action=action,
            allowed=", ".join(sorted(attempt.lab.allowed)),
        )

    def _fold(self, lab: str, seed: str, attempt: int, began: int, entries: Iterable[Entry], *, exam: bool) -> None:
        known = LABS.get(lab)
        self._cluster.journal.unsubscribe(self._news)
        if known is None:  # of another release
            return
        self.attempt = Attempt(known, seed, attempt, began, exam=exam)
        written = 0
        for entry in entries:
            self.attempt.see(entry)
            written += isinstance(entry.event, StepMet | LabFinished)
        self._left = self.attempt.take()[written:]
        self._next = self._cluster.journal.next_seq
        self._cluster.journal.subscribe(self._news)

    def _news(self) -> None:
        if not self._waits and not self._cluster.ended:
            self._waits = True
            self._cluster.environment.loop.call_soon(self._write)

    def _write(self) -> None:
        self._waits = False
        if self._cluster.ended or self.attempt is None:
            return
        self.catch_up()
        outcomes, self._left = [*self._left, *self.attempt.take()], []
        for outcome in outcomes:
            self._cluster.journal.write(outcome)
