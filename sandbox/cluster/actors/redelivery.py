"""Why a listener is given a message again, as the engine itself sees it happen: who held the queue, and how that ended.

The delivery audit finds the same causes without us, from the journal alone (`sandbox.pipeline.jobs.delivery_audit`).
"""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from sandbox.client.offset_runs import OffsetRuns
from sandbox.message.queue import MessageQueue

CRASH, HAND_OVER, RETRY, RESET, UNKNOWN = "crash_before_commit", "rebalance_hand_over", "retry", "reset", "unknown"
STINTS_KEPT = 32  # of each queue: what was given before those is given again for an unknown reason


class Hold(NamedTuple):
    """A process that has a queue since a moment; None: it works on what is left of one it has no more."""

    process: str
    since_ms: int | None


class _Stint:
    """What was given during one hold, or in the part of it after a reset."""

    __slots__ = ("crashed", "hold", "reset_to", "seen")

    def __init__(self, hold: Hold) -> None:
        self.hold = hold
        self.seen = OffsetRuns()
        self.crashed = False
        self.reset_to: int | None = None  # somebody moved the group here since


class Holdings:
    """Of one queue and one account, oldest stint first."""

    def __init__(self) -> None:
        self._stints: deque[_Stint] = deque(maxlen=STINTS_KEPT)

    @classmethod
    def before_sleep(cls, seen: OffsetRuns, *, crashed: bool) -> "Holdings":
        """After waking it is not known any more who was given what, only how all of them ended."""
        made = cls()
        made._stints.append(_Stint(Hold("", 0)))
        made._stints[0].seen, made._stints[0].crashed = seen, crashed
        return made

    def why_again(self, offset: int, hold: Hold) -> tuple[str, str]:
        """Whoever was given it last: did a reset go over it since, has it crashed, or is the queue another's now?
        The reason, and that process.

        In the same hold nothing is pulled twice: what comes again there was not accepted.
        """
        before = [stint for stint in self._stints if offset in stint.seen]
        if any(stint.hold == hold for stint in before):
            return RETRY, hold.process
        if not before:
            return UNKNOWN, ""
        last = max(reversed(before), key=lambda stint: stint.hold.since_ms or 0)
        if last.reset_to is not None and last.reset_to <= offset:
            return RESET, last.hold.process
        return CRASH if last.crashed else HAND_OVER, last.hold.process

    def given(self, offset: int, hold: Hold) -> None:
        self._stint_of(hold).seen.add(offset)

    def reset(self, offset: int) -> None:
        for stint in self._stints:
            stint.reset_to = offset if stint.reset_to is None else min(offset, stint.reset_to)

    def crashed(self, hold: Hold) -> None:
        for stint in self._stints:
            stint.crashed = stint.crashed or stint.hold == hold

    def _stint_of(self, hold: Hold) -> _Stint:
        for stint in reversed(self._stints):
            if stint.hold.process == hold.process and hold.since_ms in (None, stint.hold.since_ms):
                if stint.reset_to is None:
                    return stint
                hold = stint.hold
                break
        self._stints.append(_Stint(hold))
        return self._stints[-1]


Held = Iterable[tuple[MessageQueue, Hold]]
