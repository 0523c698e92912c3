"""Lab 7: more write queues than read queues, and more read queues than write queues."""

from sandbox.control.actions import Action, StartProducer
from sandbox.journal.events import MessagesStored
from sandbox.kernel.chance import Chance
from sandbox.labs.board import board
from sandbox.labs.evidence import Evidence, Numbers, Seen
from sandbox.labs.evidence_measures import assignments, newest_change
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Number, choice
from sandbox.labs.script import Hands
from sandbox.labs.script_acts import change_topic
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.verdict import Verdict

BROKER = "broker-a"
STORED = 5  # in each new queue, before it is said that they are not read
QUIET_S = 15


def _draw(chance: Chance) -> dict[str, object]:
    low = 3 + chance.below(3)
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "low": low,
        "high": 2 * low,
        "last": 2 * low - 1,
        "below": low - 1,
        "members": low,
        "rate": 4 * low,
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        topic(n, n["low"]),
        member(n, copies=n["members"]),
        StartProducer(actor="shop", topic=n["topic"], rate_per_s=n["rate"]),
    )


def _upper(n: Numbers) -> list[str]:
    """Return the keys of the queues that the topic did not have at first."""
    return [f"{n['topic']}/{BROKER}/{queue_id}" for queue_id in range(n["low"], n["high"])]


def _read_offsets(evidence: Evidence, queue: str, *, since: int | None = None) -> set[int]:
    rows = evidence.deliveries_of(evidence.numbers["group"], since=since, queue=queue, outcome="SUCCESS")
    return {row.offset for row in rows}


def _stored(evidence: Evidence, queue: str) -> list[Seen[MessagesStored]]:
    queue_id = int(queue.rsplit("/", 1)[1])
    return evidence.of(MessagesStored, since=0, topic=evidence.numbers["topic"], queue_id=queue_id)


def _unread(evidence: Evidence) -> list[str]:
    """Return the new queues that have messages of which none was delivered."""
    return [
        queue
        for queue in _upper(evidence.numbers)
        if evidence.end(queue) and not _read_offsets(evidence, queue, since=0)
    ]


def _is_stranded(evidence: Evidence) -> Verdict:
    n, changed = evidence.numbers, newest_change(evidence, evidence.numbers["topic"])
    if changed is None:
        return Verdict.not_yet(_("{topic} still has {low} write queues and {low} read queues."))
    write, read = changed.event.write_queues, changed.event.read_queues
    if write == read:
        return Verdict.wrong(BOTH, write=write, rests_on=[changed])
    if read > write:
        return Verdict.wrong(TURNED, write=write, read=read, rests_on=[changed])
    if (write, read) != (n["high"], n["low"]):
        return Verdict.wrong(
            _("There are {write} write queues and {read} read queues: the step asks for {high} and {low}."),
            write=write,
            read=read,
            rests_on=[changed],
        )
    full = [queue for queue in _unread(evidence) if evidence.end(queue) >= STORED]
    if len(full) < n["low"]:
        return Verdict.not_yet(_("{now} of the {low} new queues have {stored} messages."), now=len(full), stored=STORED)
    return Verdict.met(
        _("{low} queues have messages, but no member reads them."),
        rests_on=[changed, *(_stored(evidence, queue)[0].seq for queue in full)],
    )


def _stranded(evidence: Evidence) -> Truth:
    unread = _unread(evidence)
    return Truth(float(len(unread)), tuple(_stored(evidence, queue)[0].seq for queue in unread))


def _is_read(evidence: Evidence) -> Verdict:
    n, changed = evidence.numbers, newest_change(evidence, evidence.numbers["topic"])
    if changed is None:
        return Verdict.not_yet(_("Messages are still stored in {low} queues that no member reads."))
    if changed.event.read_queues < n["high"]:
        return Verdict.wrong(SHRUNK, read=changed.event.read_queues, rests_on=[changed])
    missing = {
        queue: set(range(_end_at(evidence, queue, changed.seq))) - _read_offsets(evidence, queue) for queue in _upper(n)
    }
    if left := sum(map(len, missing.values())):
        return Verdict.not_yet(_("{left} of the waiting messages have not been delivered yet."), left=left)
    return Verdict.met(
        _("All waiting messages were delivered, starting at offset 0."), rests_on=[changed, *_first_read(evidence)]
    )


def _end_at(evidence: Evidence, queue: str, seq: int) -> int:
    return max(
        (entry.event.first_offset + entry.event.count for entry in _stored(evidence, queue) if entry.seq < seq),
        default=0,
    )


def _first_read(evidence: Evidence) -> list[int]:
    rows = evidence.deliveries_of(evidence.numbers["group"])
    return sorted({row.seq for row in rows if row.offset == 0 and row.queue in _upper(evidence.numbers)})


def _silent(evidence: Evidence) -> list[str]:
    """Return the client ids of members that own new queues only."""
    n, upper = evidence.numbers, set(_upper(evidence.numbers))
    return [
        client
        for client, entry in evidence.assigned(n["group"], n["topic"]).items()
        if entry.event.queues and set(entry.event.queues) <= upper
    ]


def _is_quiet(evidence: Evidence) -> Verdict:
    n, changed = evidence.numbers, newest_change(evidence, evidence.numbers["topic"])
    if changed is None:
        return Verdict.not_yet(_("Messages are still stored in all {high} queues."))
    if changed.event.read_queues < n["high"]:
        return Verdict.wrong(READS_LESS, read=changed.event.read_queues, rests_on=[changed])
    if changed.event.write_queues != n["low"]:
        return Verdict.wrong(
            _("There are {write} write queues: the step asks for {low}."),
            write=changed.event.write_queues,
            rests_on=[changed],
        )
    newest = max(_stored(evidence, queue)[-1].at_ms for queue in _upper(n))
    if (quiet_s := (evidence.now_ms - max(newest, changed.at_ms)) // 1000) < QUIET_S:
        return Verdict.not_yet(
            _("The new queues have received no message for {quiet_s} s; watch for {wait_s} s."),
            quiet_s=quiet_s,
            wait_s=QUIET_S,
        )
    return Verdict.met(
        _("{silent} members own only queues that receive no messages."),
        silent=len(_silent(evidence)),
        rests_on=[changed, *assignments(evidence, n["group"], n["topic"])],
    )


def _idle(evidence: Evidence) -> Truth:
    n = evidence.numbers
    return Truth(float(len(_silent(evidence))), assignments(evidence, n["group"], n["topic"]))


def _written_only(hands: Hands) -> int:
    """Count the queues on the Topics page that are write-only and have messages."""
    topics = {topic["topic"]: topic for topic in hands.read("topics")["topics"]}
    return sum(row["use"] == "wo" and int(row["max"]) > 0 for row in topics[hands.numbers["topic"]]["queues"])


def _without_messages(hands: Hands) -> int:
    ids: dict[str, list[int]] = {}
    for key, row in board(hands)["queues"].items():
        ids.setdefault(row["owner"], []).append(int(key.split(":")[1]))
    return sum(min(mine) >= hands.numbers["low"] for mine in ids.values())


SOLUTION = Solution(
    SolvedStep(predict=lambda h: h.numbers["low"], do=change_topic("high", "low"), say=_written_only, why="route"),
    SolvedStep(predict="first", do=change_topic("high", "high")),
    SolvedStep(predict=1, do=change_topic("low", "high"), say=_without_messages, why="divided"),
)


BOTH = _(
    "There are now {write} write queues and all of them are read: no queue is left unread. Change only one of "
    "the two counts."
)
TURNED = _(
    "{read} read queues and {write} write queues are reversed: messages go to fewer queues than are read. That "
    "is the last step."
)
SHRUNK = _(
    "There are {read} read queues: messages in the other {low} queues stay there, however few write queues there "
    "are. Change the read count."
)
NONE = _(
    "You wrote 0; open {topic} on the Topics page: the ends of queues {low} to {last} move, but no member reads them."
)
READS_LESS = _(
    "There are only {read} read queues now, and the other queues may still have messages. Change only the write "
    "count; keep {high} read queues."
)

WRITE_AND_READ_COUNTS = Lab(
    slug="write-and-read-counts",
    number="7",
    minutes=9,
    title=_("Write queues and read queues"),
    goal=_("A topic has two queue counts. When they differ, nothing fails, but messages wait or members have no work."),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"ChangeTopic"}),
    steps=(
        Step(
            title=_("More write queues than read queues"),
            rate=4,
            do=_("Change {topic} to {high} write queues and keep {low} read queues."),
            watch=_(
                "Topics page, {topic}: queues {low} to {last}. The Board shows the queues that the group reads, "
                "so they are not on it."
            ),
            predict=Question(
                text=_("How many queues will have messages that no member reads?"),
                kind=Number(_("queues")),
                right=_stranded,
            ),
            check=_is_stranded,
            say=Question(
                text=_("Count on the Topics page: how many queues have messages but are only written to?"),
                kind=Number(_("queues")),
                right=_stranded,
                again=_(
                    "You wrote {given}; open {topic} on the Topics page, and count again the queues that are not read."
                ),
                misreadings=(Misreading(NONE, lambda e, answer: answer == 0),),
            ),
            why=Question(
                text=_("Why does no member read these queues?"),
                kind=choice(
                    route=_("Members are assigned read queues; producers select among write queues."),
                    full=_("Each member has a queue and acquires no second one."),
                    late=_("Members have not received the new route yet."),
                ),
                right=lambda e: Truth("route"),
                again=_(
                    "Members receive the same route as the producer, and can have many queues. Compare the two "
                    "counts of the topic."
                ),
                misreadings=(
                    Misreading(
                        _("However long you wait, nothing changes: their route contains {low} read queues."),
                        chosen("late"),
                    ),
                ),
            ),
            hints=(_("The Topics page shows both counts of each topic, and an action to change them."),),
        ),
        Step(
            title=_("The waiting messages"),
            rate=4,
            do=_("Make the new queues readable: change the number of read queues to {high}."),
            watch=_("The offsets of queues {low} to {last}."),
            mark="lanes",
            predict=Question(
                text=_("What happens to the messages waiting in these queues?"),
                kind=choice(
                    first=_("They are read, starting with the first one."),
                    skipped=_("They are skipped: a new queue is read from its end."),
                ),
                right=lambda e: Truth("first", tuple(_first_read(e))) if _first_read(e) else Truth("skipped"),
            ),
            check=_is_read,
            hints=(
                _(
                    "The group has no offset for these queues, and their first message is still in the memory of "
                    "the broker."
                ),
            ),
        ),
        Step(
            title=_("More read queues than write queues"),
            rate=4,
            do=_("Change {topic} to {low} write queues; keep {high} read queues."),
            watch=_("The cards of members whose lanes all come from queues {low} to {last}."),
            mark="lanes",
            predict=Question(
                text=_("How many of the {members} members will receive no new messages?"),
                kind=Number(_("members")),
                right=_idle,
            ),
            check=_is_quiet,
            say=Question(
                text=_("Count on the board: how many members have only queues whose end does not move?"),
                kind=Number(_("members")),
                right=_idle,
                again=_(
                    "You wrote {given}; follow the lanes of each card: one of queues 0 to {below} is enough to "
                    "have work."
                ),
            ),
            why=Question(
                text=_("Why does no other member take over the queues of these members?"),
                kind=choice(
                    divided=_("Queues are assigned by number, whether they receive messages or not."),
                    busy=_("The other members have no idle thread."),
                    later=_("Empty queues are reassigned after a while."),
                ),
                right=lambda e: Truth("divided"),
                again=_("The strategy uses the names of queues and members, not the contents of queues."),
            ),
            hints=(_("AVG assigns neighboring queues: queues 0 and 1 to the first member."),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("both", "a topic has one number of queues", BOTH).at(
            1, predict=0, do=change_topic("high", "high"), within_s=5
        ),
        SOLUTION.wrong("turned", "what is read can be less than what is written to by itself", TURNED).at(
            1, predict=0, do=change_topic("low", "high"), within_s=5
        ),
        SOLUTION.wrong("says none", "every queue with messages has a reader", NONE).at(1, say=0),
        SOLUTION.wrong("shrunk", "fewer queues to write bring back what waits", SHRUNK).at(
            2, do=change_topic("low", "low"), within_s=5
        ),
        SOLUTION.wrong("reads less", "queues to read follow those to write", READS_LESS).at(
            3, do=change_topic("low", "low"), within_s=5
        ),
    ),
)
