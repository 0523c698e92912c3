"""Lab 1: the start offset of a new group, which reads months-old messages."""

from sandbox.control.actions import Action, SendMessages
from sandbox.journal.events import ActionTaken, QueueTaken
from sandbox.kernel.chance import Chance
from sandbox.labs.evidence import Evidence, Numbers, Seen, last, queue_of
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Number, choice
from sandbox.labs.script_acts import act, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.truths import field_of
from sandbox.labs.verdict import Verdict

IN_MEMORY, NOT_FOUND = "zero_in_memory", "not_found"
QUEUES = 4


def _draw(chance: Chance) -> dict[str, object]:
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "second": chance.choice(("auditors", "drivers")),
        "old": 160 + 20 * chance.below(4),
        "more": 200,
        "bytes": 800,
        "row": f"broker-a:{chance.below(QUEUES)}",
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (topic(n, QUEUES), SendMessages(topic=n["topic"], count=n["old"], body_bytes=100))


def _queue(n: Numbers) -> str:
    """Return the key of the queue that the question is about."""
    return f"{n['topic']}/{n['row'].replace(':', '/')}"


def _taken(evidence: Evidence, group: str, since: int | None = None) -> dict[str, Seen[QueueTaken]]:
    """Return where a group began: queue → the first time a member acquired it."""
    taken: dict[str, Seen[QueueTaken]] = {}
    for entry in evidence.of(QueueTaken, since=since, group=group, topic=evidence.numbers["topic"]):
        taken.setdefault(queue_of(entry.event), entry)
    return taken


def _started(evidence: Evidence) -> Seen[ActionTaken] | None:
    return last(evidence.actions("StartConsumer"))


def _asked_for(started: Seen[ActionTaken], group: str) -> Verdict | None:
    """Return the mistake in how a group was started; None: there is none."""
    fields = started.event.fields
    if fields["from_where"] != "CONSUME_FROM_LAST_OFFSET":
        return Verdict.wrong(FROM_FIRST, group=fields["group"], given=fields["from_where"], rests_on=[started])
    if fields["group"] != group:
        return Verdict.wrong(
            _("{given} was started; the question is about {group}."),
            given=fields["group"],
            group=group,
            rests_on=[started],
        )
    return None


def _began_at_zero(evidence: Evidence) -> Verdict:
    n, started = evidence.numbers, _started(evidence)
    if started is None:
        return Verdict.not_yet(_("{group} has no member yet."))
    if (problem := _asked_for(started, n["group"])) is not None:
        return problem
    taken = _taken(evidence, n["group"])
    if len(taken) < QUEUES:
        return Verdict.not_yet(_("{count} of {all} queues have been acquired."), count=len(taken), all=QUEUES)
    return Verdict.met(
        _("{group} began at offset 0 in every queue, although it requested LAST."), rests_on=taken.values()
    )


def _began_at_the_end(evidence: Evidence) -> Verdict:
    n, started = evidence.numbers, _started(evidence)
    if started is None:
        return Verdict.not_yet(_("{group} has no member yet."), group=n["second"])
    if started.event.fields["group"] == n["group"]:
        return Verdict.wrong(SAME, rests_on=[started])
    if (problem := _asked_for(started, n["second"])) is not None:
        return problem
    taken = _taken(evidence, n["second"])
    if len(taken) < QUEUES:
        return Verdict.not_yet(_("{count} of {all} queues have been acquired."), count=len(taken), all=QUEUES)
    if early := [entry for entry in taken.values() if IN_MEMORY in entry.event.trace]:
        return Verdict.wrong(EARLY, rests_on=early)
    return Verdict.met(_("{second} began at the end of every queue."), rests_on=taken.values())


def _start(group: str) -> "Question":
    """Return the question for the start offset of one queue; `group` is the key of the group's name in the numbers."""

    def right(evidence: Evidence) -> Truth:
        n = evidence.numbers
        return field_of(_taken(evidence, n[group], since=0).get(_queue(n)), "start_offset")

    return Question(
        text=_("At which offset did the group begin in {row}? Read its start offset in the journal."),
        kind=Number(),
        right=right,
        again=_('You wrote {given}; look for "acquired" and {row} in the journal again.'),
        misreadings=(
            Misreading(
                COMMITTED, lambda e, answer: answer == float(e.end(_queue(e.numbers))) and answer != right(e).value
            ),
        ),
    )


def _code(group: str, code: str) -> "Question":
    return Question(
        text=_("What did the broker answer to the offset request of the new group?"),
        kind=choice(
            zero_in_memory=_("0: message 0 is still in memory."),
            not_found=_("No offset known: the client decides."),
            stored=_("The previously committed offset."),
        ),
        right=lambda e: Truth(code, tuple(entry.seq for entry in _taken(e, e.numbers[group], since=0).values())),
        again=_("Read the trace next to the start offset in the journal again."),
        misreadings=(Misreading(STORED, chosen("stored")),),
    )


SEND_MORE = (act(lambda n: SendMessages(topic=n["topic"], count=n["more"], body_bytes=n["bytes"])), wait(5))
START_SECOND = act(lambda n: member(n, group="second"))
SOLUTION = Solution(
    SolvedStep(predict="max", do=act(member), say=0, why=IN_MEMORY),
    SolvedStep(
        predict="max",
        do=(SEND_MORE, START_SECOND),
        say=lambda h: _taken(h.evidence, h.numbers["second"])[_queue(h.numbers)].event.start_offset,
        why=NOT_FOUND,
    ),
)


EARLY = _(
    "{second} also began at 0: message 0 is still in the memory of the broker. Start over, and send more "
    "messages first."
)
SAME = _(
    "{group} has committed offsets and resumes from them: only a new group requests a start offset. Start {second}."
)
FROM_FIRST = _(
    "{group} started with {given}, so it begins there and shows nothing about LAST. Use LAST and another group."
)
COMMITTED = _(
    "You wrote {given}: that is the end of the queue. The member began elsewhere and has read up to there since."
)
STORED = _("A new group has no committed offsets. Read the trace next to the start offset in the journal.")

BEGINNINGS = choice(
    max=_("At the end: only new messages."), zero=_("At offset 0: all old messages."), middle=_("In between, by time.")
)

START_OFFSET = Lab(
    slug="start-offset",
    number="1",
    minutes=9,
    preset="teaching",
    title=_("Old messages in a new group"),
    goal=_(
        "CONSUME_FROM_LAST_OFFSET is set, and a new group still receives all old messages; another new group does "
        "not. Why?"
    ),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"StartConsumer", "SendMessages"}),
    steps=(
        Step(
            title=_("A new group that requests the end"),
            do=_("{topic} has {old} messages. Start a member of the new group {group}, with CONSUME_FROM_LAST_OFFSET."),
            watch=_('"acquired" in the journal, and where the pins of {group} begin.'),
            mark="queue:{row}",
            predict=Question(text=_("Where will {group} begin?"), kind=BEGINNINGS, right=lambda e: Truth("zero")),
            check=_began_at_zero,
            say=_start("group"),
            why=_code("group", IN_MEMORY),
            hints=(_("A member first asks the broker, and applies LAST only after that."),),
        ),
        Step(
            title=_("The same after message 0 has left memory"),
            do=_(
                "Send {more} messages of {bytes} bytes to {topic}, and start a member of "
                "another new group, {second}, with CONSUME_FROM_LAST_OFFSET."
            ),
            watch=_('"acquired" in the journal, and where the pins of {second} begin.'),
            mark="queue:{row}",
            predict=Question(text=_("Where will {second} begin?"), kind=BEGINNINGS, right=lambda e: Truth("max")),
            check=_began_at_the_end,
            say=_start("second"),
            why=_code("second", NOT_FOUND),
            hints=(_("Here memory means the last 40 % of 256 KiB, counted back from the end of the log."),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("too early", "the second new group differs by itself", EARLY).at(2, do=START_SECOND),
        SOLUTION.wrong("same group", "every new member is a new group", SAME).at(
            2, do=(SEND_MORE, act(member)), within_s=20
        ),
        SOLUTION.wrong("from first", "FIRST and LAST decide alone", FROM_FIRST).at(
            1, predict="zero", do=act(lambda n: member(n, from_where="CONSUME_FROM_FIRST_OFFSET")), within_s=20
        ),
        SOLUTION.wrong("says end", "the start is where it is now", COMMITTED).at(
            1, say=lambda h: h.evidence.end(_queue(h.numbers))
        ),
        SOLUTION.wrong("thinks stored", "a new group has an offset", STORED).at(1, why="stored"),
    ),
)
