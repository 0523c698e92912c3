"""A course teacher's hold on one sandbox: stopped time, faults to heal, control taken over.

It is part of the record: after a crash, the server heals the faults that no page renews any more.
"""

from typing import TYPE_CHECKING, NamedTuple

from sandbox.control.actions import Action, fields_of, name_of, parse_action
from sandbox.control.rights import is_by
from sandbox.kernel.errors import ActionRefused

if TYPE_CHECKING:
    from sandbox.cluster.cluster import Cluster
    from sandbox.cluster.record import SandboxRecord

OWN = frozenset({"AnswerStep", "TakeHint"})  # actions a student may take also while the teacher controls the sandbox
OF_TIME = frozenset({"SetRate", "Step"})
MOST_HEALS = 32


class Coming(NamedTuple):
    """Planned event, at a time of the machine's clock."""

    kind: str
    at_wall_ms: int


class Effect(NamedTuple):
    """The newest intervention that was carried out.

    `what`: name of the part that it changed; empty if it changed none.  `again`: it opened a sealed prediction again.
    `to_all`: all sandboxes of the course got it.
    """

    kind: str
    what: str
    again: bool
    to_all: bool
    at_wall_ms: int


class TeacherHold:
    """Teacher's hold on a sandbox, stored in its record.

    `coming`: planned interventions that were not carried out yet.  `effect`: the newest one that was; not stored.
    """

    @classmethod
    def beside(cls, cluster: "Cluster") -> "TeacherHold":
        return cls(cluster.record)

    def __init__(self, record: "SandboxRecord") -> None:
        self._record = record
        self.coming: list[Coming] = []
        self.effect: Effect | None = None

    @property
    def is_empty(self) -> bool:
        return not self._record.hold

    @property
    def is_frozen(self) -> bool:
        return "rate" in self._record.hold

    @property
    def acts(self) -> str | None:
        """Teacher who has taken over control; None if none has."""
        acts: str | None = self._record.hold.get("acts")
        return acts

    def freeze(self, rate: float) -> None:
        """Record that time is stopped; `rate` is the clock's rate to restore."""
        self._record.hold.setdefault("rate", rate)

    def release(self) -> float | None:
        """Remove the stop of time; return the clock's rate to restore, None if time was not stopped."""
        rate: float | None = self._record.hold.pop("rate", None)
        return rate

    def take_over(self, by: str) -> None:
        self._record.hold["acts"] = by

    def give_back(self) -> None:
        self._record.hold.pop("acts", None)

    def owe(self, heal: Action) -> None:
        """Add an action that heals a fault; the newest is executed first."""
        heals = self._record.hold.setdefault("heals", [])
        heals.insert(0, {"action": name_of(heal), **fields_of(heal)})
        del heals[MOST_HEALS:]

    def heals(self) -> list[Action]:
        """Remove and return the actions that heal the teacher's faults."""
        rows: list[dict[str, object]] = self._record.hold.pop("heals", [])
        return [parse_action(row) for row in rows]

    def check(self, action: str, by: str) -> None:
        """Raise ActionRefused for actions that the hold forbids.

        409 for a student's action meanwhile, 403 for a teacher who answers for a student.
        """
        if is_by(by, "instructor") and action in OWN:
            raise ActionRefused(
                403, "Answers and hints belong to the student.", "Act on the Board, or ask the student to do it."
            )
        if not is_by(by, "student") or action in OWN:
            return
        if self.acts is not None:
            raise ActionRefused(409, "Your teacher controls this sandbox.", "Wait until control is returned.")
        if self.is_frozen and action in OF_TIME:
            raise ActionRefused(409, "Your teacher stopped time.", "Time resumes when your teacher continues.")
