"""Lab 8: retention, with a group that is offline and one that is too slow."""

from sandbox.control.actions import Action, AgeFiles, CleanFiles, SendMessages
from sandbox.journal.events import (
    FilesDeleted,
    MemberStateChanged,
    MinOffsetMoved,
    OffsetCommitted,
    OffsetMoved,
    QueueTaken,
)
from sandbox.kernel.chance import Chance
from sandbox.labs.board import row
from sandbox.labs.evidence import Evidence, Numbers, Seen, first, last
from sandbox.labs.evidence_measures import sends
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Number, choice
from sandbox.labs.script import Hands
from sandbox.labs.script_acts import act, restart, stop, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep, answer_of
from sandbox.labs.translation_marks import _
from sandbox.labs.truths import field_of
from sandbox.labs.verdict import Verdict

BROKER = "broker-a"
READER = "reader"
WORK_MS = 120  # one thread: a burst takes it most of a minute
PATIENCE_S = 30  # after a deletion; a pull that finds its offset gone is answered at once


def _draw(chance: Chance) -> dict[str, object]:
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "before": 20 + chance.below(20),
        "burst": 300 + 20 * chance.below(6),
        "body": 800,
        "broker": BROKER,
        "reader": READER,
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        topic(n, 1),
        member(n, actor=READER, threads=1, work_ms=(WORK_MS, WORK_MS)),
        SendMessages(topic=n["topic"], count=n["before"]),
    )


def _queue(evidence: Evidence) -> str:
    return f"{evidence.numbers['topic']}/{BROKER}/0"


def _cleaned(evidence: Evidence) -> Verdict | Seen[FilesDeleted]:
    """Return the newest deletion of log files in the step, or a verdict with the reason why there is none."""
    sent, runs = sends(evidence), evidence.actions("CleanFiles")
    if not sent:
        return Verdict.not_yet(_("No burst has been sent yet."))
    if not runs:
        return Verdict.not_yet(_("The deletion has not run yet."))
    if deleted := evidence.of(FilesDeleted, kind="commitlog"):
        return deleted[-1]
    if runs[-1].at_ms == evidence.now_ms:  # what it deletes is written after it
        return Verdict.not_yet(_("The deletion has not run yet."))
    if not evidence.actions("AgeFiles"):
        return Verdict.wrong(TOO_NEW, rests_on=[runs[-1]])
    return Verdict.wrong(
        _(
            "Nothing was deleted: the file being written stays, however old it is. Send a larger burst, age the "
            "files and delete again."
        ),
        rests_on=[runs[-1]],
    )


def _min(evidence: Evidence) -> Seen[MinOffsetMoved] | None:
    return last(evidence.of(MinOffsetMoved, topic=evidence.numbers["topic"]))


def _deleted_unread(evidence: Evidence) -> Verdict:
    n, moved = evidence.numbers, _min(evidence)
    if isinstance(deleted := _cleaned(evidence), Verdict):
        return deleted
    stopped = [
        entry for entry in evidence.of(MemberStateChanged, since=0) if entry.event.client_id in evidence.clients(READER)
    ]
    if stopped and stopped[-1].event.state == "running":
        return Verdict.wrong(ALIVE, rests_on=[deleted])
    commit = evidence.committed(n["group"], _queue(evidence))
    committed = 0 if commit is None else commit.event.offset
    if moved is None or moved.event.offset <= committed:
        return Verdict.wrong(
            _("Only messages that {group} has read were deleted. Send a larger burst, age the files and delete again."),
            rests_on=[deleted],
        )
    return Verdict.met(
        _("The queue now begins at {min}, and {group} has read up to {committed}."),
        min=moved.event.offset,
        committed=committed,
        rests_on=[deleted, moved, commit],
    )


def _does_wait(evidence: Evidence) -> Truth:
    n, moved = evidence.numbers, _min(evidence)
    commit = evidence.committed(n["group"], _queue(evidence))
    if moved is None or (commit is not None and moved.event.offset <= commit.event.offset):
        return Truth("waits")
    return Truth("deletes", (moved.seq,))


def _corrected(evidence: Evidence) -> Seen[OffsetMoved] | None:
    """Return the first correction of a pull below the queue's first offset, or None."""
    return first(evidence.of(OffsetMoved, group=evidence.numbers["group"]))


def _jump(evidence: Evidence) -> Seen[OffsetCommitted] | None:
    """Return the commit that follows the correction, or None."""
    if (corrected := _corrected(evidence)) is None:
        return None
    group, topic, offset = corrected.event.group, corrected.event.topic, corrected.event.given
    return first(evidence.of(OffsetCommitted, since=corrected.seq, group=group, topic=topic, offset=offset))


def _goes_on(evidence: Evidence) -> Verdict:
    """Return the verdict on the group's continuation after the correction."""
    n, corrected, jump = evidence.numbers, _corrected(evidence), _jump(evidence)
    assert corrected is not None
    taken = evidence.of(QueueTaken, since=corrected.seq, group=n["group"], topic=n["topic"])
    if jump is None or not taken:
        return Verdict.not_yet(
            _(
                "The offset was corrected. {reader} releases the queue after 10 s. At its next rebalance, the "
                "member acquires the queue again."
            )
        )
    return Verdict.met(
        _(
            "{group} continues at {start}; its committed offset was {committed}: {lost} messages were "
            "never finished, pulled ones included."
        ),
        start=taken[0].event.start_offset,
        committed=jump.event.previous or 0,
        lost=jump.event.offset - (jump.event.previous or 0),
        rests_on=[corrected, jump, taken[0]],
    )


def _is_corrected(evidence: Evidence) -> Verdict:
    if not (evidence.actions("RestartActor") or evidence.actions("StartConsumer")):
        return Verdict.not_yet(_("{group} has no member yet."))
    if _corrected(evidence) is None:
        return Verdict.not_yet(_("{reader} has not pulled yet."))
    return _goes_on(evidence)


def _where(evidence: Evidence) -> Truth:
    if (corrected := _corrected(evidence)) is None:
        return Truth("committed")
    end = evidence.end(_queue(evidence))
    return Truth("end" if corrected.event.given == end else "min", (corrected.seq,))


def _lost(evidence: Evidence) -> Truth:
    """Return the number of messages between the committed offset and the corrected one, which no member consumed."""
    jump = _jump(evidence)
    return Truth(0.0) if jump is None else Truth(float(jump.event.offset - (jump.event.previous or 0)), (jump.seq,))


def _is_given(evidence: Evidence, answer: object) -> bool:
    corrected = _corrected(evidence)
    return corrected is not None and answer == float(corrected.event.given)


def _not_pulled(evidence: Evidence) -> Truth:
    if (corrected := _corrected(evidence)) is None:
        return Truth(0.0)
    return Truth(float(corrected.event.given - corrected.event.asked), (corrected.seq,))


def _is_overtaken(evidence: Evidence) -> Verdict:
    if isinstance(deleted := _cleaned(evidence), Verdict):
        return deleted
    if stops := evidence.actions("StopActor"):
        return Verdict.wrong(AWAY, rests_on=[stops[-1]])
    if _corrected(evidence) is not None:
        return _goes_on(evidence)
    if evidence.lag(evidence.numbers["group"], evidence.numbers["topic"]) == 0 or (
        evidence.now_ms - deleted.at_ms > PATIENCE_S * 1000
    ):
        return Verdict.wrong(DRAINED, rests_on=[deleted])
    return Verdict.not_yet(_("{reader} has not pulled yet."))


def _does_lose(evidence: Evidence) -> Truth:
    corrected = _corrected(evidence)
    return Truth("none") if corrected is None else Truth("some", (corrected.seq,))


SEND = act(lambda n: SendMessages(topic=n["topic"], count=n["burst"], body_bytes=n["body"]))
AGE = act(lambda n: AgeFiles(broker=BROKER, hours=2))
CLEAN = act(lambda n: CleanFiles(broker=BROKER))


def _until_read(hands: Hands) -> None:
    hands.wait(hands.numbers["burst"] * WORK_MS / 1000 + 20)


def _oldest(hands: Hands) -> str:
    return str(row(hands, f"{BROKER}:0")["min"])


SOLUTION = Solution(
    SolvedStep(
        before=wait(10),
        predict="deletes",
        do=(stop(READER), wait(2), SEND, wait(3), AGE, CLEAN),
        within_s=60,
        say=_oldest,
        why="age",
    ),
    SolvedStep(predict="min", do=restart(READER), within_s=60, say=answer_of(_lost), why="broker"),
    SolvedStep(
        before=wait(30),
        predict="some",
        do=(SEND, wait(3), AGE, CLEAN),
        within_s=60,
        say=answer_of(_not_pulled),
        why="dropped",
    ),
)


TOO_NEW = _(
    "Nothing was deleted: files are kept for one hour, and no file is older. Age the files by 2 hours, then "
    "delete again."
)
ALIVE = _("{reader} is running, so the group is not away. Stop it, send another burst, age the files and delete again.")
IS_MIN = _(
    "You wrote {given}: there the group continues. The skipped messages are between that offset and the "
    "previously committed one."
)
AWAY = _(
    "{reader} was stopped: this step is about a member that keeps working. Restart it, send a burst, age the "
    "files and delete them."
)
DRAINED = _(
    "{reader} had read all deleted messages. Send another burst, age the files and delete them while it is still "
    "working."
)
NOT_PULLED = _("{reader} dropped the queue with its messages in memory: the committed offset jumped over them, too.")
BY_GROUP = _("The broker ignores groups when it deletes: {group} was still behind when the files were deleted.")

RETENTION = Lab(
    slug="retention",
    number="8",
    minutes=10,
    preset="teaching",
    title=_("Retention and unread messages"),
    goal=_(
        "A group that is down over the weekend relies on the broker to keep its messages. What does the broker rely on?"
    ),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"SendMessages", "StopActor", "RestartActor", "AgeFiles", "CleanFiles"}),
    steps=(
        Step(
            title=_("While the group is away"),
            rate=4,
            do=_(
                "Stop reader and send {burst} messages of {body} bytes to {topic}. Then age the files of "
                "{broker} by 2 hours, as if that time had passed, and delete old files. Here files are "
                "kept for one hour."
            ),
            watch=_("The left end of q0, and the committed offset of {group}."),
            mark="queue:broker-a:0",
            predict=Question(
                text=_("{group} has not read the burst when old files are deleted. What will the broker do?"),
                kind=choice(waits=_("keep the messages that {group} has not read"), deletes=_("delete it anyway")),
                right=_does_wait,
            ),
            check=_deleted_unread,
            say=Question(
                text=_("At which offset does q0 begin now? Read its left end."),
                kind=Number(),
                right=lambda e: field_of(_min(e), "offset"),
                again=_("You wrote {given}; read the number at the left end of q0 again."),
            ),
            why=Question(
                text=_("Which criterion does a broker use for deletion?"),
                kind=choice(
                    age=_("the last write to a file"),
                    read=_("the messages that all groups have read"),
                    topic=_("the topic: each has its own retention time"),
                ),
                right=lambda e: Truth("age"),
                again=_("All topics share the files of one log, so no topic can have its own retention time."),
                misreadings=(Misreading(BY_GROUP, chosen("read")),),
            ),
            hints=(_("Whole files are deleted, oldest first, but never the file being written."),),
        ),
        Step(
            title=_("Return of the group"),
            rate=4,
            do=_("Restart reader."),
            watch=_('"corrected" in the journal, and the committed offset about 10 s later.'),
            mark="queue:broker-a:0",
            predict=Question(
                text=_("The message at the committed offset of {group} is deleted. Where will {group} continue?"),
                kind=choice(
                    committed=_("at its committed offset: the messages come from the slave"),
                    min=_("at the oldest remaining message"),
                    end=_("at the end of the queue"),
                ),
                right=_where,
            ),
            check=_is_corrected,
            say=Question(
                text=_('How many messages did {group} skip? Read both offsets of "corrected" in the journal.'),
                kind=Number(_("messages"), within=1),
                right=_lost,
                again=_(
                    "You wrote {given}; subtract the committed offset before the correction from the one after "
                    "it. The journal shows both."
                ),
                misreadings=(Misreading(IS_MIN, _is_given),),
            ),
            why=Question(
                text=_("What moved the offset?"),
                kind=choice(
                    broker=_("The broker answered the pull with another offset, and reader used it."),
                    delete=_("The deletion moved the committed offset."),
                    reset=_("A user reset the group."),
                ),
                right=lambda e: Truth("broker"),
                again=_("The committed offset did not change between deletion and restart: see the journal."),
            ),
            hints=(_("For a pull below the start of a queue, the broker returns the start of the queue."),),
        ),
        Step(
            title=_("Running but too slow"),
            rate=4,
            do=_(
                "Send {burst} messages of {body} bytes again. While reader is working, age the files by 2 hours "
                "and delete."
            ),
            watch=_('"corrected" in the journal, and the jump of the committed offset after it.'),
            mark="queue:broker-a:0",
            predict=Question(
                text=_("reader pulls continuously, and has up to 100 messages in memory. Will it lose any?"),
                kind=choice(none=_("no: it is running"), some=_("yes: those that are deleted before it reads them")),
                right=_does_lose,
            ),
            check=_is_overtaken,
            say=Question(
                text=_(
                    'How many messages did reader not pull any more? Read both offsets of "corrected" in the journal.'
                ),
                kind=Number(_("messages"), within=1),
                right=_not_pulled,
                again=_("You wrote {given}; subtract the offset that was asked for from the one that was given."),
                misreadings=(Misreading(IS_MIN, _is_given),),
            ),
            why=Question(
                text=_("What happened to the messages in the memory of reader?"),
                kind=choice(
                    dropped=_("reader dropped them with the queue, and they are not redelivered."),
                    finished=_("reader finished them first."),
                    retry=_("They went to the retry topic."),
                ),
                right=lambda e: Truth("dropped"),
                again=_("Compare the committed offset before the jump with the pulled offset of reader."),
                misreadings=(Misreading(NOT_PULLED, chosen("finished")),),
            ),
            hints=(_("The messages in the memory of a member count as not finished."),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("forgets age", "running the deletion always deletes files", TOO_NEW).at(
            1, do=(stop(READER), wait(2), SEND, wait(3), CLEAN)
        ),
        SOLUTION.wrong("lets it read", "a running group falls behind by itself", ALIVE).at(
            1, do=(SEND, wait(3), AGE, CLEAN)
        ),
        SOLUTION.wrong("says min", "the skipped count is the offset of the first remaining message", IS_MIN).at(
            2, say=_oldest
        ),
        SOLUTION.wrong("waits until read", "deletion always loses messages", DRAINED).at(
            3, do=(SEND, _until_read, AGE, CLEAN), within_s=PATIENCE_S
        ),
        SOLUTION.wrong("pulled", "pulled messages are safe", NOT_PULLED).at(3, why="finished"),
    ),
)
