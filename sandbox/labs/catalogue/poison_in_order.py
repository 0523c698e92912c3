"""Lab N3: a poison message in an orderly queue."""

from sandbox.control.actions import Action, ChangeActor, StartProducer
from sandbox.kernel.chance import Chance
from sandbox.labs.board import board
from sandbox.labs.evidence import Delivery, Evidence, Numbers
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Choice, Number, choice
from sandbox.labs.script import Hands
from sandbox.labs.script_acts import Act, Acts, act, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep, answer_of
from sandbox.labs.translation_marks import _
from sandbox.labs.verdict import Verdict

QUEUES = 4
STANDS_S = 20
MOVED = 5  # messages each neighbour has committed meanwhile
CUSTOMERS = tuple(f"customer-{number:02}" for number in range(1, 25))


def _draw(chance: Chance) -> dict[str, object]:
    key = chance.choice(CUSTOMERS)
    return {
        "topic": chance.choice(("orders", "payments", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "rate": 8 + chance.below(5),
        "one": "left",
        "other": "right",
        "key": key,
        "bad": f"reject {key}",
        "good": "work",
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        topic(n, QUEUES),
        *(member(n, actor=n[label], listener="orderly", work_ms=(10, 40)) for label in ("one", "other")),
        StartProducer(actor="shop", topic=n["topic"], rate_per_s=n["rate"], keys=CUSTOMERS, selector="hash"),
    )


def _failed(evidence: Evidence, since: int | None = 0) -> list[Delivery]:
    n = evidence.numbers
    return [row for row in evidence.deliveries_of(n["group"], since=since, key=n["key"]) if row.outcome != "SUCCESS"]


def _handlers(evidence: Evidence) -> dict[str, str]:
    """Return the newest handler of each member whose handler was changed, by label."""
    return {
        entry.event.fields["actor"]: entry.event.fields["handler"]
        for entry in evidence.actions("ChangeActor", since=0)
        if entry.event.fields["handler"]
    }


def _one_stands(evidence: Evidence) -> Verdict:
    n, failed = evidence.numbers, _failed(evidence, since=None)
    handlers = _handlers(evidence)
    if wrong := [handler for handler in handlers.values() if handler != n["bad"]]:
        return Verdict.wrong(NO_SUCH, given=wrong[0])
    if not failed:
        return Verdict.not_yet(
            _("{count} of 2 members have the new handler, and {key} has not been delivered since."), count=len(handlers)
        )
    queue, first = failed[0].queue, failed[0]
    held_s = evidence.passed_s(first.at_ms)
    moved = {
        other: _committed(evidence, other) - _committed(evidence, other, first.at_ms)
        for other in evidence.queues_of(n["topic"])
        if other != queue
    }
    if held_s < STANDS_S or min(moved.values(), default=0) < MOVED:
        return Verdict.not_yet(
            _("A queue has been stopped for {held_s} s; watch for {wait_s} s."), held_s=held_s, wait_s=STANDS_S
        )
    return Verdict.met(
        _("{tries} tries of one message blocked its queue, and the others continued."),
        tries=len(failed),
        rests_on=[first, failed[-1]],
    )


def _committed(evidence: Evidence, queue: str, at_ms: int | None = None) -> int:
    """Count the successes of a queue, up to `at_ms` if set."""
    return sum(
        row.queue == queue and row.outcome == "SUCCESS" and (at_ms is None or row.at_ms <= at_ms)
        for row in evidence.deliveries
    )


def _standing(evidence: Evidence) -> Truth:
    failed = _failed(evidence)
    return Truth(f"q{failed[0].queue.rpartition('/')[2]}", (failed[0].seq,)) if failed else Truth("none")


def _is_mended(evidence: Evidence) -> Verdict:
    n, failed = evidence.numbers, _failed(evidence)
    owner = n["one"] if failed[-1].client_id in evidence.clients(n["one"]) else n["other"]
    handlers = _handlers(evidence)
    restarts = evidence.actions("RestartActor")
    if all(handlers.get(n[label]) == n["bad"] for label in ("one", "other")):
        if restarts:
            return Verdict.wrong(
                _("A restart uses the same handler for the same message: it fails again."), rests_on=[restarts[-1]]
            )
        return Verdict.not_yet(_("Both members still reject {key}."))
    if handlers.get(owner) == n["bad"]:
        return Verdict.wrong(OWNER, owner=owner, rests_on=[failed[-1]])
    done = evidence.deliveries_of(n["group"], outcome="SUCCESS", queue=failed[-1].queue, offset=failed[-1].offset)
    if not done:
        return Verdict.not_yet(_("The message has not been retried yet."))
    return Verdict.met(
        _("{key} was consumed after {tries} tries, and its queue continues."),
        tries=len(failed) + 1,
        rests_on=[failed[-1], done[0]],
    )


def _first_after(evidence: Evidence) -> Truth:
    """Return which message succeeded first once the handler was fixed: the rejected one ("poison") or the next one."""
    failed = _failed(evidence)
    rows = [
        row
        for row in evidence.deliveries
        if failed and row.queue == failed[-1].queue and row.outcome == "SUCCESS" and row.seq > failed[-1].seq
    ]
    return Truth("poison" if rows and rows[0].offset == failed[-1].offset else "next", (rows[0].seq,) if rows else ())


def _tries(evidence: Evidence) -> Truth:
    """Return the number of failures of the message that blocked the queue, until now."""
    failed = _failed(evidence)
    return Truth(float(sum(row.offset == failed[0].offset for row in failed)) if failed else 0.0)


def _set(label: str, handler: str) -> Acts:
    return act(lambda n: ChangeActor(actor=n[label], handler=n.get(handler, handler)))


def _mend(*, owner: bool) -> Acts:
    """Return the acts that repair the handler of both members, the owner of the blocked queue first.

    Without `owner`, they repair only the other member's.
    """
    return (_mend_one(owner=True), _mend_one(owner=False)) if owner else _mend_one(owner=False)


def _mend_one(*, owner: bool) -> Act:
    def mend(evidence: Evidence) -> Action | None:
        n, failed = evidence.numbers, _failed(evidence)
        if not failed:
            return None
        is_one = (failed[-1].client_id in evidence.clients(n["one"])) is owner
        return ChangeActor(actor=n["one" if is_one else "other"], handler=n["good"])

    return Act(mend)


def _furthest_behind(hands: Hands) -> str:
    rows = board(hands)["queues"]
    return "q" + str(max(rows, key=lambda row: int(rows[row]["max"]) - int(rows[row]["committed"]))).rpartition(":")[2]


SOLUTION = Solution(
    SolvedStep(
        before=wait(15),
        predict="one",
        do=(_set("one", "bad"), _set("other", "bad")),
        within_s=90,
        say=_furthest_behind,
        why="order",
    ),
    SolvedStep(predict="poison", do=_mend(owner=True), within_s=60, say=answer_of(_tries)),
)


NO_SUCH = _('"{given}" rejects no incoming message; use the handler "{bad}".')
ALL = _("Most pins move: look for the one that has stopped.")
LOCK = _("The lock is renewed every 20 s, and its owner retries continuously: look at the message that it retries.")
OWNER = _("{owner} owns the queue that has stopped, and still rejects {key}.")

POISON_IN_ORDER = Lab(
    slug="poison-in-order",
    number="N3",
    minutes=8,
    title=_("Poison message in an orderly group"),
    goal=_("An orderly group cannot put a failing message aside. What stops, and what continues?"),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"ChangeActor", "RestartActor"}),
    steps=(
        Step(
            title=_("A message that is always rejected"),
            rate=2,
            do=_(
                'Change the handlers of {one} and {other} to "{bad}": from now on they reject the key {key}. Watch the '
                "queues for 20 seconds."
            ),
            watch=_("The pins of all queues."),
            mark="lanes",
            predict=Question(
                text=_("Which queues will stop?"),
                kind=choice(
                    one=_("Only the queue of this key."),
                    member=_("All queues of the member that gets the message."),
                    all=_("All queues of the group."),
                    none=_("None: the message goes to the retry topic."),
                ),
                right=lambda e: Truth("one"),
            ),
            check=_one_stands,
            say=Question(
                text=_("Which queue has stopped?"),
                kind=Choice((*((f"q{number}", f"q{number}") for number in range(QUEUES)), ("all", _("All of them.")))),
                right=_standing,
                again=_("The pin of {given} moves: look for the one whose lag grows."),
                misreadings=(Misreading(ALL, chosen("all")),),
            ),
            why=Question(
                text=_("Why does the committed offset of the queue stop?"),
                kind=choice(
                    order=_("Later messages must not overtake the failing one."),
                    lock=_("The member has lost the lock of the queue."),
                    broker=_("The broker is blocking the queue."),
                ),
                right=lambda e: Truth("order"),
                again=_("The broker delivers what members request; this member already has the messages."),
                misreadings=(Misreading(LOCK, chosen("lock")),),
            ),
            hints=(
                _("A key always goes to the same queue."),
                _("When an orderly listener fails, its queue is suspended."),
            ),
        ),
        Step(
            title=_("Resume the queue"),
            do=_('Change the handlers back to "{good}".'),
            watch=_("The queue that had stopped."),
            mark="lanes",
            predict=Question(
                text=_("Which message in that queue will be consumed first?"),
                kind=choice(
                    poison=_("The rejected message."), next=_("The message after it."), newest=_("The newest message.")
                ),
                right=_first_after,
            ),
            check=_is_mended,
            say=Question(
                text=_("How many times had the message failed? Count its rows in the journal."),
                kind=Number(_("times"), within=1, share=0.1),
                right=_tries,
                again=_("You wrote {given}; count again the rows with {key} that did not succeed."),
            ),
            hints=(_("About one try a second, from the first failure."),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("another handler", "any name rejects", NO_SUCH).at(
            1, before=(), do=_set("one", "reject"), within_s=5
        ),
        SOLUTION.wrong("all stand", "one failure stops the group", ALL).at(1, say="all"),
        SOLUTION.wrong("blames the lock", "the lock is lost", LOCK).at(1, why="lock"),
        SOLUTION.wrong("mends the other", "any member will do", OWNER).at(2, do=_mend(owner=False), within_s=20),
    ),
)
