"""Events of findings: a problem, or a state that explains what a reader sees, begins or ends."""

from typing import Any, NamedTuple

from sandbox.journal.events.event import said


@said("warn", "finding", "{subject}: {code}", "warn")
@said("bad", "finding", "{subject}: {code}", "bad", when="severity=error")
class FindingOpened(NamedTuple):
    """A finding opened, once its condition had held for its time.

    `since_ms`: when the condition began.  `subject`: a queue's row, a member's label, or a name, by `kind`.
    `because_of`: the code of the open finding that explains it; empty: none does.  `says`: its sentences, each by its
    name among those of the code, with the values.  `marks`: addresses of the parts of a board that it is about.
    `touches`: names that it shares with its cause.
    """

    code: str
    severity: str  # error, warning, info
    kind: str  # group, queue, member, broker, topic, message, cluster
    subject: str
    group: str
    topic: str
    since_ms: int
    because_of: str
    says: tuple[tuple[str, dict[str, Any]], ...] = ()
    marks: tuple[str, ...] = ()
    touches: tuple[str, ...] = ()


@said("ok", "finding", "{subject}: {code} ended after {lasted_ms}")
@said("quiet", "finding", "{subject}: {code} is still open; the sandbox sleeps", when="how=asleep")
class FindingClosed(NamedTuple):
    """A finding closed, once its condition had been absent for its time; or the sandbox sleeps."""

    code: str
    kind: str
    subject: str
    group: str
    topic: str
    lasted_ms: int
    how: str  # ended, asleep
