"""Lab 3: a crash repeats finished messages, a clean stop only messages in work.

A consumer waits `awaitTerminationMillisWhenShutdown`, which is 0, for its listeners (client-behaviour.md 4).
"""

from sandbox.control.actions import Action
from sandbox.journal.events import ActionTaken, CrashRepeated, MemberStateChanged, QueuesAssigned, QueueTaken
from sandbox.kernel.chance import Chance
from sandbox.labs.board import header
from sandbox.labs.evidence import Evidence, Numbers, Seen, first
from sandbox.labs.evidence_measures import finished_twice, unfinished
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth
from sandbox.labs.question_kinds import Answer, EventClick, Number, choice
from sandbox.labs.queue_moves import given_again
from sandbox.labs.script_acts import crash, restart, send, stop, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.truths import field_of
from sandbox.labs.verdict import Verdict

PATIENCE_S = 45  # after a crash; repetitions are counted by then


def _draw(chance: Chance) -> dict[str, object]:
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "burst": 32 + 4 * chance.below(5),
        "queues": 4,
        "work_ms": 300 + 50 * chance.below(3),
        "one": "left",
        "other": "right",
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        topic(n, n["queues"]),
        *(member(n, actor=n[label], threads=2, work_ms=(n["work_ms"], n["work_ms"])) for label in ("one", "other")),
    )


def _burst(evidence: Evidence) -> Seen[ActionTaken] | None:
    return first(evidence.actions("SendMessages", topic=evidence.numbers["topic"]))


def _taken(evidence: Evidence, action: str, actor: str) -> Seen[ActionTaken] | None:
    """Return the first of these actions after the burst."""
    burst = _burst(evidence)
    return None if burst is None else first(evidence.actions(action, since=burst.seq, actor=actor))


def _stopped_cleanly(evidence: Evidence) -> Verdict:
    n = evidence.numbers
    if (burst := _burst(evidence)) is None:
        return Verdict.not_yet(_("No burst has been sent yet."))
    if (crash := _taken(evidence, "CrashActor", n["one"])) is not None:
        return Verdict.wrong(CRASHED, rests_on=[crash])
    if (stop := _taken(evidence, "StopActor", n["one"])) is None:
        return Verdict.not_yet(_("{one} is still running."))
    if left := unfinished(evidence, n["group"], evidence.queues_of(n["topic"])):
        return Verdict.not_yet(_("{left} messages are not finished yet."), left=left)
    return Verdict.met(
        _("{one} stopped cleanly: {again} messages were redelivered, {twice} of them already finished."),
        again=given_again(evidence, 0),
        twice=len(finished_twice(evidence.deliveries_of(n["group"]))),
        rests_on=[burst, stop],
    )


def _again(evidence: Evidence) -> Truth:
    """Return the number of repeated deliveries, as the header of the Board counts them."""
    return Truth(float(given_again(evidence, 0)))


def _crashed(evidence: Evidence) -> Verdict:
    n = evidence.numbers
    if _burst(evidence) is None:
        return Verdict.not_yet(_("No burst has been sent yet."))
    if (stop := _taken(evidence, "StopActor", n["other"])) is not None:
        return Verdict.wrong(STOPPED, rests_on=[stop])
    if (crash := _taken(evidence, "CrashActor", n["other"])) is None:
        return Verdict.not_yet(_("{other} is still running."))
    if (repeated := _repeated(evidence)) is not None:
        return Verdict.met(
            _("{count} messages that {other} had finished and not committed were delivered twice after its crash."),
            count=repeated.event.count,
            rests_on=[crash, repeated],
        )
    if evidence.passed_s(crash.at_ms) < PATIENCE_S:
        return Verdict.not_yet(_("Redelivered messages are being counted."))
    return Verdict.wrong(TOO_LATE, rests_on=[crash])


def _repeated(evidence: Evidence) -> Seen[CrashRepeated] | None:
    of_other = evidence.clients(evidence.numbers["other"])
    return first([entry for entry in evidence.of(CrashRepeated) if entry.event.client_id in of_other])


def _count(evidence: Evidence) -> Truth:
    return field_of(_repeated(evidence), "count")


def _which(evidence: Evidence) -> Truth:
    repeated = _repeated(evidence)
    return Truth("none") if repeated is None else Truth("done", (repeated.seq,))


def _cause(evidence: Evidence) -> Truth:
    """Return the seqs that are right answers for the crash: the action, and the state changes it caused."""
    n = evidence.numbers
    if (crash := _taken(evidence, "CrashActor", n["other"])) is None:
        return Truth(())
    states = [entry.seq for entry in evidence.of(MemberStateChanged) if entry.cause == crash.seq]
    return Truth(tuple(map(str, (crash.seq, *states))), (crash.seq,))


def _is_hand_over(evidence: Evidence, answer: Answer) -> bool:
    seqs = {entry.seq for entry in evidence.of(QueuesAssigned)} | {entry.seq for entry in evidence.of(QueueTaken)}
    return answer in {str(seq) for seq in seqs}


SOLUTION = Solution(
    SolvedStep(
        predict=0, do=(send("burst"), wait(1.5), stop("one")), say=lambda h: header(h, "delivered_again"), why="work"
    ),
    SolvedStep(
        before=(restart("one"), wait(10)),
        predict="done",
        do=(send("burst"), wait(1.5), crash("other")),
        say=lambda h: h.evidence.of(CrashRepeated)[0].event.count,
        why=lambda h: str(h.evidence.actions("CrashActor")[0].seq),
    ),
)


STOPPED = _("{other} was stopped cleanly: it committed before it left. Restart it, send another burst and crash it.")
TOO_LATE = _(
    "No message was delivered twice: {other} had committed everything, at most 5 s after it finished. Restart "
    "it, send another burst and crash it at once."
)
BURST = _(
    "You wrote {given}: that is the whole burst. Only messages that {other} received and did not commit are "
    'redelivered; read "delivered twice" in the journal.'
)
HAND_OVER = _(
    "At that event, the other members take over the queues. The reason is an earlier event: follow the cause of "
    "your event."
)
CRASHED = _(
    "{one} was crashed. A clean stop first commits finished messages: restart {one}, send another burst and stop it."
)

CRASH_AND_STOP = Lab(
    slug="crash-and-stop",
    number="3",
    minutes=9,
    title=_("Crash and clean stop"),
    goal=_("Every deployment stops processes. How a process ends decides whether finished work is repeated."),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"SendMessages", "StopActor", "CrashActor", "RestartActor"}),
    steps=(
        Step(
            title=_("Clean stop during work"),
            do=_("Send a burst of {burst} messages to {topic}, and stop {one} at once, while it is working."),
            watch=_('The cells of {one}, and "Delivered again" in the header.'),
            mark="header:again",
            predict=Question(
                text=_("How many of the {burst} messages will be redelivered?"),
                kind=Number(_("messages"), within=1),
                right=_again,
            ),
            check=_stopped_cleanly,
            say=Question(
                text=_('How many messages were redelivered? Read "Delivered again" in the header.'),
                kind=Number(_("messages")),
                right=_again,
                again=_('You wrote {given}; read "Delivered again" in the header once more.'),
            ),
            why=Question(
                text=_("Which messages can a clean stop cause to be redelivered?"),
                kind=choice(
                    work=_("Those in progress: listeners are interrupted, not awaited."),
                    done=_("Those finished but not committed yet."),
                    all=_("All messages in the memory of {one}."),
                ),
                right=lambda e: Truth("work"),
                again=_("{one} has two threads, and commits finished messages before it leaves."),
            ),
            hints=(_("A clean stop interrupts messages in progress, commits finished ones, and leaves the group."),),
        ),
        Step(
            title=_("The same with a crash"),
            do=_("Send a burst again, and crash {other} while it is working."),
            watch=_(
                "The offset pins of the crashed member's queues before the crash, and where the other members "
                "start after it."
            ),
            mark="member:{other}",
            predict=Question(
                text=_("Which messages will be redelivered this time?"),
                kind=choice(
                    none=_("none: {one} continues where {other} stopped"),
                    work=_("those in progress, as after the clean stop"),
                    done=_("also finished ones: those that were not committed"),
                ),
                right=_which,
            ),
            check=_crashed,
            say=Question(
                text=_('How many messages were delivered twice? Read "delivered twice" in the journal.'),
                kind=Number(_("messages")),
                right=_count,
                again=_('You wrote {given}; read "delivered twice" in the journal again.'),
                misreadings=(Misreading(BURST, lambda e, answer: answer == e.numbers["burst"]),),
            ),
            why=Question(
                text=_("Click the event that caused the redelivery of these messages."),
                kind=EventClick(),
                right=_cause,
                again=_("That event did not cause the redelivery. Look for the event that ended {other}."),
                misreadings=(Misreading(HAND_OVER, _is_hand_over),),
            ),
            hints=(
                _("Offsets are committed every 5 s, and with each pull."),
                _("Work finished after the last commit is done again by the next owner."),
            ),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("stopped", "a stop is a crash", STOPPED).at(
            2, do=(send("burst"), wait(1.5), stop("other")), within_s=30
        ),
        SOLUTION.wrong("too late", "a crash always repeats", TOO_LATE).at(
            2, do=(send("burst"), wait(31.5), crash("other")), within_s=PATIENCE_S + 5
        ),
        SOLUTION.wrong("burst", "everything comes again", BURST).at(2, say=lambda h: h.numbers["burst"]),
        SOLUTION.wrong("hand-over", "the rebalance repeats messages", HAND_OVER).at(
            2, why=lambda h: str(h.evidence.of(QueueTaken)[-1].seq)
        ),
        SOLUTION.wrong("crashed first", "a crash is a stop", CRASHED).at(
            1, do=(send("burst"), wait(1.5), crash("one")), within_s=20
        ),
    ),
)
