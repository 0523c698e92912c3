"""Lab N7: flow control, and the limit that delays a member's pulls."""

from sandbox.control.actions import Action, ChangeActor, StartConsumer
from sandbox.journal.events import FlowControlChanged
from sandbox.kernel.chance import Chance
from sandbox.labs.evidence import Evidence, Numbers, Seen, first, last
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Number, choice
from sandbox.labs.script_acts import act, one_of, send, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.truths import field_of
from sandbox.labs.verdict import Verdict

COUNT_MOST, SPAN_MOST = 1_000, 2_000  # DefaultMQPushConsumer's own
PATIENCE_S = 20
CALM_S = 5
SLOW_MS, FAST_MS, HELD_MS = 400, 2, 600_000
READER, THREADS = "reader", 20


def _draw(chance: Chance) -> dict[str, object]:
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "burst": 3_000 + 500 * chance.below(3),
        "reader": READER,
        "count_most": COUNT_MOST,
        "span_most": SPAN_MOST,
        "fast_ms": FAST_MS,
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (topic(n, 1), member(n, actor=READER, threads=THREADS, work_ms=(SLOW_MS, SLOW_MS)))


def _held(evidence: Evidence, limit: str) -> Seen[FlowControlChanged] | None:
    n = evidence.numbers
    return first(evidence.of(FlowControlChanged, group=n["group"], topic=n["topic"], limit=limit))


def _sent(evidence: Evidence) -> int:
    return sum(
        entry.event.fields["count"] or 1 for entry in evidence.actions("SendMessages", topic=evidence.numbers["topic"])
    )


def _passed_s(evidence: Evidence, action: str) -> float:
    """Return the seconds since the newest of these actions in the step."""
    return (evidence.now_ms - evidence.actions(action)[-1].at_ms) / 1000


def _is_held_by_count(evidence: Evidence) -> Verdict:
    if (held := _held(evidence, "count")) is not None:
        return Verdict.met(
            _("{reader} stopped pulling at {value} messages: at most {count_most} may wait."),
            value=held.event.value,
            rests_on=[held],
        )
    if (sent := _sent(evidence)) and _passed_s(evidence, "SendMessages") > PATIENCE_S:
        return Verdict.wrong(SMALL, sent=sent)
    return Verdict.not_yet(_("{reader} is not throttled yet."))


def _is_calm(evidence: Evidence) -> Verdict:
    n = evidence.numbers
    if not evidence.actions("ChangeActor"):
        if evidence.actions("StartConsumer"):
            return Verdict.wrong(ONE_QUEUE)
        return Verdict.not_yet(_("{reader} works as slowly as before."))
    change = last(evidence.of(FlowControlChanged, group=n["group"], topic=n["topic"]))
    is_free = change is not None and change.event.limit is None
    if change is not None and is_free and evidence.now_ms - change.at_ms >= CALM_S * 1000:
        return Verdict.met(_("{reader} pulls without throttling."), rests_on=[change])
    if _passed_s(evidence, "ChangeActor") > PATIENCE_S and not is_free:
        return Verdict.wrong(
            _("{reader} is still throttled: it takes {work_ms} ms for a message. Make it faster."),
            work_ms=_work_ms(evidence),
        )
    return Verdict.not_yet(_("{reader} is processing the waiting messages."))


def _work_ms(evidence: Evidence) -> int:
    changed = evidence.actions("ChangeActor")[-1].event.fields["work_ms"]
    return int(changed[-1]) if changed else SLOW_MS


def _is_held_by_span(evidence: Evidence) -> Verdict:
    held = _held(evidence, "span")
    slow = [entry for entry in evidence.actions("ChangeActor") if entry.event.fields["slow_ms"]]
    if held is not None:
        return Verdict.met(
            _("{reader} was throttled at an offset span of {value}: {span_most} are allowed."),
            value=held.event.value,
            rests_on=[*slow[:1], held],
        )
    if (sent := _sent(evidence)) and _passed_s(evidence, "SendMessages") > PATIENCE_S:
        return Verdict.wrong(TOO_FEW, sent=sent) if slow else Verdict.wrong(NOTHING_HELD)
    return Verdict.not_yet(_("{reader} is not throttled yet."))


def _span(evidence: Evidence) -> Truth:
    held = _held(evidence, "span")
    return Truth("none") if held is None else Truth("span", (held.seq,))


HOLD_ONE = act(lambda n: ChangeActor(actor=READER, slow_queue="broker-a:0", slow_ms=HELD_MS))
SECOND = act(lambda n: StartConsumer(group=n["group"], copies=1))
FASTER = act(lambda n: ChangeActor(actor=READER, work_ms=(FAST_MS, FAST_MS)))
SOLUTION = Solution(
    SolvedStep(predict=COUNT_MOST, do=send("burst"), within_s=30, say="count", why="memory"),
    SolvedStep(predict="faster", do=one_of(SECOND, FASTER, right=1), within_s=60),
    SolvedStep(before=wait(10), predict="span", do=(HOLD_ONE, send("burst")), within_s=60, say="span", why="oldest"),
)


SIZE = _("A message has 200 bytes, so a thousand are far below 100 MiB. Read the card of {reader} again.")
SMALL = _("{sent} messages were sent, but {reader} never had more than {count_most} waiting: send a larger burst.")
ONE_QUEUE = _("The topic has one queue, and a queue has one reader: the new member is idle. Make {reader} faster.")
NOTHING_HELD = _(
    "No message is stuck: each one finishes before {span_most} later messages arrive. Make the next message of "
    "the queue slow, and send again."
)
TOO_FEW = _(
    "{sent} messages arrived after the slow one. The span is the distance from it to the newest pulled message: "
    "send more than {span_most}."
)
LIMITS = choice(
    count=_("the count: 1 000 messages of a queue"),
    size=_("the size: 100 MiB of a queue"),
    span=_("the offset span: 2 000 from the oldest to the newest"),
)

FLOW_CONTROL = Lab(
    slug="flow-control",
    number="N7",
    minutes=9,
    title=_("Flow control: which limit applies?"),
    goal=_(
        "A member that stops pulling looks broken, but it protects its memory. Each of its three limits has its "
        "own fix."
    ),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"SendMessages", "ChangeActor", "StartConsumer"}),
    steps=(
        Step(
            title=_("A burst that is too large"),
            do=_("Send a burst of {burst} messages to {topic}, and watch {reader}."),
            watch=_('"Fullest queue" on the card of {reader}, and its chevron on the strip.'),
            mark="member:{reader}",
            predict=Question(
                text=_("At how many waiting messages will {reader} stop pulling?"),
                kind=Number(_("messages"), within=60),
                right=lambda e: field_of(_held(e, "count"), "value"),
            ),
            check=_is_held_by_count,
            say=Question(
                text=_("Which limit does the journal name?"),
                kind=LIMITS,
                right=lambda e: Truth("count"),
                again=_('Read the "flow" row of the journal: it names the limit.'),
                misreadings=(Misreading(SIZE, chosen("size")),),
            ),
            why=Question(
                text=_("What does this limit protect?"),
                kind=choice(
                    memory=_("The memory of the client, when its listener is slow."),
                    broker=_("The broker, from too many requests."),
                    order=_("The order of the messages."),
                ),
                right=lambda e: Truth("memory"),
                again=_("The broker is not involved: the client sends no further pulls."),
            ),
            hints=(_("{reader} finishes 50 messages a second; the broker can deliver thousands."),),
        ),
        Step(
            title=_("The fix"),
            do=_("Make {reader} pull again: find what is too slow, and change it."),
            watch=_('"Fullest queue" on the card of {reader}.'),
            mark="member:{reader}",
            predict=Question(
                text=_("Which change will help?"),
                kind=choice(
                    member=_("a second member of the group"),
                    faster=_("a faster listener"),
                    wait=_("nothing: the member stays throttled"),
                ),
                right=lambda e: Truth("faster"),
            ),
            check=_is_calm,
            hints=(_('"Slow" on the card sets how long a message takes: {fast_ms} ms, for example.'),),
        ),
        Step(
            title=_("Fast but throttled"),
            do=_("Make the next message of the queue slow for {reader} (600 s), and send {burst} messages again."),
            watch=_('"Offset span" on the card of {reader}.'),
            mark="member:{reader}",
            predict=Question(text=_("Which limit will throttle {reader} now?"), kind=LIMITS, right=_span),
            check=_is_held_by_span,
            say=Question(
                text=_("Which limit does the journal name this time?"),
                kind=LIMITS,
                right=_span,
                again=_('Read the newest "flow" row of the journal.'),
            ),
            why=Question(
                text=_("Very few messages are waiting. Why is the member throttled?"),
                kind=choice(
                    oldest=_("The oldest unfinished message is too far behind the newest."),
                    threads=_("All threads are busy."),
                    broker=_("The broker delivers no more messages."),
                ),
                right=lambda e: Truth("oldest"),
                again=_("One thread is busy, 19 are idle: look at the card again."),
            ),
            hints=(
                _(
                    "After a crash, everything from the oldest unfinished message on is redelivered: the span "
                    "limits that amount."
                ),
            ),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("small burst", "any burst fills a member", SMALL).at(1, do=send(500), within_s=PATIENCE_S + 15),
        SOLUTION.wrong("says size", "the limit is in bytes", SIZE).at(1, say="size"),
        SOLUTION.wrong("second member", "more members always help", ONE_QUEUE).at(2, do=SECOND, within_s=10),
        SOLUTION.wrong("holds nothing", "fast members are held back by the count alone", NOTHING_HELD).at(
            3, do=send("burst"), within_s=PATIENCE_S + 15
        ),
        SOLUTION.wrong("too few", "one slow message holds a member at once", TOO_FEW).at(
            3, do=(HOLD_ONE, send(900)), within_s=PATIENCE_S + 15
        ),
    ),
)
