"""Lab N5: duplicates are normal, their effects can be avoided."""

from sandbox.control.actions import Action, ChangeActor
from sandbox.journal.events import ActionTaken, CrashRepeated
from sandbox.kernel.chance import Chance
from sandbox.labs.evidence import Delivery, Evidence, Numbers, Seen, first, last
from sandbox.labs.evidence_measures import unfinished
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Number, choice
from sandbox.labs.script import Hands
from sandbox.labs.script_acts import Acts, act, crash, restart, send, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.truths import field_of
from sandbox.labs.verdict import Verdict

INSERT, UPSERT = "insert", "upsert"  # labels of handlers: a row for each message, a row for each key
PATIENCE_S = 45


def _draw(chance: Chance) -> dict[str, object]:
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "burst": 40 + 4 * chance.below(5),
        "work_ms": 250 + 50 * chance.below(3),
        "one": "left",
        "other": "right",
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        topic(n, 4),
        *(member(n, actor=n[label], threads=2, work_ms=(n["work_ms"], n["work_ms"])) for label in ("one", "other")),
        *(ChangeActor(actor=n[label], handler=INSERT) for label in ("one", "other")),
    )


def _burst(evidence: Evidence) -> Seen[ActionTaken] | None:
    return first(evidence.actions("SendMessages", topic=evidence.numbers["topic"]))


def _rows(evidence: Evidence) -> tuple[list[Delivery], int, int]:
    """Return the successes of the step's burst, and the counts of inserted rows and of distinct messages."""
    done = evidence.deliveries_of(evidence.numbers["group"], outcome="SUCCESS")
    inserted = sum(row.handler != UPSERT for row in done)
    upserted = {row.key for row in done if row.handler == UPSERT}
    return done, inserted + len(upserted), len({row.key for row in done})


def _crash(evidence: Evidence) -> Seen[ActionTaken] | None:
    burst = _burst(evidence)
    return first([] if burst is None else evidence.actions("CrashActor", since=burst.seq))


def _repeated(evidence: Evidence) -> Seen[CrashRepeated] | None:
    return last(evidence.of(CrashRepeated, group=evidence.numbers["group"]))


def _after_the_crash(evidence: Evidence) -> Verdict | None:
    """Return a verdict on the part of burst, crash and repetition that is still missing; None if all are there."""
    n = evidence.numbers
    if _burst(evidence) is None:
        return Verdict.not_yet(_("No burst has been sent yet."))
    if (crash := _crash(evidence)) is None:
        return Verdict.not_yet(_("No member has crashed yet."))
    done, _made, keys = _rows(evidence)
    is_open = unfinished(evidence, n["group"], evidence.queues_of(n["topic"])) or _repeated(evidence) is None
    if is_open and evidence.passed_s(crash.at_ms) < PATIENCE_S:
        return Verdict.not_yet(_("Redelivered messages are being counted."))
    return Verdict.wrong(LATE, rests_on=[crash]) if is_open or len(done) == keys else None


def _inserts_doubled(evidence: Evidence) -> Verdict:
    if (missing := _after_the_crash(evidence)) is not None:
        return missing
    _done, rows, keys = _rows(evidence)
    return Verdict.met(
        _("The table has {rows} rows for {keys} messages."), rows=rows, keys=keys, rests_on=_seqs(evidence)
    )


def _upserts_hold(evidence: Evidence) -> Verdict:
    n, burst = evidence.numbers, _burst(evidence)
    if burst is not None:
        handlers = {
            entry.event.fields["actor"]: entry.event.fields["handler"]
            for entry in evidence.actions("ChangeActor")
            if entry.event.fields["handler"] and entry.seq < burst.seq
        }
        still = [n[label] for label in ("one", "other") if handlers.get(n[label]) != UPSERT]
        if len(still) == 2:
            return Verdict.wrong(BOTH, rests_on=[burst])
        if still:
            return Verdict.wrong(ONE, still=still[0], rests_on=[burst])
    if (missing := _after_the_crash(evidence)) is not None:
        return missing
    done, rows, keys = _rows(evidence)
    return Verdict.met(
        _("{twice} messages were finished twice: the table has {rows} rows for {keys} messages."),
        twice=len(done) - keys,
        rows=rows,
        keys=keys,
        rests_on=_seqs(evidence),
    )


def _seqs(evidence: Evidence) -> list[int]:
    crash, repeated = _crash(evidence), _repeated(evidence)
    return [entry.seq for entry in (crash, repeated) if entry is not None]


def _count(evidence: Evidence) -> Truth:
    return field_of(_repeated(evidence), "count")


def _made_rows(evidence: Evidence) -> Truth:
    return Truth(float(_rows(evidence)[1]), tuple(_seqs(evidence)))


def _upsert(*labels: str) -> Acts:
    return tuple(_set(label) for label in labels)


def _set(label: str) -> Acts:
    return act(lambda n: ChangeActor(actor=n[label], handler=UPSERT))


def _repetitions(hands: Hands) -> float:
    return hands.evidence.of(CrashRepeated)[-1].event.count


SOLUTION = Solution(
    SolvedStep(
        predict=lambda h: h.numbers["burst"],
        do=(send("burst"), wait(2), crash("other")),
        within_s=PATIENCE_S + 10,
        say=_repetitions,
        why="not_known",
    ),
    SolvedStep(
        before=(restart("other"), wait(10)),
        predict=lambda h: h.numbers["burst"],
        do=(_upsert("one", "other"), send("burst"), wait(2), crash("one")),
        within_s=PATIENCE_S + 10,
        say=_repetitions,
        why="by_key",
    ),
)


LATE = _("No message was finished twice: crash a member one or two seconds after the burst, while it is working.")
ONE = _("{still} still inserts: a redelivered message may reach it. Change both handlers, then send another burst.")
BOTH = _("Both members still insert a row for each message: change their handlers to upsert, then send another burst.")
BURST = _('You wrote {given}: that is the whole burst. Read "delivered twice" in the journal.')
BUG = _("The broker kept its promise: at least once. It has no information about work that a crashed member finished.")

IDEMPOTENT_HANDLER = Lab(
    slug="idempotent-handler",
    number="N5",
    minutes=10,
    title=_("Duplicates and the handler"),
    goal=_("No setting of a broker prevents every duplicate. A handler can make duplicates harmless."),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"SendMessages", "CrashActor", "RestartActor", "ChangeActor"}),
    steps=(
        Step(
            title=_("A handler that inserts"),
            do=_(
                "{one} and {other} insert a row into the same table for each message they finish. Send {burst} "
                "messages to {topic}, and crash {other} after 2 seconds."
            ),
            watch=_('"delivered twice" in the journal, 10 to 30 seconds later.'),
            mark="journal",
            predict=Question(
                text=_("How many rows will the handlers' table have after {burst} messages?"),
                kind=Number(_("rows"), within=2),
                right=_made_rows,
            ),
            check=_inserts_doubled,
            say=Question(
                text=_("How many messages were delivered twice?"),
                kind=Number(_("messages")),
                right=_count,
                again=_('You wrote {given}; read "delivered twice" in the journal again.'),
                misreadings=(Misreading(BURST, lambda e, answer: answer == e.numbers["burst"]),),
            ),
            why=Question(
                text=_("Why does the handlers' table have too many rows?"),
                kind=choice(
                    not_known=_("{other} had finished messages without committing them, so they were processed again."),
                    bug=_("The broker failed and delivered twice."),
                    sent=_("The producer sent some messages twice."),
                ),
                right=lambda e: Truth("not_known"),
                again=_("Each message is stored once: compare the offsets."),
                misreadings=(Misreading(BUG, chosen("bug")),),
            ),
            hints=(_("The row is written when a message finishes; the commit follows up to 5 s later."),),
        ),
        Step(
            title=_("A handler that checks the key"),
            do=_(
                "Restart {other}. Change the handler of both members to upsert: one row for each key. Send "
                "{burst} messages again and crash a member after 2 seconds."
            ),
            watch=_('"delivered twice" in the journal, 10 to 30 seconds later.'),
            mark="journal",
            predict=Question(
                text=_("How many rows will these {burst} messages create?"), kind=Number(_("rows")), right=_made_rows
            ),
            check=_upserts_hold,
            say=Question(
                text=_("How many messages were delivered twice this time?"),
                kind=Number(_("messages")),
                right=_count,
                again=_('You wrote {given}; read "delivered twice" in the journal again.'),
            ),
            why=Question(
                text=_("Why did repeated deliveries create no extra rows this time?"),
                kind=choice(
                    by_key=_("The second write finds the key and changes nothing."),
                    fewer=_("Fewer messages were delivered twice."),
                    broker=_("The broker removed the duplicates."),
                ),
                right=lambda e: Truth("by_key"),
                again=_("Messages were delivered twice as before: read the journal. Only the effect differs."),
            ),
            hints=(_("The card of each member shows its handler."),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("late", "a crash always repeats", LATE).at(
            1, predict=0, do=(send("burst"), wait(40), crash("other"))
        ),
        SOLUTION.wrong("one", "the crashed member's handler is enough", ONE).at(
            2, do=(_upsert("other"), send("burst"), wait(2), crash("one"))
        ),
        SOLUTION.wrong("none", "a second burst is different by itself", BOTH).at(
            2, do=(send("burst"), wait(2), crash("one"))
        ),
        SOLUTION.wrong("burst", "everything comes again", BURST).at(1, say=lambda h: h.numbers["burst"]),
        SOLUTION.wrong("bug", "duplicates are an error of the broker", BUG).at(1, why="bug"),
    ),
)
