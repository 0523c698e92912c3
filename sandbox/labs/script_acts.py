"""Acts of a script: a tuple of acts is executed in order in a step.

`do=(send("burst"), wait(1.5), crash("one"))`; any function with a `Hands` argument is an act, too.  Those that execute
an action are also the lines of the step, with a button each (`step_lines.py`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from sandbox.control.actions import Action, ChangeTopic, CrashActor, RestartActor, SendMessages, StopActor
from sandbox.labs.evidence import Evidence, Numbers
from sandbox.labs.script import Hands

Acts: TypeAlias = "Callable[[Hands], object] | tuple[Acts, ...]"

POLL_S = 0.5


@dataclass(frozen=True)
class Act:
    """Act that executes an action, which is made from the evidence; None: it cannot be made yet.

    `asks`: fields that the student must find out, so that the panel leaves them open.
    """

    action: Callable[[Evidence], Action | None]
    asks: frozenset[str] = frozenset()

    def __call__(self, hands: Hands) -> None:
        action = self.action(hands.evidence)
        assert action is not None, "the script did not wait for what the action is about"
        hands.act(action)


@dataclass(frozen=True)
class OneOf:
    """Choice between acts, which is part of the step's question.  `right`: the index of the one that the script takes.

    The panel offers all of them in this order.
    """

    acts: tuple[Act, ...]
    right: int

    def __call__(self, hands: Hands) -> None:
        self.acts[self.right](hands)


@dataclass(frozen=True)
class Wait:
    """Wait of some seconds of the sandbox's clock; a text is the name of a number of the lab."""

    seconds: float | str

    def __call__(self, hands: Hands) -> None:
        hands.wait(self.seconds_of(hands.numbers))

    def seconds_of(self, n: Numbers) -> float:
        return float(n[self.seconds]) if isinstance(self.seconds, str) else self.seconds


@dataclass(frozen=True)
class Until:
    """Wait until something holds.  `text`: the sentence for the student."""

    text: str
    holds: Callable[[Evidence], bool]

    def __call__(self, hands: Hands) -> None:
        while not self.holds(hands.evidence):
            hands.wait(POLL_S)


def act_all(acts: Acts, hands: Hands) -> None:
    """Execute one act, or several in their order."""
    for part in each(acts):
        part(hands)


def each(acts: Acts) -> Iterator[Callable[[Hands], object]]:
    """Yield the single acts in their order."""
    if isinstance(acts, tuple):
        for part in acts:
            yield from each(part)
    else:
        yield acts


def act(action: Callable[[Numbers], Action]) -> Act:
    """Return the act that executes an action made from the lab's numbers.

    `act(lambda n: StartConsumer(group=n["group"]))`.
    """
    return Act(lambda evidence: action(evidence.numbers))


def one_of(*acts: Act, right: int) -> OneOf:
    """Return a choice between acts: `one_of(_set("AVG"), _set(RING), right=1)`."""
    return OneOf(acts, right)


def wait(seconds: float | str) -> Wait:
    """Return the act that waits seconds of the sandbox's clock.

    A text is the name of a number of the lab: `wait("before_s")`.
    """
    return Wait(seconds)


def until(text: str, holds: Callable[[Evidence], bool]) -> Until:
    """Return the act that waits until something holds: `until(_("Wait until {one} has queues."), _has_queues)`."""
    return Until(text, holds)


def send(count: int | str = 1, **fields: Any) -> Act:
    """Return the act that sends messages to the lab's topic; a text names a number of the lab: `send("burst")`."""
    return act(lambda n: SendMessages(topic=n["topic"], count=n[count] if isinstance(count, str) else count, **fields))


def crash(*members: str) -> Acts:
    """Return the act that crashes members, each by label or by the number that has its label: `crash("one")`."""
    return _each(CrashActor, members)


def stop(*members: str) -> Acts:
    """Return the act that stops members cleanly, named as for `crash`."""
    return _each(StopActor, members)


def restart(*members: str) -> Acts:
    """Return the act that restarts members, named as for `crash`."""
    return _each(RestartActor, members)


def change_topic(write: str, read: str) -> Act:
    """Return the act that changes the queue counts of the lab's topic; the arguments name numbers of the lab."""
    return act(lambda n: ChangeTopic(topic=n["topic"], write_queues=n[write], read_queues=n[read]))


def _each(kind: Callable[..., Action], members: tuple[str, ...]) -> Acts:
    return tuple(_of_member(kind, label) for label in members)


def _of_member(kind: Callable[..., Action], label: str) -> Act:
    return act(lambda n: kind(actor=n.get(label, label)))
