"""Deeds of a script: one after another in a tuple, they are what a step's script does.

`do=(send("burst"), wait(1.5), crash("one"))`; any function of the hands is a deed, too.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from sandbox.control.actions import Action, ChangeTopic, CrashActor, RestartActor, SendMessages, StopActor
from sandbox.labs.evidence import Numbers
from sandbox.labs.script import Hands

Deed: TypeAlias = "Callable[[Hands], object] | tuple[Deed, ...]"


def do_all(deed: Deed, hands: Hands) -> None:
    """Do a deed, or several in their order."""
    if isinstance(deed, tuple):
        for part in deed:
            do_all(part, hands)
    else:
        deed(hands)


def act(action: Callable[[Numbers], Action]) -> Deed:
    """Take an action that is made of the lab's numbers: `act(lambda n: StartConsumer(group=n["group"]))`."""
    return lambda hands: hands.act(action(hands.numbers))


def wait(seconds: float | str) -> Deed:
    """Wait this many seconds of the sandbox's clock, or as many as a number of the lab says: `wait("before_s")`."""
    return lambda hands: hands.wait(hands.numbers[seconds] if isinstance(seconds, str) else seconds)


def send(count: int | str = 1, **fields: Any) -> Deed:
    """Send messages to the lab's topic; the count may be a number of the lab: `send("burst")`."""
    return act(lambda n: SendMessages(topic=n["topic"], count=n[count] if isinstance(count, str) else count, **fields))


def crash(*members: str) -> Deed:
    """Crash members, each by its label or the number that is its label: `crash("one")`."""
    return _each(CrashActor, members)


def stop(*members: str) -> Deed:
    """Stop members cleanly, named as for `crash`."""
    return _each(StopActor, members)


def restart(*members: str) -> Deed:
    """Restart members, named as for `crash`."""
    return _each(RestartActor, members)


def change_topic(write: str, read: str) -> Deed:
    """Give the lab's topic other numbers of queues, by their names among the lab's numbers."""
    return act(lambda n: ChangeTopic(topic=n["topic"], write_queues=n[write], read_queues=n[read]))


def _each(kind: Callable[..., Action], members: tuple[str, ...]) -> Deed:
    def take(hands: Hands) -> None:
        for label in members:
            hands.act(kind(actor=hands.numbers.get(label, label)))

    return take
