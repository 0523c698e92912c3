"""Interventions: a course teacher's actions on many sandboxes at once (faults, freezing, taking over).

They are no actions of a sandbox: each is resolved in every sandbox into actions of its own, at one planned time.
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
    """Teacher's action on many sandboxes.

    `at_wall_ms`: one time of the machine's clock for all sandboxes, which each converts to its own clock.
    `to_all`: all sandboxes of the course get it.
    """

    kind: Kind
    at_wall_ms: int
    lease_s: float = LEASE_S
    to_all: bool = True


class Done(NamedTuple):
    """Result of an intervention in one sandbox.

    `seq`: of the first action; None if none was needed.  `planned_ms`, `at_ms`: by the sandbox's clock.  `late_ms`:
    the machine's time between the planned time and this one.  `again`: a sealed prediction was opened again.
    """

    seq: int | None
    planned_ms: int
    at_ms: int
    late_ms: float
    again: bool = False
