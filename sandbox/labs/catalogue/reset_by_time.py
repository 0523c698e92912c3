"""Lab 13: reset of a group by timestamp."""

from sandbox.control.actions import Action, ChangeActor, ResetOffsets, StartProducer
from sandbox.journal.events import ActionTaken, MessagesStored, OffsetsReset
from sandbox.kernel.chance import Chance
from sandbox.labs.board import header
from sandbox.labs.evidence import Evidence, Numbers, Seen, queue_of
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Number, choice
from sandbox.labs.script_acts import Act, Acts, act, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.verdict import Verdict

GOOD, BAD = "work", "wrong total"
BROKEN_S = 180
EARLY_MS = 1_000


def _draw(chance: Chance) -> dict[str, object]:
    return {
        "topic": chance.choice(("orders", "payments", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "rate": 3 + chance.below(4),
        "one": "left",
        "bad": BAD,
        "good": GOOD,
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        topic(n, 4),
        member(n, actor=n["one"], work_ms=(10, 30)),
        StartProducer(actor="shop", topic=n["topic"], rate_per_s=n["rate"]),
    )


def _changes(evidence: Evidence, handler: str) -> list[Seen[ActionTaken]]:
    return evidence.actions("ChangeActor", since=0, handler=handler)


def _window(evidence: Evidence) -> tuple[Seen[ActionTaken], Seen[ActionTaken]] | None:
    """Return the first break of the handler and its last repair, or None."""
    broken = _changes(evidence, BAD)
    mended = [entry for entry in _changes(evidence, GOOD) if broken and entry.seq > broken[0].seq]
    return (broken[0], mended[-1]) if mended else None


def _newest_window(evidence: Evidence) -> tuple[Seen[ActionTaken], Seen[ActionTaken] | None] | None:
    """Return the newest break and its repair (None if not repaired), or None.

    An earlier break that was repaired too early is skipped.
    """
    window: tuple[Seen[ActionTaken], Seen[ActionTaken] | None] | None = None
    for entry in sorted([*_changes(evidence, BAD), *_changes(evidence, GOOD)], key=lambda entry: entry.seq):
        if entry.event.fields["handler"] == BAD:
            window = window if window is not None and window[1] is None else (entry, None)
        elif window is not None and window[1] is None:
            window = window[0], entry
    return window


def _spoiled(evidence: Evidence, since: int = 0) -> set[tuple[str, int]]:
    """Return queue and offset of every message that the broken handler finished as a success, after an event."""
    return {
        (row.queue, row.offset)
        for row in evidence.deliveries
        if row.handler == BAD and row.group == evidence.numbers["group"] and row.seq > since
    }


def _is_mended(evidence: Evidence) -> Verdict:
    if (window := _newest_window(evidence)) is None:
        return Verdict.not_yet(_("The handler has not been broken yet."))
    broken, mended = window
    passed_s = ((evidence.now_ms if mended is None else mended.at_ms) - broken.at_ms) // 1000
    if mended is None:
        return Verdict.not_yet(_("The handler has been broken for {passed_s} s."), passed_s=passed_s)
    if passed_s < BROKEN_S:
        return Verdict.wrong(SHORT, passed_s=passed_s, wait_s=BROKEN_S, rests_on=[broken, mended])
    return Verdict.met(
        _("{count} messages were processed wrongly."),
        count=len(_spoiled(evidence, broken.seq)),
        rests_on=[broken, mended],
    )


def _shown_by(evidence: Evidence) -> Truth:
    """Return "none": wrong results with SUCCESS are committed like right ones, so neither lag nor retries follow."""
    window = _newest_window(evidence)
    return Truth("none", () if window is None else tuple(entry.seq for entry in window if entry is not None))


def _reset(evidence: Evidence) -> tuple[Seen[ActionTaken], Seen[OffsetsReset]] | None:
    """Return the newest ResetOffsets action with its event, or None."""
    for taken in reversed(evidence.actions("ResetOffsets")):
        for entry in evidence.of(OffsetsReset, since=taken.seq):
            if entry.cause == taken.seq:
                return taken, entry
    return None


def _is_repaired(evidence: Evidence) -> Verdict:
    n, reset, window = evidence.numbers, _reset(evidence), _window(evidence)
    assert window is not None, "the step before has seen it"
    if reset is None:
        return Verdict.not_yet(_("{group} has not been reset yet."))
    taken, event = reset
    seqs = [window[0].seq, taken.seq, event.seq]
    target, value = taken.event.fields["target"], taken.event.fields["value"]
    if event.event.skipped:
        return Verdict.wrong(
            _(
                "{skipped} messages were skipped: this reset moved forward. Undo it, and reset to the time at "
                "which the handler broke."
            ),
            skipped=event.event.skipped,
            rests_on=seqs,
        )
    missing = _spoiled(evidence) - {
        (row.queue, row.offset) for row in evidence.deliveries_of(n["group"], since=event.seq) if row.handler == GOOD
    }
    if target == "earliest" or (target == "time" and value < window[0].at_ms - EARLY_MS):
        return Verdict.wrong(EARLIEST, replayed=event.event.replayed, rests_on=seqs)
    if target == "time" and value > window[0].at_ms and _before(evidence, value):
        return Verdict.wrong(LATE, count=_before(evidence, value), rests_on=seqs)
    if missing:
        return Verdict.not_yet(
            _("{left} of the wrongly processed messages have not been processed again yet."), left=len(missing)
        )
    return Verdict.met(
        _("All {count} messages were processed again, and none was skipped."),
        count=len(_spoiled(evidence)),
        rests_on=seqs,
    )


def _before(evidence: Evidence, at_ms: int) -> int:
    """Count the wrongly processed messages that were stored before `at_ms`."""
    stored: dict[tuple[str, int], int] = {}
    for entry in evidence.of(MessagesStored, since=0):
        for offset in range(entry.event.first_offset, entry.event.first_offset + entry.event.count):
            stored[queue_of(entry.event), offset] = entry.at_ms
    return sum(stored.get(queue, at_ms) < at_ms for queue in _spoiled(evidence))


def _replayed_at_once(evidence: Evidence) -> Truth:
    """Return the number of messages that a reset at the time of the prediction replays.

    Messages stored after it do not count; an earlier, wrong reset may precede it.
    """
    if (reset := _reset(evidence)) is None:
        return Truth(0.0)
    ends: dict[str, int] = {}
    for entry in evidence.of(MessagesStored, since=0):
        if entry.seq < evidence.began:
            ends[queue_of(entry.event)] = entry.event.first_offset + entry.event.count
    return Truth(
        float(sum(max(0, ends.get(queue, 0) - after) for queue, _old, after in reset[1].event.rows)), (reset[1].seq,)
    )


def _replayed(evidence: Evidence) -> Truth:
    reset = _reset(evidence)
    return Truth(0.0) if reset is None else Truth(float(reset[1].event.replayed), (reset[1].seq,))


def _break_for(seconds: float) -> Acts:
    return (
        act(lambda n: ChangeActor(actor=n["one"], handler=BAD)),
        wait(seconds),
        act(lambda n: ChangeActor(actor=n["one"], handler=GOOD)),
    )


def _reset_to(offset_ms: int | None) -> Acts:
    """Return the act that resets to a time `offset_ms` after the break; None resets to the earliest message."""

    def reset(evidence: Evidence) -> Action | None:
        n, broken = evidence.numbers, _changes(evidence, BAD)
        return ResetOffsets(
            group=n["group"],
            topic=n["topic"],
            target="earliest" if offset_ms is None else "time",
            value=broken[0].at_ms + offset_ms if broken and offset_ms is not None else None,
            reason="wrong totals",
            confirm=n["group"],
        )

    return Act(reset, asks=frozenset({"value", "reason", "confirm"}))


SOLUTION = Solution(
    SolvedStep(
        before=wait(20),
        predict="none",
        do=_break_for(BROKEN_S + 2),
        within_s=15,
        say=lambda h: header(h, "lag"),
        why="success",
    ),
    SolvedStep(
        predict=lambda h: h.numbers["rate"] * BROKEN_S,
        do=_reset_to(-500),
        within_s=60,
        say=lambda h: h.evidence.of(OffsetsReset)[-1].event.replayed,
        why="offsets",
    ),
)


SHORT = _(
    "The handler was fixed after {passed_s} s. Break the handler again and leave it for {wait_s} s: such a fault "
    "takes that long to be noticed."
)
EARLIEST = _(
    "{replayed} messages are redelivered, more than were processed wrongly: the reset went back before the "
    "handler broke. Messages before that time were correct."
)
LATE = _("The first {count} messages stay wrong: the reset goes back to a time after the handler broke.")
RETRY = _(
    "No retry will follow: the handler returned SUCCESS each time. Look for retries in the header: it shows none."
)

RESET_BY_TIME = Lab(
    slug="reset-by-time",
    number="13",
    minutes=12,
    title=_("Reset by timestamp"),
    goal=_("A faulty version ran for three minutes. A reset can repair its results: how far back must it go?"),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"ChangeActor", "ResetOffsets", "UndoReset"}),
    steps=(
        Step(
            title=_("A handler with wrong results"),
            rate=20,
            do=_('Change the handler of {one} to "{bad}", wait 3 minutes, and change it back to "{good}".'),
            watch=_('Lag and "In / consumed": what does the board show about the fault?'),
            mark="header:lag",
            predict=Question(
                text=_(
                    "The handler returns SUCCESS with wrong results. Which figure of the Board will show the fault?"
                ),
                kind=choice(
                    lag=_("Lag: it grows."), retry=_("Retries: messages are tried again."), none=_("None of them.")
                ),
                right=_shown_by,
            ),
            check=_is_mended,
            say=Question(
                text=_("Read the lag of the group now."),
                kind=Number(_("messages"), within=15),
                right=lambda e: Truth(float(e.lag(e.numbers["group"], e.numbers["topic"]))),
                again=_(
                    "You wrote {given}; read the number under Lag again. Wrongly processed messages still count "
                    "as consumed."
                ),
            ),
            why=Question(
                text=_("Why will these messages not be redelivered automatically?"),
                kind=choice(
                    success=_("The handler returned SUCCESS, so they are committed."),
                    retry=_("They will: their retries are pending."),
                    deleted=_("The broker deletes consumed messages."),
                ),
                right=lambda e: Truth("success"),
                again=_("Consumed messages stay in the store until their files are deleted."),
                misreadings=(Misreading(RETRY, chosen("retry")),),
            ),
            hints=(_("{rate} messages arrive each second."),),
        ),
        Step(
            title=_("Reset to the time of the fault"),
            rate=4,
            do=_(
                "Find the second at which the handler broke in the journal. Preview a reset of {group} on "
                "{topic} to that time, at most one second before. Then apply it."
            ),
            watch=_("The preview, then the pins as they jump back."),
            mark="header:lag",
            predict=Question(
                text=_("How many messages will be redelivered if you apply the reset at once?"),
                kind=Number(_("messages"), share=0.1),
                right=_replayed_at_once,
            ),
            check=_is_repaired,
            say=Question(
                text=_("How many messages were redelivered? Read the reset in the journal."),
                kind=Number(_("messages")),
                right=_replayed,
                again=_("You wrote {given}; read the reset row again."),
            ),
            why=Question(
                text=_("What did the reset change?"),
                kind=choice(
                    offsets=_("Only the committed offsets of the group."),
                    messages=_("It resent the messages."),
                    clock=_("It set the timestamps of the messages back."),
                ),
                right=lambda e: Truth("offsets"),
                again=_("No message was written: the input did not change. Look at the pins."),
            ),
            hints=(_("The journal has a row for the handler change; you need its time."),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("too short", "any moment will do", SHORT).at(1, do=_break_for(30)),
        SOLUTION.wrong("earliest", "everything again does no harm", EARLIEST).at(2, do=_reset_to(None)),
        SOLUTION.wrong("too late", "about the time is enough", LATE).at(2, do=_reset_to(60_000)),
        SOLUTION.wrong("retry", "a retry mends wrong work", RETRY).at(1, why="retry"),
    ),
)
