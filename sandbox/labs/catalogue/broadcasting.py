"""Lab 11: broadcasting compared with clustering."""

from sandbox.control.actions import Action, StartConsumer
from sandbox.journal.events import ActionTaken, OffsetsPersisted, QueueTaken
from sandbox.kernel.chance import Chance
from sandbox.labs.evidence import Delivery, Evidence, Numbers, Seen, first, last, queue_of
from sandbox.labs.evidence_measures import sends, stored_by
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Number, choice
from sandbox.labs.script_acts import act, crash, restart, send, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.truths import count_of, field_of
from sandbox.labs.verdict import Verdict

QUEUES = 4
GOT_WITHIN_S = 15
CLERKS, SCREENS = ("left", "right"), ("screen", "wall")


def _draw(chance: Chance) -> dict[str, object]:
    return {
        "topic": chance.choice(("prices", "notices", "rates")),
        "group": chance.choice(("clerks", "packers")),
        "shown": chance.choice(("displays", "caches")),
        "burst": 20 + 4 * chance.below(8),
        "one": CLERKS[0],
        "screen": SCREENS[0],
        "wall": SCREENS[1],
    }


def _derive(n: Numbers) -> dict[str, object]:
    """Return the name of the second group, derived from the first, because names differ between attempts."""
    return {"second": f"{n['shown']}-{n['group']}"}


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        topic(n, QUEUES),
        *(member(n, actor=label, work_ms=(20, 60)) for label in CLERKS),
        *(member(n, group="second", actor=label, model="BROADCASTING", work_ms=(20, 60)) for label in SCREENS),
    )


def _burst(evidence: Evidence) -> Seen[ActionTaken] | None:
    return last(sends(evidence))


def _count(burst: Seen[ActionTaken]) -> int:
    fields = burst.event.fields
    return len(fields["rows"]) or int(fields["count"] or 1)


def _got(evidence: Evidence, group: str, label: str | None = None) -> list[Delivery]:
    """List the messages of the burst that a group, or one actor of it, has finished."""
    if (burst := _burst(evidence)) is None:
        return []
    clients = None if label is None else evidence.clients(label)
    sent = {
        (queue_of(entry.event), entry.event.first_offset + number)
        for entry in stored_by(evidence, burst)
        for number in range(entry.event.count)
    }
    return [
        row
        for row in evidence.deliveries_of(evidence.numbers[group], since=burst.seq, outcome="SUCCESS")
        if (row.queue, row.offset) in sent and (clients is None or row.client_id in clients)
    ]


def _all_have_it(evidence: Evidence) -> Verdict:
    if (burst := _burst(evidence)) is None:
        return Verdict.not_yet(_("No burst has been sent yet."))
    once, each = _got(evidence, "group"), [_got(evidence, "second", label) for label in SCREENS]
    if any(len(rows) < _count(burst) for rows in (once, *each)):
        return Verdict.not_yet(_("Some members have not received the burst yet."))
    if _file(evidence).value != "own":
        return Verdict.not_yet(_("The offsets are not persisted yet: clients persist them every 5 s."))
    return Verdict.met(
        _("{group} received {once} messages in total; each member of {second} received {each}."),
        once=len(once),
        each=len(each[0]),
        rests_on=[burst, *once, *each[0], *each[1]],
    )


def _file(evidence: Evidence) -> Truth:
    """Return the writer of the broadcasting group's offsets, as the journal records it."""
    mine = [
        row.seq for row in evidence.of(OffsetsPersisted, since=0) if row.event.owner in evidence.clients(SCREENS[0])
    ]
    return Truth("own", tuple(mine[-1:])) if mine else Truth("broker")


def _restarted(evidence: Evidence, label: str, burst: Seen[ActionTaken]) -> Seen[QueueTaken] | None:
    """Return the first queue that the member's restarted process acquired, once it has all of them; else None."""
    if (back := last(evidence.actions("RestartActor", since=burst.seq, actor=label))) is None:
        return None
    client_id, topic = evidence.clients(label)[-1], evidence.numbers["topic"]
    taken = evidence.of(QueueTaken, since=back.seq, client_id=client_id, topic=topic)
    return taken[0] if len(taken) >= QUEUES else None


def _is_back(evidence: Evidence) -> Verdict:
    burst = _burst(evidence)
    crashes = evidence.actions("CrashActor", actor=SCREENS[0])
    if burst is None:
        return Verdict.not_yet(_("No burst has been sent yet."))
    if crashes and crashes[0].seq > burst.seq:
        return Verdict.wrong(LATE, rests_on=[burst, crashes[0]])
    if not crashes:
        if len(_got(evidence, "second")) >= len(SCREENS) * _count(burst):
            return Verdict.wrong(STILL_RUNS, rests_on=[burst])
        return Verdict.not_yet(_("Some members have not received the burst yet."))
    if not evidence.actions("CrashActor", actor=CLERKS[0]):
        return Verdict.wrong(ONE_GROUP, rests_on=[burst])
    if (taken := _restarted(evidence, SCREENS[0], burst)) is None:
        return Verdict.not_yet(_("{screen} is not running again yet."))
    once = _got(evidence, "group")
    if len({(row.queue, row.offset) for row in once}) < _count(burst):
        return Verdict.not_yet(_("{group} has not finished the burst yet."))
    if (waited_s := evidence.passed_s(taken.at_ms)) < GOT_WITHIN_S:
        return Verdict.not_yet(
            _("{screen} restarted {waited_s} s ago; watch for {wait_s} s."), waited_s=waited_s, wait_s=GOT_WITHIN_S
        )
    return Verdict.met(
        _("{group} continued without {one}; {screen} received {got} of {count} messages after its restart."),
        got=len(_got(evidence, "second", SCREENS[0])),
        count=_count(burst),
        rests_on=[crashes[0], burst, taken, *once],
    )


def _reached(evidence: Evidence) -> Truth:
    return count_of(_got(evidence, "second", SCREENS[0]))


def _joined(evidence: Evidence) -> Seen[ActionTaken] | None:
    """Return the newest start of another broadcasting member."""
    return last(evidence.actions("StartConsumer", group=evidence.numbers["second"]))


def _began(evidence: Evidence) -> list[Seen[QueueTaken]]:
    """List the new member's start offsets, queue by queue."""
    n = evidence.numbers
    if (joined := _joined(evidence)) is None:
        return []
    taken = evidence.of(QueueTaken, since=joined.seq, group=n["second"], topic=n["topic"])
    return sorted(taken, key=lambda entry: entry.event.queue_id)


def _is_new(evidence: Evidence) -> Verdict:
    if _joined(evidence) is None:
        if others := evidence.actions("StartConsumer"):
            return Verdict.wrong(OTHER_GROUP, given=others[-1].event.fields["group"], rests_on=[others[-1]])
        return Verdict.not_yet(_("No member has been added in this step."))
    began = _began(evidence)
    if len(began) < QUEUES:
        return Verdict.not_yet(_("{count} of {all} queues have been acquired."), count=len(began), all=QUEUES)
    if (waited_s := (evidence.now_ms - began[-1].at_ms) // 1000) < GOT_WITHIN_S:
        return Verdict.not_yet(
            _("The new member has been running for {waited_s} s; watch for {wait_s} s."),
            waited_s=waited_s,
            wait_s=GOT_WITHIN_S,
        )
    got = _old(evidence)
    return Verdict.met(
        _("The new member of {second} received {got} of the messages stored before it started."),
        got=f"{got.value:g}",
        rests_on=[*got.rests_on, *began],
    )


def _old(evidence: Evidence) -> Truth:
    """Return the number of messages that the new member received although they are older than its start."""
    began = _began(evidence)
    clients = {entry.event.client_id for entry in began}
    rows = [row for row in evidence.deliveries_of(evidence.numbers["second"]) if row.client_id in clients]
    return Truth(float(len(rows)), (*(row.seq for row in rows), *(entry.seq for entry in began)))


SOLUTION = Solution(
    SolvedStep(
        before=wait(5),
        predict=lambda h: 2 * h.numbers["burst"],
        do=send("burst"),
        within_s=30,
        say=lambda h: len(_got(h.evidence, "group", CLERKS[0])),
        why="own",
    ),
    SolvedStep(
        predict=lambda h: h.numbers["burst"],
        do=(crash("left", "screen"), wait(2), send("burst"), wait(5), restart("left", "screen")),
        within_s=90,
        say=lambda h: len(_got(h.evidence, "second", SCREENS[0])),
        why="same_id",
    ),
    SolvedStep(
        predict=0,
        do=act(lambda n: StartConsumer(group=n["second"])),
        within_s=40,
        say=lambda h: _began(h.evidence)[0].event.start_offset,
        why="no_file",
    ),
)


EVERY = _("You wrote {given}: that is the whole burst, which {one} shares with right. Look at the card of {one}.")
IN_BROKER = _("The broker stores offsets of {group} only: members of {second} never send theirs.")
LATE = _("The newest burst was sent before {screen} crashed. Restart {screen}, crash it again, then send.")
STILL_RUNS = _("{screen} was running and received every message. Crash it, then send another burst.")
ONE_GROUP = _(
    "{one} of {group} is still running, so there is nothing to compare. Crash both, send another burst, and "
    "restart both."
)
MISSED = _("You wrote {given}: look at the card of screen again. It read its own file and resumed from that offset.")
OTHER_GROUP = _(
    "{given} assigns its queues, so a new member resumes from the committed offsets of others. Add a member to "
    "{second}."
)

BROADCASTING = Lab(
    slug="broadcasting",
    number="11",
    minutes=9,
    title=_("Broadcasting and offset storage"),
    goal=_("A cache on every server needs every message. Which messages does a server miss when it restarts?"),
    draw=_draw,
    derive=_derive,
    setup=_setup,
    allowed=frozenset({"SendMessages", "CrashActor", "RestartActor", "StartConsumer"}),
    steps=(
        Step(
            title=_("One topic, two groups"),
            do=_(
                "{group} (left, right) assigns the queues of {topic} to its members; {second} (screen, wall) "
                "uses broadcasting. Send {burst} messages to {topic}."
            ),
            watch=_("The cards of all four members; the Board shows one group at a time."),
            mark="lanes",
            predict=Question(
                text=_("How many messages will the listeners of {second} finish in total, both members together?"),
                kind=Number(_("messages")),
                right=lambda e: count_of(_got(e, "second")),
            ),
            check=_all_have_it,
            say=Question(
                text=_("How many messages of the burst did {one} of {group} finish?"),
                kind=Number(_("messages")),
                right=lambda e: count_of(_got(e, "group", CLERKS[0])),
                again=_("You wrote {given}; count on the card of {one} again."),
                misreadings=(Misreading(EVERY, lambda e, answer: answer == e.numbers["burst"]),),
            ),
            why=Question(
                text=_("Where are the offsets of {second} stored?"),
                kind=choice(
                    own=_("each member: <client id>/{second}/offsets.json on its machine"),
                    broker=_("broker: {topic}@{second} in consumerOffset.json"),
                    nowhere=_("nowhere: broadcasting has no offsets"),
                ),
                right=_file,
                again=_('"persisted" in the journal names the file and its writer.'),
                misreadings=(Misreading(IN_BROKER, chosen("broker")),),
            ),
            hints=(_("Each broadcasting member reads all queues."),),
        ),
        Step(
            title=_("A short absence"),
            rate=4,
            do=_("Crash left and screen, one member of each group. Send {burst} messages, then restart both."),
            watch=_('Where the new process of screen starts: "acquired" in the journal.'),
            mark="journal",
            predict=Question(
                text=_("How many of these messages will screen receive after its restart?"),
                kind=Number(_("messages")),
                right=_reached,
            ),
            check=_is_back,
            say=Question(
                text=_("How many of these messages has screen finished since its restart?"),
                kind=Number(_("messages")),
                right=_reached,
                again=_('You wrote {given}; look at the card of screen, and at "acquired" in the journal.'),
                misreadings=(Misreading(MISSED, lambda e, answer: answer == 0.0),),
            ),
            why=Question(
                text=_("How did screen know where to resume?"),
                kind=choice(
                    same_id=_("Its new process has the same client ID on the same machine, so it reads the same file."),
                    wall=_("wall had stored its offsets."),
                    broker=_("The broker had stored its offsets."),
                ),
                right=lambda e: Truth("same_id"),
                again=_("Compare the client ID of screen before and after: the path of its offset file contains it."),
                misreadings=(Misreading(IN_BROKER, chosen("broker")),),
            ),
            hints=(_("right took over the queues of left within seconds. Which member takes over for screen?"),),
        ),
        Step(
            title=_("One more screen"),
            rate=4,
            do=_("Add one consumer to {second}, on its own machine."),
            watch=_('Where the new member starts: "acquired" in the journal.'),
            mark="journal",
            predict=Question(
                text=_("How many of the messages already in {topic} will the new member receive?"),
                kind=Number(_("messages")),
                right=_old,
            ),
            check=_is_new,
            say=Question(
                text=_("At which offset did the new member start in broker-a:0?"),
                kind=Number(),
                right=lambda e: field_of(first(_began(e)), "start_offset"),
                again=_('You wrote {given}; look for "acquired" and broker-a:0 in the journal again.'),
            ),
            why=Question(
                text=_(
                    "A container is replaced, and the new one has a different address. Which messages does it miss?"
                ),
                kind=choice(
                    no_file=_("those sent before it starts: its client ID has no offset file"),
                    nothing=_("none: it resumes where the old container stopped"),
                    all=_("none: it starts at offset 0"),
                ),
                right=lambda e: Truth("no_file"),
                again=_(
                    "The new container is a new client, like the member that you just added: where did that "
                    "member start?"
                ),
            ),
            hints=(_("The new container is set to LAST, and it has no offset file."),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("says all", "every member of every group receives every message", EVERY).at(
            1, say=lambda h: h.numbers["burst"]
        ),
        SOLUTION.wrong("thinks broker", "the broker stores all offsets", IN_BROKER).at(1, why="broker"),
        SOLUTION.wrong("crashes late", "a crash undoes deliveries", LATE).at(
            2, do=(send("burst"), wait(5), crash("left", "screen")), within_s=30
        ),
        SOLUTION.wrong("no screen", "clustering and broadcasting members behave the same", STILL_RUNS).at(
            2, do=(crash("left"), wait(2), send("burst"), wait(5)), within_s=30
        ),
        SOLUTION.wrong("screen only", "one group is enough to see the difference", ONE_GROUP).at(
            2, do=(crash("screen"), wait(2), send("burst"), wait(5), restart("screen"))
        ),
        SOLUTION.wrong("thinks missed", "a broadcasting member loses its offsets", MISSED).at(2, say=0),
        SOLUTION.wrong("other group", "a new member starts the same in both models", OTHER_GROUP).at(
            3, do=act(lambda n: StartConsumer(group=n["group"]))
        ),
    ),
)
