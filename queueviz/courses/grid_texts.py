"""Words of the live grid, for the first paint and for the browser."""

from typing import Any

from django.utils.translation import gettext_lazy as _

STATES: dict[str, Any] = {
    "stuck": _("stuck"), "asking": _("asking"), "idle": _("idle"), "working": _("working"), "done": _("done"),
    "cut": _("disconnected"), "waiting": _("has not begun"),
}  # fmt: skip
"""In the order of need: who is stuck is seen first."""

WORDS: dict[str, Any] = {
    **{f"grid.{state}": word for state, word in STATES.items()},
    "grid.since": _("{state} {age}"),
    "grid.sort": _("Sort now, moves {n}"),
    "grid.sorted": _("Sorted: {n} moved."),
    "grid.students": _("{n} students"),
    "grid.step": _("lab {lab}, step {step} of {steps}"),
    "grid.strips": _("{n} queues, {lag} messages behind"),
    "grid.lower": _("Lower"),
    "grid.hand": _("{name} asks"),
    "grid.place": _("Student {n}"),
    "grid.newly_stuck": _("{name} is stuck"),
}
