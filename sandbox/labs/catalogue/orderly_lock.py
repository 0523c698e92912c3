"""Lab 5: after a crash, an orderly lock blocks its queue for 60 s."""

from sandbox.control.actions import Action, StartProducer
from sandbox.journal.events import ActionTaken, LockDenied, QueueLocked, QueueUnlocked
from sandbox.kernel.chance import Chance
from sandbox.labs.board import board
from sandbox.labs.evidence import Evidence, Numbers, Seen, last, queue_of
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth
from sandbox.labs.question_kinds import Answer, EventClick, Number, choice
from sandbox.labs.script import Hands
from sandbox.labs.script_acts import crash, restart, stop, until, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.truths import seconds_between
from sandbox.labs.verdict import Verdict

UNLOCK_S = 5  # a clean stop unlocks within this time
TRUST_S = 30  # how long a client trusts its own lock
CUSTOMERS = tuple(f"customer-{number:02}" for number in range(1, 25))


def _draw(chance: Chance) -> dict[str, object]:
    return {
        "topic": chance.choice(("orders", "payments", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "queues": 4 + 2 * chance.below(2),
        "rate": 5 + chance.below(4),
        "one": "left",
        "other": "right",
        "before_s": 20 + chance.below(30),
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        topic(n, n["queues"]),
        *(member(n, actor=n[label], listener="orderly", work_ms=(20, 80)) for label in ("one", "other")),
        StartProducer(actor="shop", topic=n["topic"], rate_per_s=n["rate"], keys=CUSTOMERS, selector="hash"),
    )


def _of_one(evidence: Evidence, client_id: str) -> bool:
    return client_id in evidence.clients(evidence.numbers["one"])


def _locks(evidence: Evidence, before: int) -> dict[str, Seen[QueueLocked]]:
    """Return the first member's locks in the broker before an event: queue → the newest lock or renewal."""
    n, locks = evidence.numbers, dict[str, Seen[QueueLocked]]()
    for entry in evidence.of(QueueLocked, since=0):
        if entry.seq < before and (entry.event.group, entry.event.topic) == (n["group"], n["topic"]):
            locks[queue_of(entry.event)] = entry
    return {queue: entry for queue, entry in locks.items() if _of_one(evidence, entry.event.client_id)}


def _crash(evidence: Evidence, since: int | None = None) -> Seen[ActionTaken] | None:
    return last(evidence.actions("CrashActor", since=since, actor=evidence.numbers["one"]))


def _is_denied(evidence: Evidence) -> Verdict:
    n, crash = evidence.numbers, _crash(evidence)
    if crash is None:
        if stops := evidence.actions("StopActor", actor=n["one"]):
            return Verdict.wrong(STOPPED, rests_on=[stops[-1]])
        return Verdict.not_yet(_("{one} is still running."))
    if not _locks(evidence, crash.seq):
        return Verdict.wrong(
            _("{one} held no lock when it crashed: restart it and wait until it has queues."), rests_on=[crash]
        )
    denied = [entry for entry in evidence.of(LockDenied, since=crash.seq) if _of_one(evidence, entry.event.holder)]
    if len(denied) < 2:
        return Verdict.not_yet(_("{other} has been denied {count} times so far."), count=len(denied))
    return Verdict.met(
        _("{other} owns the queues of {one}, but the broker denied it their locks."), rests_on=[crash, *denied[:4]]
    )


def _left_s(evidence: Evidence) -> Truth:
    """Return the seconds until the locks of the crashed member expire."""
    crash = _crash(evidence, since=0)
    locks = {} if crash is None else _locks(evidence, crash.seq)
    if not locks:
        return Truth(0.0)
    newest = max(locks.values(), key=lambda entry: entry.event.expires_at_ms)
    return Truth(max(0.0, (newest.event.expires_at_ms - evidence.now_ms) / 1000), (newest.seq,))


def _is_inner_ring(evidence: Evidence, answer: Answer) -> bool:
    """Return True if the answer is the time for which the client still trusts the lock, or its full 30 s."""
    left_s = _left_s(evidence).value
    assert isinstance(left_s, float)
    return isinstance(answer, float) and (abs(answer - TRUST_S) < 1 or abs(answer - max(0.0, left_s - TRUST_S)) < 4)


def _taken_over(evidence: Evidence, since: int | None = None) -> list[Seen[QueueLocked]]:
    return evidence.of(
        QueueLocked, since=since, how="taken_over", group=evidence.numbers["group"], topic=evidence.numbers["topic"]
    )


def _all_taken_over(evidence: Evidence) -> Verdict:
    n, crash = evidence.numbers, _crash(evidence, since=0)
    restarts = evidence.actions("RestartActor", actor=n["one"])
    taken = _taken_over(evidence)
    early = [] if crash is None else [entry for entry in _taken_over(evidence, crash.seq) if entry not in taken]
    if early:
        return Verdict.wrong(EARLY, rests_on=early)
    if restarts and not taken:
        return Verdict.wrong(RESTARTED, rests_on=[restarts[-1]])
    stuck = {} if crash is None else _locks(evidence, crash.seq)
    if crash is None or len({queue_of(entry.event) for entry in taken}) < len(stuck):
        return Verdict.not_yet(_("{left} queues are waiting for their locks."), left=len(stuck) - len(taken))
    return Verdict.met(
        _(
            "{other} acquired the last lock {after_s} s after the crash: it asks every 20 s, and the "
            "locks expired {ended_s} s after the crash."
        ),
        after_s=round((taken[-1].at_ms - crash.at_ms) / 1000),
        ended_s=round((max(row.event.expires_at_ms for row in stuck.values()) - crash.at_ms) / 1000),
        rests_on=[crash, *taken],
    )


def _take_over_s(evidence: Evidence) -> Truth:
    return seconds_between(_crash(evidence, since=0), last(_taken_over(evidence)))


def _renewals(evidence: Evidence) -> Truth:
    """Return the seqs of the newest lock or renewal of each queue before the crash."""
    crash = _crash(evidence, since=0)
    seqs = () if crash is None else tuple(entry.seq for entry in _locks(evidence, crash.seq).values())
    return Truth(tuple(map(str, seqs)), seqs)


def _is_crash(evidence: Evidence, answer: Answer) -> bool:
    crash = _crash(evidence, since=0)
    return crash is not None and answer in (str(crash.seq), str(crash.seq + 1))


def _unlocked(evidence: Evidence) -> Verdict:
    n = evidence.numbers
    if crashes := evidence.actions("CrashActor", actor=n["one"]):
        return Verdict.wrong(AGAIN, rests_on=[crashes[-1]])
    if not (stops := evidence.actions("StopActor", actor=n["one"])):
        return Verdict.not_yet(_("{one} has not been stopped yet."))
    unlocked = [
        entry
        for entry in evidence.of(QueueUnlocked, since=stops[-1].seq, why="shutdown")
        if entry.event.topic == n["topic"] and _of_one(evidence, entry.event.client_id)
    ]
    if not unlocked and evidence.passed_s(stops[-1].at_ms) > UNLOCK_S:
        return Verdict.wrong(HELD_NONE, rests_on=[stops[-1]])
    queues = {queue_of(entry.event) for entry in unlocked}
    locked = [
        entry
        for entry in evidence.of(QueueLocked, since=stops[-1].seq)
        if queue_of(entry.event) in queues and not _of_one(evidence, entry.event.client_id)
    ]
    if not queues or queues - {queue_of(entry.event) for entry in locked}:
        return Verdict.not_yet(_("{other} does not have all locks yet."))
    return Verdict.met(
        _("{one} released its locks, and {other} acquired them {after_s} s later."),
        after_s=round((locked[-1].at_ms - stops[-1].at_ms) / 1000),
        rests_on=[stops[-1], *unlocked, locked[-1]],
    )


def _holds_again(evidence: Evidence) -> bool:
    """Return True if the restarted member has locked queues of the topic."""
    restarts = evidence.actions("RestartActor", since=0, actor=evidence.numbers["one"])
    locks = evidence.of(QueueLocked, since=restarts[-1].seq) if restarts else []
    of_topic = [entry for entry in locks if entry.event.topic == evidence.numbers["topic"]]
    return any(_of_one(evidence, entry.event.client_id) for entry in of_topic)


def _hand_over_s(evidence: Evidence) -> Truth:
    if not (stops := evidence.actions("StopActor")):
        return Truth(0.0)
    locks = [row for row in evidence.of(QueueLocked, since=stops[-1].seq) if row.event.how != "renewed"]
    newest = last([entry for entry in locks if not _of_one(evidence, entry.event.client_id)])
    return Truth(seconds_between(stops[-1], newest).value)


def _denied_after_stop(evidence: Evidence) -> Truth:
    stops = evidence.actions("StopActor")
    return Truth(float(len(evidence.of(LockDenied, since=stops[-1].seq))) if stops else 0.0)


def _left_on_the_board(hands: Hands) -> float:
    """Return the seconds until the crashed member's locks expire, which the Board shows as the outer ring."""
    dead = hands.evidence.clients(hands.numbers["one"])
    locks = [row["lock"] for row in board(hands)["queues"].values() if row["lock"]]
    ends: list[int] = [lock["expires_at_ms"] for lock in locks if lock["holder"] in dead]
    return round((max(ends) - hands.evidence.now_ms) / 1000)


UNTIL_LOCKED = until(_("Possible when {one} has locks again."), _holds_again)

SOLUTION = Solution(
    SolvedStep(before=wait("before_s"), predict="wait", do=crash("one"), say=_left_on_the_board),
    SolvedStep(
        predict=60,
        say=lambda h: round(float(str(_take_over_s(h.evidence).value))),
        why=lambda h: str(_renewals(h.evidence).rests_on[0]),
    ),
    SolvedStep(before=(restart("one"), UNTIL_LOCKED), predict=1, do=stop("one"), say=0, why="unlocks"),
)


INNER = _(
    "You wrote {given}; look at the outer ring again. The inner ring shows how long a client trusts its own lock: 30 s."
)
STOPPED = _("{one} was stopped cleanly and released its locks. Restart it, wait until it has queues, and crash it.")
EARLY = _(
    "{other} had acquired the locks before you predicted the time. Restart {one}, wait until it has queues, and "
    "crash it again."
)
RESTARTED = _(
    "{one} is running again as a new client, and is also denied the locks of the crashed client. Those locks end "
    "only by expiry: wait."
)
CRASHED = _(
    "The crash itself changed no lock: {one} could not act any more. Look further back, for the last time {one} "
    "received the lock."
)
HELD_NONE = _("{one} held no lock when it stopped: restart it, wait until it has queues, and stop it again.")
AGAIN = _("{one} crashed again. Restart it, wait until it has queues, and stop it cleanly.")

ORDERLY_LOCK = Lab(
    slug="orderly-lock",
    number="5",
    minutes=11,
    title=_("Locks of an orderly group"),
    goal=_(
        "After one crash, an orderly group can wait where a concurrent group continues. Its locks explain how long."
    ),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"CrashActor", "RestartActor", "StopActor"}),
    steps=(
        Step(
            title=_("After the crash"),
            do=_("Crash {one}, and look at the queues that it had owned."),
            watch=_(
                "The rings at the queues of {one}: time left at the broker (outer arc) and at the client (inner arc)."
            ),
            mark="lock:{one}",
            predict=Question(
                text=_("What will happen to the queues of {one}?"),
                kind=choice(
                    once=_("{other} continues with them at once."),
                    wait=_("{other} owns them but cannot read them for a while."),
                    lost=_("They have no owner until {one} returns."),
                ),
                right=lambda e: Truth("wait"),
            ),
            check=_is_denied,
            say=Question(
                text=_("Read the ring: how many seconds remain at the broker?"),
                kind=Number(_("s"), within=4),
                right=_left_s,
                again=_("You wrote {given}; look at the outer ring again, while time is paused."),
                misreadings=(Misreading(INNER, _is_inner_ring),),
            ),
            hints=(_("The number in the middle belongs to one of the two arcs."), _("The outer arc is full at 60 s.")),
        ),
        Step(
            title=_("The moment of takeover"),
            rate=4,
            do=_("Wait until {other} has all locks."),
            watch=_("The outer ring as it runs out, and the age of the oldest message."),
            mark="lock:{one}",
            predict=Question(
                text=_("How many seconds after the crash will {other} acquire the last lock?"),
                kind=Number(_("s"), within=10),
                right=_take_over_s,
            ),
            check=_all_taken_over,
            say=Question(
                text=_("How many seconds after the crash was the last lock acquired? Read the times in the journal."),
                kind=Number(_("s"), within=2),
                right=_take_over_s,
                again=_("You wrote {given}; subtract the time of the crash from the time of the last takeover again."),
            ),
            why=Question(
                text=_("Click an event that set the expiry of these locks."),
                kind=EventClick(),
                right=_renewals,
                again=_("That event granted {one} no lock. Look for the last renewal before the crash."),
                misreadings=(Misreading(CRASHED, _is_crash),),
            ),
            hints=(_("A lock expires 60 s after its last renewal, and members renew every 20 s."),),
        ),
        Step(
            title=_("The same with a clean stop"),
            do=_("Restart {one}, wait until it has queues, and stop it cleanly."),
            watch=_("The rings at the moment the member stops."),
            mark="lock:{one}",
            predict=Question(
                text=_("How many seconds after the stop will {other} have the locks?"),
                kind=Number(_("s"), within=5),
                right=_hand_over_s,
            ),
            check=_unlocked,
            say=Question(
                text=_("How many times was {other} denied a lock after the stop?"),
                kind=Number(_("times")),
                right=_denied_after_stop,
                again=_('You wrote {given}; count the "denied" rows after the stop in the journal.'),
            ),
            why=Question(
                text=_("Why was no wait for the locks necessary this time?"),
                kind=choice(
                    unlocks=_("A clean stop unlocks the queues before the member leaves."),
                    fresh=_("The locks were newer this time."),
                    broker=_("The broker drops locks when a connection closes."),
                ),
                right=lambda e: Truth("unlocks"),
                again=_('The connection of a crashed member also closes. Look for "unlocked" in the journal.'),
            ),
            hints=(_("A crash cannot send an unlock."),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("inner ring", "the client's own trust is the lock", INNER).at(1, say=TRUST_S),
        SOLUTION.wrong("stops", "a stop is a crash", STOPPED).at(
            1, before=wait(30), predict="once", do=stop("one"), within_s=20
        ),
        SOLUTION.wrong("restarts", "a restart brings the lock back", RESTARTED).at(
            2, predict=5, do=restart("one"), within_s=3
        ),
        SOLUTION.wrong("clicks the crash", "the crash sets the lock's end", CRASHED).at(
            2, why=lambda h: str(h.evidence.actions("CrashActor", since=0)[-1].seq)
        ),
        SOLUTION.wrong("crashes again", "a crash is a stop", AGAIN).at(3, do=crash("one"), within_s=10),
    ),
)
