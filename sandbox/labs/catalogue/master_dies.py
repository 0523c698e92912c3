"""Lab 15: a master fails, and RocketMQ prefers order to availability."""

from collections import Counter

from sandbox.control.actions import Action, KillBroker, StartBroker
from sandbox.journal.events import ActionTaken, BrokerStarted, LockLapsed, LocksLost, PullAnswered, QueueLocked
from sandbox.kernel.chance import Chance
from sandbox.labs.evidence import Delivery, Evidence, Numbers, Seen, first, queue_of
from sandbox.labs.evidence_measures import done_to, out_of_order, unfinished
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Answer, EventClick, Number, choice
from sandbox.labs.script_acts import act, send, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep, answer_of
from sandbox.labs.translation_marks import _
from sandbox.labs.truths import count_of, seconds_between
from sandbox.labs.verdict import Verdict

BROKER, SLAVE, OTHER = "broker-a", 1, "broker-b"
QUIET_S = 5
STALLED_MS = 45_000  # a client has the route without the master within 30 s
AGAIN = 10  # messages of each queue that show how it goes on
PER_QUEUE = 90  # at a second each, more than a member finishes before it stops trusting its locks


def _draw(chance: Chance) -> dict[str, object]:
    queues = 2 + chance.below(2)
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("auditors", "checkers")),
        "queues": queues,
        "count": queues * (PER_QUEUE + 2 * chance.below(6)),
        "broker": BROKER,
        "other": OTHER,
        "before_s": 5 + chance.below(4),
    }


def _derive(n: Numbers) -> dict[str, object]:
    """Return the name of the group that consumes in order."""
    return {"fifo": f"{n['group']}-fifo"}


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        topic(n, n["queues"], scope=BROKER),
        member(n, actor="scanner", threads=n["queues"] + 1, work_ms=(700, 900)),
        member(n, group="fifo", actor="clerk", listener="orderly", work_ms=(900, 1100)),
    )


def _kill(evidence: Evidence) -> Seen[ActionTaken] | None:
    """Return the newest kill of the master in the attempt."""
    return done_to(evidence, BROKER, "KillBroker", since=0)


def _back(evidence: Evidence) -> Seen[BrokerStarted] | None:
    """Return the master's start after that kill."""
    kill = _kill(evidence)
    return first([] if kill is None else evidence.of(BrokerStarted, since=kill.seq, broker=BROKER, broker_id=0))


def _queues(evidence: Evidence) -> list[str]:
    return evidence.queues_of(evidence.numbers["topic"])


def _rows(evidence: Evidence, group: str, since: int) -> list[Delivery]:
    """List the messages of the lab's topic that a group finished."""
    queues, rows = set(_queues(evidence)), evidence.deliveries_of(evidence.numbers[group], since=since)
    return [row for row in rows if row.queue in queues and row.outcome == "SUCCESS"]


def _lapsed(evidence: Evidence, kill: Seen[ActionTaken]) -> dict[str, Seen[LockLapsed]]:
    n = evidence.numbers
    lapses = evidence.of(LockLapsed, since=kill.seq, group=n["fifo"], topic=n["topic"])
    return {queue_of(entry.event): entry for entry in lapses}


def _locked(evidence: Evidence, since: int) -> dict[str, Seen[QueueLocked]]:
    """Return the first lock of each queue since an event."""
    n, locks = evidence.numbers, dict[str, Seen[QueueLocked]]()
    for entry in evidence.of(QueueLocked, since=since, group=n["fifo"], topic=n["topic"]):
        locks.setdefault(queue_of(entry.event), entry)
    return locks


def _order_stands(evidence: Evidence) -> Verdict:
    n, kill = evidence.numbers, done_to(evidence, BROKER, "KillBroker")
    if kill is None:
        if killed := done_to(evidence, BROKER, "KillBroker", broker_id=SLAVE):
            return Verdict.wrong(SLAVE_KILLED, rests_on=[killed])
        return Verdict.not_yet(_("The master of {broker} is still running."))
    queues, lapsed, back = _queues(evidence), _lapsed(evidence, kill), _back(evidence)
    last = max((entry.seq for entry in lapsed.values()), default=kill.seq)
    goes_on, quiet_s = _rows(evidence, "group", last), (evidence.now_ms - _last_ms(evidence, "fifo", kill)) / 1000
    if not unfinished(evidence, n["fifo"], queues) or not (goes_on or unfinished(evidence, n["group"], queues)):
        return Verdict.wrong(
            _(
                "Too few messages were left when {broker} was killed. Start it, wait a minute, send {count} "
                "messages and kill it about 8 seconds later."
            ),
            rests_on=[kill],
        )
    if back is not None:
        return Verdict.wrong(EARLY, rests_on=[kill, back])
    if len(lapsed) < n["queues"]:
        return Verdict.not_yet(_("{fifo} still trusts {count} of its locks."), count=n["queues"] - len(lapsed))
    if quiet_s < QUIET_S or not goes_on or _locked(evidence, kill.seq):
        return Verdict.not_yet(
            _("{fifo} finished its last message {quiet_s} s ago: watch both groups a little longer."),
            quiet_s=round(quiet_s),
        )
    return Verdict.met(
        _("{fifo} stopped {after_s} s after the kill with {left} messages left; {group} continues."),
        after_s=round((_last_ms(evidence, "fifo", kill) - kill.at_ms) / 1000),
        left=unfinished(evidence, n["fifo"], _queues(evidence)),
        rests_on=[kill, *_lost(evidence, kill), *lapsed.values(), goes_on[-1]],
    )


def _last_ms(evidence: Evidence, group: str, kill: Seen[ActionTaken]) -> int:
    """Return the time of the group's last success at or after the kill, in ms."""
    return max((row.at_ms for row in _rows(evidence, group, kill.seq)), default=kill.at_ms)


def _lost(evidence: Evidence, kill: Seen[ActionTaken]) -> list[Seen[LocksLost]]:
    return evidence.of(LocksLost, since=kill.seq, broker=BROKER)[:1]


def _works_for_s(evidence: Evidence) -> Truth:
    if (kill := _kill(evidence)) is None:
        return Truth(0.0)
    rows = _rows(evidence, "fifo", kill.seq)
    return Truth((_last_ms(evidence, "fifo", kill) - kill.at_ms) / 1000, (kill.seq, *(row.seq for row in rows[-1:])))


def _locks(evidence: Evidence) -> Truth:
    """Return the number of locks that were lost with the master's memory."""
    kill = _kill(evidence)
    lost = [] if kill is None else _lost(evidence, kill)
    return Truth(float(sum(entry.event.count for entry in lost)), tuple(entry.seq for entry in lost))


def _from_slave(evidence: Evidence) -> Verdict:
    n, kill = evidence.numbers, _kill(evidence)
    assert kill is not None, "the step before has seen it"
    back = _back(evidence)
    left = unfinished(evidence, n["group"], _queues(evidence), None if back is None else back.seq)
    if back is not None and left:
        return Verdict.wrong(
            _("{broker} was running again before {group} had finished. Send {count} messages and kill it again."),
            rests_on=[kill, back],
        )
    if left and evidence.now_ms - _last_ms(evidence, "group", kill) > STALLED_MS:
        return Verdict.wrong(STALLED, rests_on=[kill])
    if left:
        return Verdict.not_yet(_("{group} has {left} messages left."), left=left)
    pulled = _pulled(evidence, kill)
    return Verdict.met(
        _("{group} has finished everything, with {pulled} messages from the slave; {fifo} has {left} messages left."),
        pulled=sum(entry.event.count for entry in pulled),
        left=unfinished(evidence, n["fifo"], _queues(evidence)),
        rests_on=[kill, *pulled],
    )


def _pulled(evidence: Evidence, kill: Seen[ActionTaken]) -> list[Seen[PullAnswered]]:
    """Return the concurrent group's pulls that were answered with messages while the master was down."""
    n, back = evidence.numbers, _back(evidence)
    return [
        entry
        for entry in evidence.of(PullAnswered, since=kill.seq, group=n["group"], topic=n["topic"])
        if entry.event.count and (back is None or entry.seq < back.seq)
    ]


def _node(evidence: Evidence) -> Truth:
    """Return the node that sent the messages: with the master down, only its slave has the broker's name."""
    kill = _kill(evidence)
    pulled = [] if kill is None else _pulled(evidence, kill)
    seqs = tuple(entry.seq for entry in pulled)
    if not pulled:
        return Truth("memory")
    return Truth("slave" if all(entry.event.broker == BROKER for entry in pulled) else "other", seqs)


def _share(evidence: Evidence) -> Truth:
    """Return the concurrent group's share of the messages while the master was down: "all" or "memory"."""
    kill = _kill(evidence)
    pulled = [] if kill is None else _pulled(evidence, kill)
    left = unfinished(evidence, evidence.numbers["group"], _queues(evidence))
    return Truth("all" if pulled and not left else "memory", tuple(entry.seq for entry in pulled))


def _goes_on(evidence: Evidence) -> Verdict:
    n, kill = evidence.numbers, _kill(evidence)
    assert kill is not None, "the step before has seen it"
    if (back := _back(evidence)) is None:
        return Verdict.not_yet(_("The master of {broker} is still down."))
    locked, rows = _locked(evidence, back.seq), _rows(evidence, "fifo", back.seq)
    if len(locked) < n["queues"]:
        return Verdict.not_yet(_("{fifo} has {count} of {queues} locks."), count=len(locked))
    counts = Counter(row.queue for row in rows)
    if slow := [queue for queue in locked if counts[queue] < AGAIN]:
        return Verdict.not_yet(
            _("{fifo} has finished {count} of {each} messages in a queue since the start."),
            count=min(counts[queue] for queue in slow),
            each=AGAIN,
        )
    return Verdict.met(
        _("{fifo} resumed {after_s} s after the start; in total, {breaks} messages were redelivered or out of order."),
        after_s=round(float(str(_pause_s(evidence).value))),
        breaks=f"{_broken(evidence).value:g}",
        rests_on=[kill, back, *locked.values()],
    )


def _pause_s(evidence: Evidence) -> Truth:
    """Return the seconds from the master's start to the first orderly success."""
    back = _back(evidence)
    return seconds_between(back, first([] if back is None else _rows(evidence, "fifo", back.seq)))


def _broken(evidence: Evidence) -> Truth:
    return count_of(out_of_order(_rows(evidence, "fifo", 0)))


def _new_locks(evidence: Evidence) -> Truth:
    back = _back(evidence)
    seqs = () if back is None else tuple(entry.seq for entry in _locked(evidence, back.seq).values())
    return Truth(tuple(map(str, seqs)), seqs)


def _is_start(evidence: Evidence, answer: Answer) -> bool:
    back = _back(evidence)
    start = done_to(evidence, BROKER, "StartBroker")
    return answer in {str(entry.seq) for entry in (back, start) if entry is not None}


KILL = act(lambda n: KillBroker(broker=BROKER))
START = act(lambda n: StartBroker(broker=BROKER))
SOLUTION = Solution(
    SolvedStep(
        before=wait(12),
        predict=20,
        do=(send("count"), wait("before_s"), KILL),
        within_s=90,
        say=answer_of(_locks),
        why="memory",
    ),
    SolvedStep(predict="all", within_s=120, say="slave"),
    SolvedStep(predict=15, do=START, say=answer_of(_broken), why=lambda h: str(_new_locks(h.evidence).rests_on[0])),
)


SLAVE_KILLED = _(
    "That was the slave of {broker}. It grants no locks, so {fifo} continues as before. Start it, and kill the master."
)
EARLY = _(
    "{broker} was running again before {fifo} stopped trusting its locks, so the effect was small. Wait a "
    "minute, send {count} messages, kill it again and leave it down."
)
STALLED = _(
    "The slave has no messages for {group}: it had not copied {topic} before the kill. It copies topics every 10 s, "
    "and finds a restarted master within 30 s. Start {broker}, wait a minute, send {count} messages and kill it again."
)
RETRY_QUEUE = _(
    "You wrote {given}: that is the number of queues of {topic}. {fifo} also reads its retry topic in order, and "
    "locks the queue of that topic."
)
COPIED = _(
    'Locks are not copied to a slave: the lock table was only in the memory of the master. "locks" in the '
    "journal shows when it was lost."
)
OTHER_MASTER = _("{other} has no queue of {topic}, and queues do not move to another master.")
STARTED = _("A master starts without locks, and its start grants none. Look for locks that {fifo} received later.")

MASTER_DIES = Lab(
    slug="master-dies",
    number="15",
    minutes=11,
    template="replicas",
    changes={"pull_threshold_for_queue": 32},
    title=_("Master failure under orderly load"),
    goal=_("The slave has the messages, and the master dies. Some groups continue, others wait."),
    draw=_draw,
    derive=_derive,
    setup=_setup,
    allowed=frozenset({"SendMessages", "KillBroker", "StartBroker"}),
    steps=(
        Step(
            title=_("Order before availability"),
            rate=2,
            do=_(
                "{group} reads {topic} concurrently, and {fifo} reads it in order. Send {count} messages to {topic}. "
                "About 8 seconds later, kill the master of {broker} (Topology), and wait until {fifo} stops."
            ),
            watch=_('The members of both groups; then "locks" and "lock expired" in the journal.'),
            mark="journal",
            predict=Question(
                text=_("For how many seconds after the kill will {fifo} continue?"),
                kind=Number(_("s"), within=10),
                right=_works_for_s,
            ),
            check=_order_stands,
            say=Question(
                text=_("How many locks of {fifo} were lost with the memory of {broker}?"),
                kind=Number(_("locks")),
                right=_locks,
                again=_('You wrote {given}; read "locks" in the journal again.'),
                misreadings=(Misreading(RETRY_QUEUE, lambda e, answer: bool(answer == e.numbers["queues"])),),
            ),
            why=Question(
                text=_("{fifo} has messages in memory. Why does it stop?"),
                kind=choice(
                    memory=_("Only a master grants locks, and a member trusts its locks for 30 s."),
                    copied=_("The slave still has the locks, and grants them to no member."),
                    behind=_("The slave has fewer messages than the master had."),
                ),
                right=lambda e: Truth("memory"),
                again=_("{group} reads the same messages from the slave, and continues."),
                misreadings=(Misreading(COPIED, chosen("copied")),),
            ),
            hints=(_("A member renews its locks every 20 s, and trusts them for 30 s after the last renewal."),),
        ),
        Step(
            title=_("The role of the slave"),
            rate=4,
            do=_("Leave the master down, and wait until {group} makes no further progress."),
            watch=_("The rows of the queues of {topic} in {group}: which broker answers the pulls."),
            mark="queue:broker-a:0",
            predict=Question(
                text=_("Which of the remaining messages will {group} receive while the master is down?"),
                kind=choice(all=_("all of them"), memory=_("only those pulled before")),
                right=_share,
            ),
            check=_from_slave,
            say=Question(
                text=_("Which node delivered the messages that {group} pulled after the kill?"),
                kind=choice(
                    slave=_("the slave of {broker}"),
                    other=_("{other}, the other master"),
                    memory=_("none: the messages were already in memory"),
                ),
                right=_node,
                again=_("The group had room for about 60 messages of each queue, and has pulled more since the kill."),
                misreadings=(Misreading(OTHER_MASTER, chosen("other")),),
            ),
            hints=(_("A client requests the route every 30 s, and then receives one without the master."),),
        ),
        Step(
            title=_("Return of the master"),
            rate=4,
            do=_("Start the master of {broker}, and wait until {fifo} resumes every queue."),
            watch=_('"lock" in the journal, and {fifo} resuming.'),
            mark="journal",
            predict=Question(
                text=_("How many seconds after the start of the master will {fifo} resume?"),
                kind=Number(_("s"), within=15),
                right=_pause_s,
            ),
            check=_goes_on,
            say=Question(
                text=_("How many messages did {fifo} finish again, or out of queue order?"),
                kind=Number(_("messages")),
                right=_broken,
                again=_('You wrote {given}; look at "Delivered again" above the queues of {fifo}.'),
            ),
            why=Question(
                text=_("Click an event that allowed {fifo} to resume."),
                kind=EventClick(),
                right=_new_locks,
                again=_('That event granted {fifo} no lock. Look for "lock" after the start of the master.'),
                misreadings=(Misreading(STARTED, _is_start),),
            ),
            hints=(_("An orderly group requests its locks every 3 s, as soon as its route contains a master again."),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("kills the slave", "a slave grants locks", SLAVE_KILLED).at(
            1,
            do=(send("count"), wait("before_s"), act(lambda n: KillBroker(broker=BROKER, broker_id=SLAVE))),
            within_s=5,
        ),
        SOLUTION.wrong("starts at once", "a member stops as soon as its master is down", EARLY).at(
            1, do=(send("count"), wait("before_s"), KILL, wait(3), START), within_s=5
        ),
        SOLUTION.wrong("counts queues", "only the queues of the topic are locked", RETRY_QUEUE).at(
            1, say=lambda h: h.numbers["queues"]
        ),
        SOLUTION.wrong("copied", "locks are replicated", COPIED).at(1, why="copied"),
        SOLUTION.wrong("other master", "another master takes over the queues", OTHER_MASTER).at(2, say="other"),
        SOLUTION.wrong("clicks the start", "the start restores the locks", STARTED).at(
            3, why=lambda h: str(h.evidence.of(BrokerStarted)[-1].seq)
        ),
    ),
)
