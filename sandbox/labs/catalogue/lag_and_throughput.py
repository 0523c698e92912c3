"""Lab N0: the difference between lag and throughput."""

from sandbox.control.actions import Action, ChangeActor, StartConsumer, StartProducer
from sandbox.journal.events import ActionTaken, PredictionGiven
from sandbox.kernel.chance import Chance
from sandbox.labs.board import board, header
from sandbox.labs.evidence import Evidence, Numbers, Seen, last
from sandbox.labs.evidence_measures import finished_per_s, lag_at
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Number, choice
from sandbox.labs.script import Hands
from sandbox.labs.script_acts import act
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.verdict import Verdict

GROWS_S, HELD_S, RATE_OVER_S = 60, 20, 15


def _draw(chance: Chance) -> dict[str, object]:
    queues = 3 + chance.below(2)
    work_ms = chance.choice((250, 400, 500))
    members = queues - 1
    out = members * 1000 / work_ms
    rate = round(out * 1.5) + chance.below(3)
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "queues": queues,
        "members": members,
        "work_ms": work_ms,
        "rate": rate,
        "out": f"{out:g}",
        "beyond": queues + 1,
        "most": queues * 1000 / work_ms,
        "sent": rate * GROWS_S,
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        topic(n, n["queues"]),
        member(n, copies=n["members"], threads=1, work_ms=(n["work_ms"], n["work_ms"])),
        StartProducer(actor="shop", topic=n["topic"], rate_per_s=0),
    )


def _rate_set(evidence: Evidence) -> Seen[ActionTaken] | None:
    """Return the newest change of the producer's rate in this step."""
    changes = evidence.actions("ChangeActor", actor="shop")
    return last([entry for entry in changes if entry.event.fields["rate_per_s"] is not None])


def _lag_has_grown(evidence: Evidence) -> Verdict:
    n, change = evidence.numbers, _rate_set(evidence)
    if change is None:
        return Verdict.not_yet(_("shop is not sending yet."))
    rate = change.event.fields["rate_per_s"]
    if rate != n["rate"]:
        return Verdict.wrong(RATE, now=f"{rate:g}", rests_on=[change])
    if (passed_s := evidence.passed_s(change.at_ms)) < GROWS_S:
        return Verdict.not_yet(_("{passed_s} of {wait_s} seconds have passed."), passed_s=passed_s, wait_s=GROWS_S)
    return Verdict.met(
        _("The lag grew by {grown} in {wait_s} s."),
        wait_s=GROWS_S,
        grown=_grown(evidence),
        rests_on=[change, *_newest(evidence)],
    )


def _grown(evidence: Evidence) -> int:
    """Return the growth of the lag in the measured time after the newest change of the rate."""
    change = _rate_set(evidence)
    return 0 if change is None else _lag_at(evidence, change.at_ms + GROWS_S * 1000) - _lag_at(evidence, change.at_ms)


def _lag_at(evidence: Evidence, at_ms: int) -> int:
    return lag_at(evidence, evidence.numbers["group"], evidence.numbers["topic"], at_ms)


def _newest(evidence: Evidence) -> list[int]:
    """Return the seqs of the newest commit in each queue."""
    n = evidence.numbers
    commits = [evidence.committed(n["group"], queue) for queue in evidence.queues_of(n["topic"])]
    return [commit.seq for commit in commits if commit is not None]


def _one_beyond(evidence: Evidence) -> Verdict:
    n = evidence.numbers
    newest = evidence.assigned(n["group"], n["topic"])
    if len(newest) != n["beyond"]:
        return Verdict.not_yet(_("The group has {now} of {members} members."), now=len(newest), members=n["beyond"])
    since_ms = max(entry.at_ms for entry in newest.values() if entry.event.added or not entry.event.queues)
    if (held_s := evidence.passed_s(since_ms)) < HELD_S:
        return Verdict.not_yet(
            _("The queues have been assigned for {held_s} s; watch for {wait_s} s."), held_s=held_s, wait_s=HELD_S
        )
    return Verdict.met(
        _("{members} members finish {out} messages a second."),
        members=n["beyond"],
        out=round(_out(evidence), 1),
        rests_on=newest.values(),
    )


def _out(evidence: Evidence) -> float:
    return finished_per_s(evidence, evidence.numbers["group"], RATE_OVER_S)


def _is_drained(evidence: Evidence) -> Verdict:
    n, change = evidence.numbers, _rate_set(evidence)
    if change is None:
        return Verdict.not_yet(_("shop is still sending."))
    if change.event.fields["rate_per_s"] != 0:
        return Verdict.wrong(
            _("shop sends {now} messages a second; set its rate to 0."),
            now=f"{change.event.fields['rate_per_s']:g}",
            rests_on=[change],
        )
    if (lag := evidence.lag(n["group"], n["topic"])) > 0:
        return Verdict.not_yet(_("{lag} messages are left."), lag=lag)
    return Verdict.met(
        _(
            "The lag reached 0 {drained_s} s after the last message: the queue with the most messages, "
            "{queue}, finished last."
        ),
        drained_s=round(_drained_s(evidence)),
        queue=_last_queue(evidence),
        rests_on=[change, *_newest(evidence)],
    )


def _last_queue(evidence: Evidence) -> str:
    rows = evidence.deliveries_of(evidence.numbers["group"], outcome="SUCCESS")
    return f"q{rows[-1].queue.rpartition('/')[2]}"


def _drained_s(evidence: Evidence) -> float:
    change = _rate_set(evidence)
    rows = evidence.deliveries_of(evidence.numbers["group"], outcome="SUCCESS")
    return 0.0 if change is None or not rows else max(0, rows[-1].at_ms - change.at_ms) / 1000


def _drain_s(evidence: Evidence) -> float:
    """Return the seconds to drain the lag at the time of the prediction.

    The producer may have sent more messages until its rate was 0.
    """
    change = _rate_set(evidence)
    predictions = evidence.of(PredictionGiven, since=0)
    before = 0 if change is None else _lag_at(evidence, change.at_ms)
    return _drained_s(evidence) * _lag_at(evidence, predictions[-1].at_ms) / before if before and predictions else 0.0


def _furthest_behind(hands: Hands) -> int:
    """Return the largest lag of a queue: queues of a member that first had two are further behind."""
    return max(int(row["max"]) - int(row["committed"] or 0) for row in board(hands)["queues"].values())


SOLUTION = Solution(
    SolvedStep(
        predict=lambda h: (h.numbers["rate"] - float(h.numbers["out"])) * GROWS_S,
        do=act(lambda n: ChangeActor(actor="shop", rate_per_s=n["rate"])),
        say=lambda h: header(h, "lag"),
        why="in_above_out",
    ),
    SolvedStep(
        predict=lambda h: h.numbers["most"],
        do=act(lambda n: StartConsumer(group=n["group"], copies=2)),
        say=lambda h: header(h, "out_per_s"),
        why="one_reader",
    ),
    SolvedStep(
        predict=lambda h: _furthest_behind(h) * h.numbers["work_ms"] / 1000,
        do=act(lambda n: ChangeActor(actor="shop", rate_per_s=0)),
        say=lambda h: header(h, "lag"),
        why="threads",
    ),
)


SENT = _(
    "You wrote {given}: that many were sent. Lag counts messages sent but not yet consumed; read it in the header."
)
PULLS = _(
    "The members have pulled far more than they have finished: open a card to see the waiting messages. The "
    "handler is slow, not the pulls."
)
ALL = _("You wrote {given}: that would be right if {beyond} members worked. Look for the card without a lane.")
RATE = _("shop sends {now} messages a second; set its rate to {rate}.")

LAG_AND_THROUGHPUT = Lab(
    slug="lag-and-throughput",
    number="N0",
    minutes=10,
    title=_("Lag and throughput"),
    goal=_("When a group falls behind, people add members. Sometimes this helps, and sometimes it changes nothing."),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"ChangeActor", "StartConsumer", "StopActor", "RemoveActor"}),
    steps=(
        Step(
            title=_("Input faster than output"),
            rate=4,
            do=_(
                "{topic} has {queues} queues. {members} members take {work_ms} ms for a message, one at a time. "
                "Make shop send {rate} messages a second, and wait for 60 seconds."
            ),
            watch=_('Lag and "In / consumed" in the header of the group.'),
            mark="header:lag",
            predict=Question(
                text=_("By how many messages will the lag grow in these 60 seconds?"),
                kind=Number(_("messages"), share=0.15, within=5),
                right=lambda e: Truth(float(_grown(e)), tuple(_newest(e))),
            ),
            check=_lag_has_grown,
            say=Question(
                text=_("Read the lag of the group now."),
                kind=Number(_("messages"), share=0.1, within=10),
                right=lambda e: Truth(float(e.lag(e.numbers["group"], e.numbers["topic"])), tuple(_newest(e))),
                again=_("You wrote {given}; read the number under Lag again."),
                misreadings=(Misreading(SENT, lambda e, answer: answer == e.numbers["sent"]),),
            ),
            why=Question(
                text=_("Why does the lag grow?"),
                kind=choice(
                    in_above_out=_("Each second more messages arrive than the handlers finish."),
                    pulls=_("The members pull too slowly from the broker."),
                    delay=_("The broker delivers every message late."),
                ),
                right=lambda e: Truth("in_above_out"),
                again=_(
                    "A delay would be equal for every message, but the age of the oldest one grows. Compare "
                    "input and consumption."
                ),
                misreadings=(Misreading(PULLS, chosen("pulls")),),
            ),
            hints=(
                _("{members} members finish {out} messages a second."),
                _("Messages that enter but do not leave accumulate: the difference, times the seconds."),
            ),
        ),
        Step(
            title=_("More members than queues?"),
            rate=4,
            do=_('Start two more members of {group}: {beyond} in total. Then watch "In / consumed" for 20 seconds.'),
            watch=_('"In / consumed" in the header, and the cards without a lane.'),
            mark="header:out",
            predict=Question(
                text=_("How many messages a second will {beyond} members finish?"),
                kind=Number(_("messages a second"), share=0.15),
                right=lambda e: Truth(_out(e)),
            ),
            check=_one_beyond,
            say=Question(
                text=_("Read how many messages a second the group consumes."),
                kind=Number(_("messages a second"), share=0.12),
                right=lambda e: Truth(_out(e)),
                again=_('You wrote {given}; read the second number of "In / consumed" again.'),
                misreadings=(
                    Misreading(
                        ALL,
                        lambda e, answer: (
                            isinstance(answer, float)
                            and abs(answer - e.numbers["beyond"] * 1000 / e.numbers["work_ms"]) < 0.1
                        ),
                    ),
                ),
            ),
            why=Question(
                text=_("Why did the last member change nothing?"),
                kind=choice(
                    one_reader=_("Each queue already has its one reader in the group."),
                    warm=_("A new member is slow at first."),
                    share=_("The members take messages from each other."),
                ),
                right=lambda e: Truth("one_reader"),
                again=_(
                    "The card of the last member has no lane. That member is not slow and takes no work from "
                    "others: it has no queue to read."
                ),
            ),
            hints=(_("Count the lanes, not the cards."),),
        ),
        Step(
            title=_("Time to drain"),
            rate=10,
            do=_("Set the rate of shop to 0 and wait until the lag is 0."),
            watch=_("Lag in the header, and the consumption rate while it falls."),
            mark="header:lag",
            predict=Question(
                text=_("After how many seconds does the lag reach 0?"),
                kind=Number(_("s"), share=0.25, within=5),
                right=lambda e: Truth(_drain_s(e)),
            ),
            check=_is_drained,
            say=Question(
                text=_("Read the lag now."),
                kind=Number(_("messages")),
                right=lambda e: Truth(float(e.lag(e.numbers["group"], e.numbers["topic"])), tuple(_newest(e))),
                again=_("You wrote {given}; shop has stopped sending. Read the number under Lag again."),
            ),
            why=Question(
                text=_(
                    "While the lag fell, each member with a queue worked without a pause. What would have made "
                    "the group faster?"
                ),
                kind=choice(
                    threads=_("More threads in each member, or a faster handler."),
                    members=_("Ten more members."),
                    memory=_("More memory for the broker."),
                ),
                right=lambda e: Truth("threads"),
                again=_("Each queue has its reader and the broker is waiting: only the processing can become faster."),
            ),
            hints=(
                _(
                    "The queue with the largest lag finishes last: its lag, divided by the messages that one "
                    "member finishes a second."
                ),
            ),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("sent", "takes what was sent for the lag", SENT).at(1, say=lambda h: h.numbers["sent"]),
        SOLUTION.wrong("pulls", "lag means that pulling is slow", PULLS).at(1, why="pulls"),
        SOLUTION.wrong("all work", "every member adds throughput", ALL).at(
            2, say=lambda h: h.numbers["beyond"] * 1000 / h.numbers["work_ms"]
        ),
        SOLUTION.wrong("too slow", "another rate will do", RATE).at(
            1, predict=0, do=act(lambda n: ChangeActor(actor="shop", rate_per_s=n["rate"] - 1)), within_s=70
        ),
    ),
)
