"""Lab 2: one slow message pins the committed offset."""

from sandbox.control.actions import Action, ChangeActor, StartProducer
from sandbox.journal.events import ActionTaken, CrashRepeated, MessagePinned, PullAnswered
from sandbox.kernel.chance import Chance
from sandbox.labs.board import row
from sandbox.labs.evidence import Evidence, Numbers, Seen, first, queue_of
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Number, choice
from sandbox.labs.script import Hands
from sandbox.labs.script_acts import Acts, act, crash, restart, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep, answer_of
from sandbox.labs.translation_marks import _
from sandbox.labs.truths import field_of
from sandbox.labs.verdict import Verdict

HELD_S = 60
AHEAD = 50  # messages pulled beyond the pinned one
SLOW_MS = 300_000
PATIENCE_S = 60


def _draw(chance: Chance) -> dict[str, object]:
    queue = chance.below(4)
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "one": "left",
        "rate": 8 + chance.below(5),
        "row": f"broker-a:{queue}",
        "q": f"q{queue}",
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        topic(n, 4),
        member(n, actor=n["one"], work_ms=(20, 60)),
        StartProducer(actor="shop", topic=n["topic"], rate_per_s=n["rate"]),
    )


def _pin(evidence: Evidence, since: int | None = None) -> Seen[MessagePinned] | None:
    """Return the first MessagePinned event of the step's queue."""
    n = evidence.numbers
    queue = f"{n['topic']}/{n['row'].replace(':', '/')}"
    return first(
        [entry for entry in evidence.of(MessagePinned, since=since, group=n["group"]) if queue_of(entry.event) == queue]
    )


def _is_pinned(evidence: Evidence) -> Verdict:
    n = evidence.numbers
    if (pinned := _pin(evidence)) is None:
        slowed = evidence.actions("ChangeActor")
        if slowed and slowed[-1].event.fields["slow_queue"] not in (None, n["row"]):
            return Verdict.wrong(THERE, there=slowed[-1].event.fields["slow_queue"], rests_on=[slowed[-1]])
        if slowed and (slowed[-1].event.fields["slow_ms"] or 0) < SLOW_MS:
            return Verdict.wrong(SHORT, slow_s=(slowed[-1].event.fields["slow_ms"] or 0) // 1000, rests_on=[slowed[-1]])
        return Verdict.not_yet(_("No message of {row} is stuck yet."))
    queue = queue_of(pinned.event)
    held_s = (evidence.now_ms - pinned.at_ms + pinned.event.age_ms) // 1000
    pulled = [entry for entry in evidence.of(PullAnswered, group=n["group"]) if queue_of(entry.event) == queue]
    ahead = 0 if not pulled else pulled[-1].event.next_offset - pinned.event.offset
    if held_s < HELD_S or ahead < AHEAD:
        return Verdict.not_yet(
            _("Offset {offset} has been blocked for {held_s} s, and pulls are {ahead} messages ahead."),
            offset=pinned.event.offset,
            held_s=held_s,
            ahead=ahead,
        )
    commit = evidence.committed(n["group"], queue)
    return Verdict.met(
        _("{offset} was blocked for {held_s} s while pulls moved {ahead} messages ahead."),
        offset=pinned.event.offset,
        held_s=held_s,
        ahead=ahead,
        rests_on=[pinned, pulled[-1], commit],
    )


def _committed(evidence: Evidence) -> Truth:
    if (pinned := _pin(evidence, since=0)) is None:
        return Truth(0.0)
    commit = evidence.committed(evidence.numbers["group"], queue_of(pinned.event))
    return Truth(float(pinned.event.offset), (pinned.seq,) if commit is None else (pinned.seq, commit.seq))


def _pulled(evidence: Evidence) -> float:
    """Return the offset after the newest message pulled from the pinned queue."""
    if (pinned := _pin(evidence, since=0)) is None:
        return 0.0
    pulls = evidence.of(PullAnswered, since=0, group=pinned.event.group)
    offsets = [entry.event.next_offset for entry in pulls if queue_of(entry.event) == queue_of(pinned.event)]
    return float(max(offsets, default=0))


def _crash(evidence: Evidence) -> Seen[ActionTaken] | None:
    return first(evidence.actions("CrashActor"))


def _came_again(evidence: Evidence) -> Verdict:
    if (crash := _crash(evidence)) is None:
        if stops := evidence.actions("StopActor"):
            return Verdict.wrong(
                _("{one} received a stop and is waiting for its slow message. Crash it."), rests_on=[stops[-1]]
            )
        return Verdict.not_yet(_("{one} is still running."))
    if not evidence.actions("RestartActor", since=crash.seq):
        if evidence.now_ms - crash.at_ms > PATIENCE_S * 1000:
            return Verdict.wrong(DOWN, rests_on=[crash])
        return Verdict.not_yet(_("{one} is down. Restart it."))
    if (repeated := _repeated(evidence)) is None:
        return Verdict.not_yet(_("Redelivered messages are being counted."))
    return Verdict.met(
        _("{count} messages were delivered twice."), count=repeated.event.count, rests_on=[crash, repeated]
    )


def _repeated(evidence: Evidence) -> Seen[CrashRepeated] | None:
    return first(evidence.of(CrashRepeated, group=evidence.numbers["group"]))


def _count(evidence: Evidence) -> Truth:
    return field_of(_repeated(evidence), "count")


def _slow(ms: int = SLOW_MS, *, other: bool = False) -> Acts:
    """Return the script that makes the next message of the queue slow, or of another queue."""
    return wait(10), act(
        lambda n: ChangeActor(actor=n["one"], slow_queue=_other(n["row"]) if other else n["row"], slow_ms=ms)
    )


def _other(row: str) -> str:
    return "broker-a:1" if row == "broker-a:0" else "broker-a:0"


def _beyond_the_pin(hands: Hands) -> float:
    queue = row(hands, hands.numbers["row"])
    return float(queue["max"]) - float(queue["committed"])


SOLUTION = Solution(
    SolvedStep(
        predict="stays",
        do=_slow(),
        within_s=150,
        say=lambda h: float(row(h, h.numbers["row"])["committed"]),
        why="smallest",
    ),
    SolvedStep(predict=_beyond_the_pin, do=(crash("one"), restart("one")), say=answer_of(_count), why="above"),
)


THERE = _("The slow message is in {there}; make the next message of {row} slow.")
SHORT = _("{slow_s} s end too soon; make the message slow for 5 minutes.")
PULLED = _("You wrote {given}: that is how far messages were pulled. The pin marks the committed offset, further left.")
PULLS = _("Pulls continue: the numbers at the right end rise. Something else blocks the pin.")
DOWN = _("{one} is down, and the group has no other member: no message is redelivered until it runs. Restart it.")

PINNED_OFFSET = Lab(
    slug="pinned-offset",
    number="2",
    minutes=10,
    title=_("A slow message and the committed offset"),
    goal=_("One slow message can hold back the commit of all messages after it, and a crash shows the price."),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"ChangeActor", "StopActor", "CrashActor", "RestartActor"}),
    steps=(
        Step(
            title=_("A message that does not finish"),
            rate=4,
            do=_(
                "Make the next message of {row} slow for 5 minutes (on the card of {one}), and watch {q} for a minute."
            ),
            watch=_("The pin of {q}, and the cells to its right."),
            mark="queue:{row}",
            predict=Question(
                text=_("What will happen to the committed offset of {q} while the slow message is processed?"),
                kind=choice(
                    moves=_("It moves forward with the messages that finish."),
                    stays=_("It stays at the slow message."),
                    back=_("It moves back."),
                ),
                right=lambda e: Truth("stays"),
            ),
            check=_is_pinned,
            say=Question(
                text=_("Read the committed offset of {q}."),
                kind=Number(),
                right=_committed,
                again=_("You wrote {given}; read the number at the pin of {q} again."),
                misreadings=(
                    Misreading(PULLED, lambda e, answer: isinstance(answer, float) and abs(answer - _pulled(e)) <= 5),
                ),
            ),
            why=Question(
                text=_("Why does the committed offset of the queue stop?"),
                kind=choice(
                    smallest=_("The committed offset is the smallest offset that is not finished."),
                    pulls=_("The member stops pulling from {q}."),
                    broker=_("The broker refuses the commit."),
                ),
                right=lambda e: Truth("smallest"),
                again=_("Commits are sent every 5 s and accepted; each contains the same number."),
                misreadings=(Misreading(PULLS, chosen("pulls")),),
            ),
            hints=(_("A commit means: everything below this offset is done."),),
        ),
        Step(
            title=_("The cost of a crash now"),
            rate=4,
            do=_("Crash {one}, and restart it."),
            watch=_("Where {q} starts after the restart."),
            mark="queue:{row}",
            predict=Question(
                text=_("How many messages will be delivered twice?"),
                kind=Number(_("messages"), share=0.1, within=5),
                right=_count,
            ),
            check=_came_again,
            say=Question(
                text=_('How many messages were delivered twice? Read "delivered twice" in the journal.'),
                kind=Number(_("messages")),
                right=_count,
                again=_('You wrote {given}; read "delivered twice" in the journal again.'),
            ),
            why=Question(
                text=_("Which messages were delivered twice?"),
                kind=choice(
                    above=_("Those that the member had received at or above the committed offset."),
                    slow=_("Only the slow one."),
                    all=_("All messages of {q} since the beginning."),
                ),
                right=lambda e: Truth("above"),
                again=_("Compare the offset at which {q} was acquired again with the pin before the crash."),
            ),
            hints=(_("What is between the pin and the right end of the cells?"),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("another queue", "any queue will do", THERE).at(1, do=_slow(other=True)),
        SOLUTION.wrong("too short", "five seconds are enough", SHORT).at(1, do=_slow(5_000), within_s=20),
        SOLUTION.wrong("reads pulls", "committed is what was pulled", PULLED).at(1, say=lambda h: _pulled(h.evidence)),
        SOLUTION.wrong("blames pulls", "pulling has stopped", PULLS).at(1, why="pulls"),
        SOLUTION.wrong("never restarts", "messages come again by themselves", DOWN).at(
            2, predict=10, do=crash("one"), within_s=PATIENCE_S + 20
        ),
    ),
)
