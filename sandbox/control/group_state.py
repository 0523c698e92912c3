"""State of a group in one word, by the same rules for a sandbox and for a real cluster."""

from typing import NamedTuple

LATE_MS = 15_000  # messages unconsumed for longer are late
MORE_RATIO, MORE_PER_S = 0.05, 1.0  # delivered beyond consumed by less than this is the jitter of two counters

BEHIND, NO_MEMBER, RETRYING, DIFFERS = "behind", "nobody", "retrying", "differs"
MIXED = "mixed"  # its members have different subscriptions: messages may reach none of them
UNKNOWN, OK, QUIET = "unknown", "ok", "quiet"
OK_PARTLY, QUIET_PARTLY = "ok_partly", "quiet_partly"  # ok or quiet by the known queues, while others are unknown
WORST_FIRST = (BEHIND, NO_MEMBER, RETRYING, DIFFERS, MIXED, UNKNOWN, OK_PARTLY, QUIET_PARTLY, OK, QUIET)
_PARTLY = {OK: OK_PARTLY, QUIET: QUIET_PARTLY}


class Flow(NamedTuple):
    """Messages per second of all topics of a group.  `consumed`: with success by its members; None: unknown."""

    consumed: float | None
    delivered: float | None

    @property
    def differs(self) -> bool:
        """True if more is delivered than consumed: repetitions, or messages in the members' memory."""
        if self.consumed is None or self.delivered is None:
            return False
        return self.delivered - self.consumed > max(MORE_PER_S, self.consumed * MORE_RATIO)


class Standing(NamedTuple):
    """Figures of a group from which its state follows.

    `lag` and `retrying`: messages.  `age_ms`: of the oldest unconsumed one; `most_age_ms`: upper bound of it.
    `unknown_queues`: number of queues whose end or offset is unknown, because a master is down.
    """

    lag: int | None
    retrying: int | None
    members: int | None
    flow: Flow
    age_ms: int | None = None
    most_age_ms: int | None = None
    unknown_queues: int = 0
    members_differ: bool = False

    @property
    def state(self) -> str:
        """State of the group by the known values.

        They can be enough for a bad state; a good state needs all values.
        """
        state = self._known
        if state in _PARTLY and self.members_differ:
            return MIXED
        if state in _PARTLY and self.unknown_queues:
            return _PARTLY[state]
        return UNKNOWN if state in _PARTLY and self.retrying is None else state

    @property
    def _known(self) -> str:
        if self.lag is None:
            return UNKNOWN
        if self.members == 0:
            return NO_MEMBER if self.lag else QUIET
        if not self.lag:
            return DIFFERS if self.flow.differs else QUIET if self.flow.consumed == 0 else OK
        if (late := self._late) is None:
            return UNKNOWN
        return BEHIND if late else RETRYING if self.retrying else DIFFERS if self.flow.differs else OK

    @property
    def _late(self) -> bool | None:
        """True if the group is late; by its lag, if no age is known.  None: unknown.

        A lag is late when the group needs more than `LATE_MS` to consume it.
        """
        if self.age_ms is not None:
            return self.age_ms > LATE_MS
        if self.most_age_ms is not None and self.most_age_ms <= LATE_MS:
            return False
        if self.lag is None or self.flow.consumed is None:
            return None
        return self.lag > self.flow.consumed * LATE_MS / 1_000
