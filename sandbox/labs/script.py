"""Interface by which a script plays a lab as a simulated student."""

from collections.abc import Callable
from typing import Any, Protocol

from sandbox.control.actions import Action
from sandbox.control.questions import Question
from sandbox.labs.evidence import Evidence, Numbers


class Hands(Protocol):
    """Interface of a script that plays the open step.  An answer is text or a number, as typed into the panel."""

    @property
    def numbers(self) -> Numbers: ...
    @property
    def evidence(self) -> Evidence: ...

    def act(self, action: Action) -> int:
        """Execute an action; return the seq of its ActionTaken."""

    def wait(self, seconds: float) -> None:
        """Wait this many seconds of the sandbox's clock."""

    def see(self, within_s: float = 180) -> None:
        """Wait until the events that the open step expects have occurred, at most `within_s` seconds."""

    def predict(self, value: float | str) -> None: ...
    def say(self, value: float | str) -> None: ...
    def why(self, value: float | str) -> None: ...
    def hint(self) -> None: ...

    def read(self, channel: str) -> Any:
        """Return the data of a live channel such as the Board's, without the sandbox's name."""

    def ask(self, question: Question) -> dict[str, Any]:
        """Return a page's answer to a question: the bytes of an entry, the path through an index."""


Play = Callable[[Hands], None]


def nothing(hands: Hands) -> None:
    """Play the empty script: the lab is open, and the student does nothing."""
    hands.wait(60)
