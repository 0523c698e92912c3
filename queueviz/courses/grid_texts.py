"""Texts of the live grid, for the first paint and for the browser."""

from django.utils.translation import gettext_lazy as _

from queueviz.texts import Texts

STATES: Texts = {
    "stuck": _("stuck"),
    "asking": _("asking"),
    "idle": _("idle"),
    "working": _("working"),
    "done": _("done"),
    "cut": _("disconnected"),
    "waiting": _("not started"),
}
"""In the order of need: who is stuck is seen first."""

BROADCASTS: Texts = {
    "crash_member": _("Crash one member"),
    "slow_message": _("Make one message slow"),
    "hang_broker": _("Hang a broker"),
    "power_cut": _("Cut a broker's power"),
    "stop_name_server": _("Stop a name server"),
    "burst": _("Send a burst of 500 messages"),
}
"""What can be broadcast, by kind of intervention."""

DONE: Texts = {
    **BROADCASTS,
    "freeze": _("Freeze all"),
    "release": _("Continue"),
    "heal": _("Heal all"),
    "take_over": _("Take control"),
    "give_back": _("Return control"),
}

HELD: Texts = {
    "hold.frozen": _("Your teacher stopped time for all students. Time resumes for all of you together."),
    "hold.acts": _("Your teacher controls this sandbox. You can read and answer."),
    "hold.coming": _("From your teacher in {s} s: {what}"),
    **{f"hold.{kind}": word for kind, word in DONE.items()},
}
"""What a student is shown of it."""

WORDS: Texts = {
    **{f"grid.{state}": word for state, word in STATES.items()},
    "grid.since": _("{state} {age}"),
    "grid.sort": _("Sort now, moves {n}"),
    "grid.sorted": _("Sorted: {n} moved."),
    "grid.students": _("{n} students"),
    "grid.step": _("lab {lab}, step {step} of {steps}"),
    "grid.strips": _("{n} queues, {lag} messages behind"),
    "grid.lower": _("Lower"),
    "grid.hand": _("{name} asks"),
    **{f"grid.did.{kind}": word for kind, word in DONE.items()},
    "grid.preview": _("{n} sandboxes"),
    "grid.preview_asleep": _("{n} sandboxes, {asleep} asleep skipped"),
    "grid.sent": _("{what}: {done} sandboxes, at most {late} ms late"),
    "grid.skipped": _("{n} asleep skipped"),
    "grid.refused": _("not done in {n}: {why}"),
    "grid.in": _("In {s} s"),
    "grid.frozen": _("time stopped"),
    "grid.acts": _("{who} acts"),
    "grid.differs": _("≠ #{seq}"),
    "grid.differs_why": _("{name} is {state} here since event #{seq}; for {others} other students it is {usual}."),
    "grid.member": _("{who}: {state}"),
    "grid.place": _("Student {n}"),
    "grid.newly_stuck": _("{name} is stuck"),
}
