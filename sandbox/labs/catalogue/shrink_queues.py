"""Lab 6: a smaller number of queues without unconsumed messages."""

from sandbox.control.actions import Action, StartProducer
from sandbox.journal.events import MessagesStored
from sandbox.kernel.chance import Chance
from sandbox.labs.board import row
from sandbox.labs.evidence import Evidence, Numbers, Seen
from sandbox.labs.evidence_measures import assignments, newest_change, unfinished
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Choice, Number, choice
from sandbox.labs.script_acts import change_topic, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.verdict import Verdict

BROKER = "broker-a"
QUIET_S = 10
WORK_MS = 400  # one thread a member: the group is a little slower than the producer, so messages wait


def _draw(chance: Chance) -> dict[str, object]:
    members = 2 + chance.below(2)
    low = members * (2 + chance.below(2))
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "members": members,
        "low": low,
        "high": 2 * low,
        "last": 2 * low - 1,
        "rate": round(1.2 * members * 1000 / WORK_MS),
        "each": low // members,
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        topic(n, n["high"]),
        member(n, copies=n["members"], threads=1, work_ms=(WORK_MS, WORK_MS)),
        StartProducer(actor="shop", topic=n["topic"], rate_per_s=n["rate"]),
    )


def _upper(n: Numbers) -> list[str]:
    """Return the keys of the queues to be removed."""
    return [f"{n['topic']}/{BROKER}/{queue_id}" for queue_id in range(n["low"], n["high"])]


def _stored(evidence: Evidence) -> list[Seen[MessagesStored]]:
    """List the messages stored in the queues to be removed, the oldest first."""
    n = evidence.numbers
    stored = evidence.of(MessagesStored, since=0, topic=n["topic"])
    return [entry for entry in stored if entry.event.queue_id >= n["low"]]


def _left(evidence: Evidence, before: int | None = None) -> int:
    """Count the messages of these queues that no member has finished, now or before an event."""
    return unfinished(evidence, evidence.numbers["group"], _upper(evidence.numbers), before)


def _is_drained(evidence: Evidence) -> Verdict:
    n, changed = evidence.numbers, newest_change(evidence, evidence.numbers["topic"])
    if changed is None:
        return Verdict.not_yet(_("{topic} still has {high} write queues."))
    write, read = changed.event.write_queues, changed.event.read_queues
    if write == n["low"] and read < n["high"]:
        return Verdict.wrong(BOTH, rests_on=[changed])
    if read < n["high"]:
        return Verdict.wrong(READ_FIRST, read=read, rests_on=[changed])
    if write != n["low"]:
        return Verdict.wrong(_("There are {write} write queues: {low} are required."), write=write, rests_on=[changed])
    newest_ms = max([entry.at_ms for entry in _stored(evidence)], default=0)
    if (quiet_s := (evidence.now_ms - max(newest_ms, changed.at_ms)) // 1000) < QUIET_S:
        return Verdict.not_yet(
            _("Queues {low} to {last} have received no message for {quiet_s} s; watch for {wait_s} s."),
            quiet_s=quiet_s,
            wait_s=QUIET_S,
        )
    if left := _left(evidence):
        return Verdict.not_yet(_("{left} messages in queues {low} to {last} are not finished."), left=left)
    return Verdict.met(
        _("Queues {low} to {last} are consumed to their ends, and receive no new messages."),
        rests_on=[changed, *_stored(evidence)[-1:]],
    )


def _stops(evidence: Evidence) -> Truth:
    """Return when the last message is stored in the removed queues: always "soon" after the change.

    A producer receives the route within 30 s.  A student who lowered both numbers at once has not waited for that.
    """
    changed = newest_change(evidence, evidence.numbers["topic"])
    later = [entry.seq for entry in _stored(evidence) if changed is not None and entry.seq > changed.seq]
    return Truth("soon", (later[0], later[-1]) if later else ())


def _end_of_last(evidence: Evidence) -> Truth:
    queue = _upper(evidence.numbers)[-1]
    mine = [entry.seq for entry in _stored(evidence) if entry.event.queue_id == evidence.numbers["last"]]
    return Truth(float(evidence.end(queue)), tuple(mine[-1:]))


def _is_shrunk(evidence: Evidence) -> Verdict:
    n, changed = evidence.numbers, newest_change(evidence, evidence.numbers["topic"])
    if changed is None:
        return Verdict.not_yet(_("The group still reads {high} queues."))
    write, read = changed.event.write_queues, changed.event.read_queues
    if write != n["low"]:
        return Verdict.wrong(BACK, write=write, rests_on=[changed])
    if read != n["low"]:
        return Verdict.wrong(_("There are {read} read queues: {low} are required."), read=read, rests_on=[changed])
    if left := _left(evidence, changed.seq):
        return Verdict.wrong(
            _(
                "{left} messages remain in queues that are no longer read. Set {high} read queues again until "
                "they are finished."
            ),
            left=left,
            rests_on=[changed],
        )
    assigned = evidence.assigned(n["group"], n["topic"]).values()
    if any(set(entry.event.queues) & set(_upper(n)) for entry in assigned):
        return Verdict.not_yet(_("The members have not rebalanced over the {low} queues yet."))
    return Verdict.met(
        _("There are {low} queues, and every message in the other queues was finished first."),
        rests_on=[changed, *assignments(evidence, n["group"], n["topic"])],
    )


def _each(evidence: Evidence) -> Truth:
    n = evidence.numbers
    most = max((len(entry.event.queues) for entry in evidence.assigned(n["group"], n["topic"]).values()), default=0)
    return Truth(float(most), assignments(evidence, n["group"], n["topic"]))


SOLUTION = Solution(
    SolvedStep(
        predict="soon",
        do=(wait(20), change_topic("low", "high")),
        say=lambda h: row(h, f"{BROKER}:{h.numbers['last']}")["max"],
        why="route",
    ),
    SolvedStep(predict=lambda h: h.numbers["each"], do=change_topic("low", "low"), why="stay"),
)


BOTH = _(
    "Both counts changed at once. The broker refuses what shop still sends to queues {low} to {last}, and "
    "members release them on the new route, empty or not. Set {high} read queues again."
)
READ_FIRST = _(
    "There are {read} read queues but still {high} write queues: more messages stay unread every second. Reduce "
    "the write queues first."
)
NONE = _("You wrote 0: there the queue begins. The question is about the end of queue {last}, at the right of its row.")
BACK = _(
    "There are {write} write queues again, and the group does not read messages in the upper ones. Keep {low} "
    "write queues."
)

SHRINK_QUEUES = Lab(
    slug="shrink-queues",
    number="6",
    minutes=8,
    title=_("Fewer queues without message loss"),
    goal=_(
        "A topic needs fewer queues, and producers keep sending. In the wrong order, this change leaves messages "
        "unread."
    ),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"ChangeTopic"}),
    steps=(
        Step(
            title=_("Fewer write queues first"),
            rate=2,
            do=_(
                "Change {topic} to {low} write queues and keep {high} read queues. Then wait until queues {low} "
                "to {last} are empty."
            ),
            watch=_("The rows of queues {low} to {last}: their ends stop, and the group continues to read."),
            mark="lanes",
            predict=Question(
                text=_("When is the last message stored in queues {low} to {last}?"),
                kind=Choice(
                    (
                        ("at once", _("Before the change: after it, these queues accept no messages.")),
                        ("soon", _("A few seconds after the change, half a minute at most.")),
                    )
                ),
                right=_stops,
            ),
            check=_is_drained,
            say=Question(
                text=_("Read on the Board: at which offset does queue {last} end?"),
                kind=Number(),
                right=_end_of_last,
                again=_("You wrote {given}; look at the row of queue {last} again, at its right end."),
                misreadings=(Misreading(NONE, lambda e, answer: answer == 0),),
            ),
            why=Question(
                text=_("Why can messages still be stored in these queues after the change?"),
                kind=choice(
                    route=_("The producer requests the route every 30 s, and uses its old route until then."),
                    broker=_("The broker writes the change to its disk only after 30 s."),
                    group=_("The change takes effect only after the group finishes these queues."),
                ),
                right=lambda e: Truth("route"),
                again=_(
                    "The broker has the new counts at once, and does not ask groups. Which program selects the "
                    "queue of a message?"
                ),
                misreadings=(
                    Misreading(
                        _(
                            "The broker accepts the messages because these queues are still read queues: it "
                            "applies the new counts at once."
                        ),
                        chosen("broker"),
                    ),
                ),
            ),
            hints=(_("Change the two counts of a topic on the Topics page, separately if needed."),),
        ),
        Step(
            title=_("Fewer read queues"),
            rate=2,
            do=_("Now also change {topic} to {low} read queues."),
            watch=_("The cards of the {members} members: lanes disappear."),
            mark="lanes",
            predict=Question(text=_("How many queues will each member have?"), kind=Number(_("queues")), right=_each),
            check=_is_shrunk,
            why=Question(
                text=_("What happens to messages in a queue that is no longer read?"),
                kind=choice(
                    stay=_("They stay in their queue, unread, until retention deletes them."),
                    moved=_("The broker moves them to the remaining queues."),
                    deleted=_("They are deleted at once."),
                ),
                right=lambda e: Truth("stay"),
                again=_(
                    "A message never moves to another queue, and nothing is deleted before its retention ends: "
                    "so the order matters."
                ),
            ),
            hints=(_("{low} queues, {members} members: AVG assigns them evenly."),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("both", "a topic shrinks in one step", BOTH).at(
            1, predict="at once", do=(wait(20), change_topic("low", "low")), within_s=5
        ),
        SOLUTION.wrong("read first", "the order of the two changes does not matter", READ_FIRST).at(
            1, predict="at once", do=(wait(20), change_topic("high", "low")), within_s=5
        ),
        SOLUTION.wrong("says none", "the end of a queue is the number of messages left in it", NONE).at(1, say=0),
        SOLUTION.wrong("writes again", "an emptied queue stays empty", BACK).at(
            2, predict=1, do=change_topic("high", "low"), within_s=5
        ),
    ),
)
