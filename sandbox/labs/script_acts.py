"""Acts of a script: one after another in a tuple, they are what it does in a step.

`do=(send("burst"), wait(1.5), crash("one"))`; any function of the hands is an act, too.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from sandbox.control.actions import Action, ChangeTopic, CrashActor, RestartActor, SendMessages, StopActor
from sandbox.labs.evidence import Numbers
from sandbox.labs.script import Hands

Acts: TypeAlias = "Callable[[Hands], object] | tuple[Acts, ...]"


def act_all(acts: Acts, hands: Hands) -> None:
    """Do one act, or several in their order."""
    if isinstance(acts, tuple):
        for part in acts:
            act_all(part, hands)
    else:
        acts(hands)


def act(action: Callable[[Numbers], Action]) -> Acts:
    """Take an action that is made of the lab's numbers: `act(lambda n: StartConsumer(group=n["group"]))`."""
    return lambda hands: hands.act(action(hands.numbers))


def wait(seconds: float | str) -> Acts:
    """Wait this many seconds of the sandbox's clock, or as many as a number of the lab says: `wait("before_s")`."""
    return lambda hands: hands.wait(hands.numbers[seconds] if isinstance(seconds, str) else seconds)


def send(count: int | str = 1, **fields: Any) -> Acts:
    """Send messages to the lab's topic; the count may be a number of the lab: `send("burst")`."""
    return act(lambda n: SendMessages(topic=n["topic"], count=n[count] if isinstance(count, str) else count, **fields))


def crash(*members: str) -> Acts:
    """Crash members, each by its label or the number that is its label: `crash("one")`."""
    return _each(CrashActor, members)


def stop(*members: str) -> Acts:
    """Stop members cleanly, named as for `crash`."""
    return _each(StopActor, members)


def restart(*members: str) -> Acts:
    """Restart members, named as for `crash`."""
    return _each(RestartActor, members)


def change_topic(write: str, read: str) -> Acts:
    """Give the lab's topic other numbers of queues, by their names among the lab's numbers."""
    return act(lambda n: ChangeTopic(topic=n["topic"], write_queues=n[write], read_queues=n[read]))


def _each(kind: Callable[..., Action], members: tuple[str, ...]) -> Acts:
    def take(hands: Hands) -> None:
        for label in members:
            hands.act(kind(actor=hands.numbers.get(label, label)))

    return take
