"""Events of a sandbox as a whole."""

from typing import Any, NamedTuple

from sandbox.journal.events.shapes import Long


class SandboxOpened(NamedTuple):
    template: str
    preset: str
    seed: str
    epoch: str


class SandboxSlept(NamedTuple):
    reason: str


class SandboxWoken(NamedTuple):
    reason: str
    slept_ms: int
    epoch: str


class ActionTaken(NamedTuple):
    """A user or program acted; `fields` are the action's, as JSON values."""

    action: str
    fields: dict[str, Any]
    by: str  # role and pseudonym


class ClockChanged(NamedTuple):
    rate: float
    reason: str  # action, wire, wake, jump
    wall_ms: int


class LimitReached(NamedTuple):
    """At most one per limit and second."""

    limit: str
    value: Long
    allowed: Long
    who: str


class FlowSkipped(NamedTuple):
    """The valve was closed: these flow events were not written.  Ranges are first and last offset."""

    from_ms: int
    to_ms: int
    stored: tuple[tuple[str, Long, Long], ...]
    pulled: tuple[tuple[str, Long, Long], ...]
    consumed: tuple[tuple[str, Long, Long], ...]
    others: int


class Keyframe(NamedTuple):
    snapshot: dict[str, Any]


class JournalTrimmed(NamedTuple):
    first_seq: Long


class HandlerFailed(NamedTuple):
    node: str
    request_code: int
    remark: str
