"""Events of a sandbox as a whole."""

from typing import Any, NamedTuple

from sandbox.journal.events.event import said
from sandbox.journal.events.shapes import Long


@said("ok", "opened", "sandbox opened from template {template}")
class SandboxOpened(NamedTuple):
    template: str
    preset: str
    seed: str
    epoch: str


HISTORY = "history"
"""As a reason: a run ends that new sandboxes begin as copies of; such a copy begins."""


@said("quiet", "history", "end of the prepared history", when=f"reason={HISTORY}")
@said("quiet", "asleep", "fell asleep: {reason}")
class SandboxSlept(NamedTuple):
    reason: str


@said("ok", "opened", "this sandbox begins here", when=f"reason={HISTORY}")
@said("ok", "awake", "woken; time asleep unknown", when="slept_ms=null")
@said("ok", "awake", "woken after {slept_ms}")
class SandboxWoken(NamedTuple):
    """The sandbox is awake again.  `slept_ms` is the time on the machine's clock from closing to waking.

    It is null if that time is unknown: after a kill, in journals of older releases, or if the clock was set back.
    """

    reason: str
    slept_ms: int | None
    epoch: str


STRETCH_ENDS = ("kill", "ports", "disk", "engine", "origin", "files")


@said("quiet", "recorded", "the server was killed: from here on the run cannot be replayed", when="why=kill")
@said("quiet", "recorded", "ports were opened: from here on the run cannot be replayed", when="why=ports")
@said("quiet", "recorded", "the disk accepted no more data: from here on the run cannot be replayed", when="why=disk")
@said("quiet", "recorded", "the server was updated: from here on the run cannot be replayed", when="why=engine")
@said("quiet", "recorded", "origin.json is not readable: from here on the run cannot be replayed", when="why=origin")
@said(
    "quiet",
    "recorded",
    "a broker's files were damaged from outside: from here on the run cannot be replayed",
    when="why=files",
)
@said("quiet", "recorded", "from here on the run cannot be replayed: {why}")
class StretchEnded(NamedTuple):
    """The end of a reproducible stretch: `manage.py replay` writes the same journal up to the event before."""

    why: str  # one of STRETCH_ENDS


@said("move", "action", "{what}, by {by}", "act")
class ActionTaken(NamedTuple):
    """A user or program executed an action; `fields` are the action's fields as JSON values."""

    action: str
    fields: dict[str, Any]
    by: str  # role and pseudonym


@said("quiet", "clock", "clock runs at {rate}×")
@said("quiet", "clock", "the sandbox clock is stopped", when="rate=0")
class ClockChanged(NamedTuple):
    rate: float
    reason: str  # action, wire, wake, jump
    wall_ms: int


@said("warn", "limit", "{limit}: {value} of {allowed} for {who}", "warn")
class LimitReached(NamedTuple):
    """A limit was exceeded.  At most one event per limit and second."""

    limit: str
    value: Long
    allowed: Long
    who: str


@said("quiet", "skipped", "details of busy seconds omitted")
class FlowSkipped(NamedTuple):
    """Flow events omitted because their rate exceeded the limit.  Ranges have a first and a last offset."""

    from_ms: int
    to_ms: int
    stored: tuple[tuple[str, Long, Long], ...]
    pulled: tuple[tuple[str, Long, Long], ...]
    consumed: tuple[tuple[str, Long, Long], ...]
    others: int


@said("quiet", "keyframe", "full state recorded")
class Keyframe(NamedTuple):
    snapshot: dict[str, object]


@said("quiet", "trimmed", "journal now begins at #{first_seq}")
class JournalTrimmed(NamedTuple):
    first_seq: Long


@said("bad", "failed", "{node} could not answer request {request_code}", "bad")
class HandlerFailed(NamedTuple):
    node: str
    request_code: int
    remark: str
