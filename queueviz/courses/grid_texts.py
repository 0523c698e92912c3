"""Texts of the live grid, for the first paint and for the browser."""

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from queueviz.boards.counted import Counted, CountedTexts
from queueviz.texts import Texts

STATES: Texts = {
    "stuck": _("stuck"),
    "asking": _("asking"),
    "idle": _("idle"),
    "working": _("working"),
    "done": _("done"),
    "cut": _("disconnected"),
    "waiting": _("not begun"),
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

EFFECTS: Texts = {
    "crash_member": _("{what} crashed."),
    "slow_message": _("{what}: the next message is slow."),
    "hang_broker": _("{what} hangs."),
    "power_cut": _("{what} has no power."),
    "stop_name_server": _("{what} stopped."),
    "burst": _("{what} received a burst."),
    "freeze": _("Time stopped."),
    "release": _("Time runs again."),
    "heal": _("Healed."),
    "take_over": _("Control taken."),
    "give_back": _("Control returned."),
}
"""Effects of a broadcast in one sandbox, for its tile."""

HELD: Texts = {
    "hold.frozen": _("Your teacher stopped time for all students. Time resumes for all of you together."),
    "hold.frozen_here": _("Your teacher stopped time in your sandbox. Time resumes when your teacher continues."),
    "hold.acts": _("Your teacher controls this sandbox. You can read and answer."),
    "hold.coming": _("From your teacher in {s} s: {what}"),
    **{f"hold.{kind}": word for kind, word in DONE.items()},
    "hold.did.crash_member": _("Your teacher crashed {what} {where}."),
    "hold.did.slow_message": _("Your teacher made the next message of {what} slow {where}."),
    "hold.did.hang_broker": _("Your teacher hung {what} {where}."),
    "hold.did.power_cut": _("Your teacher cut the power of {what} {where}."),
    "hold.did.stop_name_server": _("Your teacher stopped {what} {where}."),
    "hold.did.burst": _("Your teacher sent a burst of messages to {what} {where}."),
    "hold.did.release": _("Your teacher started time again {where}."),
    "hold.did.heal": _("Your teacher healed all faults {where}."),
    "hold.did.give_back": _("Your teacher returned control to you."),
    "hold.all": _("in every sandbox"),
    "hold.one": _("in your sandbox"),
    "hold.again": _("Your prediction does not count: give it once more."),
    "hold.ago": _("{age} ago"),
    "poll.voted": _("{n} of {of} voted"),
}
"""What a student is shown of it."""

WORDS: CountedTexts = {
    **{f"grid.{state}": word for state, word in STATES.items()},
    "grid.since": _("{state} {age}"),
    "grid.sort": _("Sort now, moves {n}"),
    "grid.sorted": _("Sorted: {n} moved."),
    "grid.step": _("lab {lab}, step {step} of {steps}"),
    "grid.strips": _("{n} queues, {lag} messages behind"),
    "grid.lower": _("Lower"),
    "grid.note_saved": _("Note saved."),
    "grid.hand": _("{name} asks"),
    **{f"grid.did.{kind}": word for kind, word in DONE.items()},
    "grid.phase.predict": _("Reads the question."),
    "grid.phase.sealed": _("Prediction sealed."),
    "grid.phase.do": _("Does the task."),
    "grid.phase.say": _("Reports the observation."),
    "grid.phase.why": _("Explains why."),
    "grid.joined": _("Joined, reads the course page."),
    "grid.reaches": Counted(lambda n: ngettext("Reaches {n} sandbox.", "Reaches {n} sandboxes.", n)),
    "grid.reaches_none": _("No sandbox is awake"),
    "grid.selected": Counted(lambda n: ngettext("{n} student selected", "{n} students selected", n)),
    "grid.is_selected": _("selected"),
    "grid.unselected": _("No student is selected."),
    "grid.select": _("Select {name}"),
    "grid.freeze": _("Freeze {n}"),
    "grid.heal": _("Heal {n}"),
    "grid.asleep": Counted(lambda n: ngettext("{n} is asleep and skipped.", "{n} are asleep and skipped.", n)),
    "grid.sealed": Counted(
        lambda n: ngettext(
            "A fault opens {n} sealed prediction again.", "A fault opens {n} sealed predictions again.", n
        )
    ),
    "grid.send": Counted(lambda n: ngettext("{what}: {n} sandbox", "{what}: {n} sandboxes", n)),
    "grid.again": Counted(
        lambda n: ngettext("{n} sealed prediction is open again", "{n} sealed predictions are open again", n)
    ),
    "grid.effect.again": _("{did} The prediction is open again."),
    "grid.effect.refused": _("Broadcast not done: {why}"),
    **{f"grid.effect.{kind}": word for kind, word in EFFECTS.items()},
    "grid.sent": Counted(
        lambda n: ngettext(
            "{what}: {n} sandbox, at most {late} ms late", "{what}: {n} sandboxes, at most {late} ms late", n
        )
    ),
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
