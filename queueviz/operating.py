"""What operators do to attached clusters: resets only, with the group's name typed, and written down twice.

Once before anything is asked of the cluster, so that a reset that never came back is there too; once with what came
of it (`of` names the first record).
"""

from dataclasses import asdict
from typing import Any

from queueviz import attaching, engine, owners
from queueviz.access import Seat
from queueviz.visitor import Visitor
from sandbox.control.actions import Action, ResetOffsets
from sandbox.control.questions import Question
from sandbox.hosting.port import Actor
from sandbox.kernel.errors import ActionRefused, EngineBusy, SandboxError

PATIENCE_S = 10.0  # brokers far away are asked queue by queue
MOST_FACTS = 100  # after the action, among which its result is looked for


def act(visitor: Visitor, seat: Seat, action: Action, by: Actor) -> int:
    """As `acting.act`, for a seat at an attached cluster that may carry `action` out."""
    what = "reset" if isinstance(action, ResetOffsets) else "undo-reset"
    if isinstance(action, ResetOffsets) and action.confirm != action.group:
        raise ActionRefused(422, "This is a real cluster.", "Type the name of the group to confirm.", field="confirm")
    attaching.demand(seat)
    asked = owners.record(visitor, what, seat.sandbox.slug, plan=asdict(action))
    try:
        seq = engine.answer(engine.port().act(seat.sandbox.slug, action, by), PATIENCE_S)
    except EngineBusy:
        owners.record(visitor, f"{what}-unknown", seat.sandbox.slug, of=asked.pk)
        raise ActionRefused(504, "The cluster has not answered yet: offsets may have been reset, or not.",
                            "Look at the journal and at the offsets before you try again.") from None
    except SandboxError as refused:
        owners.record(visitor, f"{what}-refused", seat.sandbox.slug, of=asked.pk, why=str(refused))
        raise
    owners.record(visitor, f"{what}-done", seat.sandbox.slug, of=asked.pk, seq=str(seq),
                  result=_result(seat.sandbox.slug, seq))
    return seq


def ask(seat: Seat, question: Question) -> dict[str, Any]:
    """As `acting.ask`; the cluster itself may have to be asked."""
    attaching.demand(seat)
    return engine.answer(engine.port().ask(seat.sandbox.slug, question), PATIENCE_S)


def _result(slug: str, seq: int) -> dict[str, Any] | None:
    """What the journal says was done: the reset this action caused, or None where it does not say so yet."""
    try:
        found = engine.answer(engine.port().entries(slug, seq, MOST_FACTS, facts_only=True))
    except SandboxError:
        return None
    mine = (row for row in found.rows if row["type"] == "OffsetsReset" and str(row.get("cause")) == str(seq))
    return next(mine, None)
