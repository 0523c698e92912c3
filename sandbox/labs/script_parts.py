"""Parts of a script: a tuple of them, in their order, is what the script of a step does.

`do=(send("burst"), wait(1.5), crash("one"))`; any function of the hands is a part, too.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from sandbox.control.actions import Action, ChangeTopic, CrashActor, RestartActor, SendMessages, StopActor
from sandbox.labs.evidence import Numbers
from sandbox.labs.script import Hands

ScriptPart: TypeAlias = "Callable[[Hands], object] | tuple[ScriptPart, ...]"


def do_all(part: ScriptPart, hands: Hands) -> None:
    """Do a part, or several in their order."""
    if isinstance(part, tuple):
        for one_part in part:
            do_all(one_part, hands)
    else:
        part(hands)


def act(action: Callable[[Numbers], Action]) -> ScriptPart:
    """Take an action that is made of the lab's numbers: `act(lambda n: StartConsumer(group=n["group"]))`."""
    return lambda hands: hands.act(action(hands.numbers))


def wait(seconds: float | str) -> ScriptPart:
    """Wait this many seconds of the sandbox's clock, or as many as a number of the lab says: `wait("before_s")`."""
    return lambda hands: hands.wait(hands.numbers[seconds] if isinstance(seconds, str) else seconds)


def send(count: int | str = 1, **fields: Any) -> ScriptPart:
    """Send messages to the lab's topic; the count may be a number of the lab: `send("burst")`."""
    return act(lambda n: SendMessages(topic=n["topic"], count=n[count] if isinstance(count, str) else count, **fields))


def crash(*members: str) -> ScriptPart:
    """Crash members, each by its label or the number that is its label: `crash("one")`."""
    return _each(CrashActor, members)


def stop(*members: str) -> ScriptPart:
    """Stop members cleanly, named as for `crash`."""
    return _each(StopActor, members)


def restart(*members: str) -> ScriptPart:
    """Restart members, named as for `crash`."""
    return _each(RestartActor, members)


def change_topic(write: str, read: str) -> ScriptPart:
    """Give the lab's topic other numbers of queues, by their names among the lab's numbers."""
    return act(lambda n: ChangeTopic(topic=n["topic"], write_queues=n[write], read_queues=n[read]))


def _each(kind: Callable[..., Action], members: tuple[str, ...]) -> ScriptPart:
    def take(hands: Hands) -> None:
        for label in members:
            hands.act(kind(actor=hands.numbers.get(label, label)))

    return take
