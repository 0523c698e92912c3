"""Acts of a script: a tuple of acts is executed in order in a step.

`do=(send("burst"), wait(1.5), crash("one"))`; any function with a `Hands` argument is an act, too.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from sandbox.control.actions import Action, ChangeTopic, CrashActor, RestartActor, SendMessages, StopActor
from sandbox.labs.evidence import Numbers
from sandbox.labs.script import Hands

Acts: TypeAlias = "Callable[[Hands], object] | tuple[Acts, ...]"


def act_all(acts: Acts, hands: Hands) -> None:
    """Execute one act, or several in their order."""
    if isinstance(acts, tuple):
        for part in acts:
            act_all(part, hands)
    else:
        acts(hands)


def act(action: Callable[[Numbers], Action]) -> Acts:
    """Return the act that executes an action made from the lab's numbers.

    `act(lambda n: StartConsumer(group=n["group"]))`.
    """
    return lambda hands: hands.act(action(hands.numbers))


def wait(seconds: float | str) -> Acts:
    """Return the act that waits seconds of the sandbox's clock.

    A text is the name of a number of the lab: `wait("before_s")`.
    """
    return lambda hands: hands.wait(hands.numbers[seconds] if isinstance(seconds, str) else seconds)


def send(count: int | str = 1, **fields: Any) -> Acts:
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


def change_topic(write: str, read: str) -> Acts:
    """Return the act that changes the queue counts of the lab's topic; the arguments name numbers of the lab."""
    return act(lambda n: ChangeTopic(topic=n["topic"], write_queues=n[write], read_queues=n[read]))


def _each(kind: Callable[..., Action], members: tuple[str, ...]) -> Acts:
    def take(hands: Hands) -> None:
        for label in members:
            hands.act(kind(actor=hands.numbers.get(label, label)))

    return take
