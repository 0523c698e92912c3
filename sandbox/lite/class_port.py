"""The port that a student's own pages use in a course: it refuses what the course does not allow yet, or any more."""

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from sandbox.control.actions import Action, AnswerStep, TakeHint
from sandbox.control.rights import Actor, allows
from sandbox.kernel.errors import ActionRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.hosting.port import EnginePort

STUDENT = Actor("student", "student")


class ClassPort:
    """`EnginePort` with the guards of a course before each action.

    `open_until`: the last step that the teacher has opened; None: all are open.  `due_ms`: when the work is due, by
    the server's clock.  The server checks both again when an entry arrives.
    """

    def __init__(self, port: "EnginePort", now_ms: "Callable[[], int]") -> None:
        self.engine = port
        self.open_until: int | None = None
        self.due_ms: int | None = None
        self._now_ms = now_ms

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def act(self, slug: str, action: Action, by: Actor) -> "Future[int]":
        try:
            self._demand(action)
        except ActionRefused as refused:
            future: Future[int] = Future()
            future.set_exception(refused)
            return future
        return self.engine.act(slug, action, STUDENT)

    def is_closed(self, step: int) -> bool:
        """Return True if the teacher has not opened the step yet."""
        return self.open_until is not None and step > self.open_until

    def _demand(self, action: Action) -> None:
        if not allows(STUDENT.role, action):
            raise ActionRefused(
                403, "You do not have permission for this request.", "Ask the owner, or start your own sandbox."
            )
        if action.verb != "time" and self.due_ms is not None and self._now_ms() > self.due_ms:
            raise ActionRefused(409, "This course is past its due date.", "Ask the teacher for more time.")
        if isinstance(action, AnswerStep | TakeHint) and self.is_closed(action.step):
            raise ActionRefused(
                409, "Your teacher opens step {step}.", "Wait until the step is open.", step=action.step
            )
