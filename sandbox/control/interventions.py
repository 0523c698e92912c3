"""A course teacher's actions on many sandboxes at once: broadcast faults, freezing, taking over.

They are not actions of a sandbox: each is resolved in every sandbox into actions of its own, at one planned moment.
"""

from typing import Literal, NamedTuple, get_args

Fault = Literal["crash_member", "hang_broker", "stop_name_server", "slow_message", "power_cut", "burst"]
Hold = Literal["freeze", "take_over"]
End = Literal["release", "give_back", "heal"]
Kind = Literal[Fault, Hold, End]

FAULTS: tuple[Fault, ...] = get_args(Fault)
HOLDS: tuple[Hold, ...] = get_args(Hold)
KINDS: tuple[Kind, ...] = (*FAULTS, *HOLDS, *get_args(End))

SLOW_MS = 60_000  # the next message of one queue
BURST = 500  # messages
LEASE_S = 30.0  # without the teacher's page, all of it ends
MOST_PLANNED = 8  # of one sandbox, not carried out yet
MOST_AHEAD_S = 60.0


class Intervention(NamedTuple):
    """`at_wall_ms`: one moment of the machines' time for all sandboxes, from which each computes its own clock's."""

    kind: Kind
    at_wall_ms: int
    lease_s: float = LEASE_S


class Done(NamedTuple):
    """`seq`: of the first action; None: nothing was to be done.  `planned_ms`, `at_ms`: by the sandbox's clock.

    `late_ms`: the machine's time between the planned moment and this one.
    """

    seq: int | None
    planned_ms: int
    at_ms: int
    late_ms: float
