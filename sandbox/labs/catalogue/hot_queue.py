"""Lab N6: a hot queue, which receives most messages because of the keys."""

from collections import Counter
from typing import Any

from sandbox.control.actions import Action, ChangeActor, StartConsumer, StartProducer
from sandbox.journal.events import MessagesStored
from sandbox.kernel.chance import Chance
from sandbox.labs.board import board, header
from sandbox.labs.evidence import Evidence, Numbers, queue_of
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Choice, Number, choice
from sandbox.labs.script import Hands
from sandbox.labs.script_acts import Acts, act, stop
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.verdict import Verdict

QUEUES = 4
WATCH_S = 40
HOT_PERCENT, EVEN_PERCENT = 50, 35
WORK_MS = 150


def _draw(chance: Chance) -> dict[str, object]:
    big = chance.choice(("megastore", "airport", "harbour"))
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "big": big,
        "of_ten": 6 + chance.below(2),
        "rate": 12,
        "members": 2,
        "more": QUEUES,
        "work_ms": WORK_MS,
    }


def _keys(n: Numbers) -> tuple[str, ...]:
    """Return the keys of ten messages, `of_ten` of which are the big customer's."""
    return (*(n["big"] for _number in range(n["of_ten"])), *(f"shop-{number}" for number in range(10 - n["of_ten"])))


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        topic(n, QUEUES),
        member(n, copies=n["members"], listener="orderly", work_ms=(WORK_MS, WORK_MS)),
        StartProducer(actor="shop", topic=n["topic"], rate_per_s=0, keys=_keys(n), selector="hash"),
    )


def _shares(evidence: Evidence, from_ms: int) -> Counter[str]:
    """Return the number of messages stored in each queue from `from_ms` on."""
    counted: Counter[str] = Counter()
    for entry in evidence.of(MessagesStored, topic=evidence.numbers["topic"]):
        if entry.at_ms >= from_ms:
            counted[queue_of(entry.event)] += entry.event.count
    return counted


def _hottest_percent(evidence: Evidence, from_ms: int) -> float:
    shares = _shares(evidence, from_ms)
    return 100 * max(shares.values()) / shares.total() if shares else 0.0


def _sending_from(evidence: Evidence) -> int | None:
    """Return the time at which the producer `shop` was set to send, in ms, or None."""
    changes = [entry for entry in evidence.actions("ChangeActor", actor="shop") if entry.event.fields["rate_per_s"]]
    return changes[0].at_ms if changes else None


def _is_hot(evidence: Evidence) -> Verdict:
    if (from_ms := _sending_from(evidence)) is None:
        return Verdict.not_yet(_("shop is not sending yet."))
    if (passed_s := evidence.passed_s(from_ms)) < WATCH_S:
        return Verdict.not_yet(_("{passed_s} of {wait_s} seconds have passed."), passed_s=passed_s, wait_s=WATCH_S)
    return Verdict.met(
        _("The hottest queue gets {percent} % of the messages."),
        percent=round(_hottest_percent(evidence, from_ms)),
        rests_on=evidence.of(MessagesStored)[:1],
    )


def _hot_share(evidence: Evidence) -> Truth:
    from_ms = _sending_from(evidence)
    return Truth(0.0 if from_ms is None else _hottest_percent(evidence, from_ms))


def _hottest(evidence: Evidence) -> Truth:
    from_ms = _sending_from(evidence)
    shares = Counter[str]() if from_ms is None else _shares(evidence, from_ms)
    return Truth("q" + shares.most_common(1)[0][0].rpartition("/")[2]) if shares else Truth("even")


def _all_have_one(evidence: Evidence) -> Verdict:
    n = evidence.numbers
    assigned = evidence.assigned(n["group"], n["topic"])
    if len(assigned) < n["more"] or any(len(entry.event.queues) != 1 for entry in assigned.values()):
        return Verdict.not_yet(_("The group has {now} of {members} members."), now=len(assigned), members=n["more"])
    since_ms = max(entry.at_ms for entry in assigned.values() if entry.event.added or entry.event.dropped)
    if (held_s := evidence.passed_s(since_ms)) < WATCH_S:
        return Verdict.not_yet(_("{passed_s} of {wait_s} seconds have passed."), passed_s=held_s, wait_s=WATCH_S)
    return Verdict.met(
        _("Each queue has its own member, but the lag keeps growing: {lag}."),
        lag=evidence.lag(n["group"], n["topic"]),
        rests_on=assigned.values(),
    )


def _is_silent(evidence: Evidence) -> bool:
    rates = [entry.event.fields["rate_per_s"] for entry in evidence.actions("ChangeActor", actor="shop")]
    return bool(rates) and rates[-1] == 0


def _is_even(evidence: Evidence) -> Verdict:
    if not (started := evidence.actions("StartProducer")):
        if evidence.actions("StartConsumer"):
            return Verdict.wrong(FIFTH)
        return Verdict.not_yet(_("No producer with another key has been started yet."))
    newest = started[-1]
    from_ms = newest.at_ms + 2_000
    percent = round(hot := _hottest_percent(evidence, from_ms))
    if (passed_s := evidence.passed_s(from_ms)) < WATCH_S / 2:
        return Verdict.not_yet(
            _("{passed_s} of {wait_s} seconds have passed."), passed_s=max(0, passed_s), wait_s=WATCH_S // 2
        )
    if hot > EVEN_PERCENT:
        if not evidence.actions("StopActor") and not _is_silent(evidence):
            return Verdict.wrong(OLD_KEY, percent=percent, rests_on=[newest])
        return Verdict.wrong(SAME_KEY, key=newest.event.fields["key"], percent=percent, rests_on=[newest])
    return Verdict.met(_("The hottest queue now receives {percent} %."), percent=percent, rests_on=[newest])


def _even_share(evidence: Evidence) -> Truth:
    started = evidence.actions("StartProducer")
    return Truth(_hottest_percent(evidence, started[-1].at_ms + 2_000) if started else 0.0)


def _start_another(key: str, rate: float | None = None) -> Acts:
    """Return the script that starts a second producer with another key or rate."""
    fields: dict[str, Any] = {"actor": "shop-2", "selector": "hash"}
    return act(lambda n: StartProducer(topic=n["topic"], rate_per_s=rate or n["rate"], key=n.get(key, key), **fields))


def _longest(hands: Hands) -> str:
    rows = board(hands)["queues"]
    return "q" + str(max(rows, key=lambda row: int(rows[row]["max"]))).rpartition(":")[2]


SOLUTION = Solution(
    SolvedStep(
        predict=lambda h: h.numbers["of_ten"] * 10 + 10,
        do=act(lambda n: ChangeActor(actor="shop", rate_per_s=n["rate"])),
        within_s=80,
        say=_longest,
        why="key",
    ),
    SolvedStep(
        predict="grows",
        do=act(lambda n: StartConsumer(group=n["group"], copies=n["more"] - n["members"])),
        within_s=120,
        say=lambda h: header(h, "lag"),
        why="one_at_a_time",
    ),
    SolvedStep(
        predict=25,
        do=(act(lambda n: ChangeActor(actor="shop", rate_per_s=0)), _start_another("order-{n}")),
        within_s=60,
        say="even",
        why="order",
    ),
)


MEMBER = _(
    "The member of the hot queue is not slow: it takes as long for a message as the other members do. Compare "
    "how many messages enter each queue."
)
FIFTH = _("Each queue already has its member: a fifth member would have no queue. Change the key.")
OLD_KEY = _("shop still sends with its old key; stop it. The hottest queue gets {percent} %.")
SAME_KEY = _(
    "With the key {key} the hottest queue still receives {percent} %: choose a key that differs for each message."
)

WHICH = Choice(
    (*((f"q{number}", f"q{number}") for number in range(QUEUES)), ("even", _("All queues receive about the same.")))
)

HOT_QUEUE = Lab(
    slug="hot-queue",
    number="N6",
    minutes=10,
    title=_("A hot queue"),
    goal=_("One big customer can slow down a whole topic. Which fix helps, and what does it cost?"),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"ChangeActor", "StartConsumer", "StartProducer", "StopActor"}),
    steps=(
        Step(
            title=_("A big customer"),
            rate=4,
            do=_(
                "About {of_ten} of ten messages have the key {big}, and the key selects the queue. Make shop "
                "send {rate} messages a second, and watch for 40 seconds."
            ),
            watch=_("The lag of each queue."),
            mark="lanes",
            predict=Question(
                text=_("What share of the messages will the hottest queue receive?"),
                kind=Number("%", within=12),
                right=_hot_share,
            ),
            check=_is_hot,
            say=Question(
                text=_("Which queue receives the most?"),
                kind=WHICH,
                right=_hottest,
                again=_("Compare the newest offsets of the queues again: one is far ahead."),
            ),
            why=Question(
                text=_("Why does this queue receive the most?"),
                kind=choice(
                    key=_("All messages with one key go to one queue, and {big} sends the most."),
                    member=_("Its member is slower than the others."),
                    first=_("The first queue always fills first."),
                ),
                right=lambda e: Truth("key"),
                again=_("Another seed gives another hot queue: the hot queue follows from the key."),
                misreadings=(Misreading(MEMBER, chosen("member")),),
            ),
            hints=(_("The queue is the hash of the key, modulo the number of queues."),),
        ),
        Step(
            title=_("More members"),
            rate=4,
            do=_(
                "Start members of {group} until each queue has its own member: {more} in total. Watch for 40 seconds."
            ),
            watch=_("The lag of the hot queue."),
            mark="header:lag",
            predict=Question(
                text=_("How will the lag change with {more} members?"),
                kind=choice(shrinks=_("It shrinks: twice as many members work."), grows=_("It keeps growing.")),
                right=lambda e: Truth("grows"),
            ),
            check=_all_have_one,
            say=Question(
                text=_("Read the lag of the group now."),
                kind=Number(_("messages"), share=0.1, within=10),
                right=lambda e: Truth(float(e.lag(e.numbers["group"], e.numbers["topic"]))),
                again=_("You wrote {given}; read the number under Lag again."),
            ),
            why=Question(
                text=_("Why did the new members not help?"),
                kind=choice(
                    one_at_a_time=_("The hot queue still has one reader, which processes one message at a time."),
                    late=_("They started too late for the old messages."),
                    network=_("The broker cannot deliver faster."),
                ),
                right=lambda e: Truth("one_at_a_time"),
                again=_("The other members are idle: look at their queues."),
            ),
            hints=(_("{work_ms} ms for a message: how many can one reader process a second?"),),
        ),
        Step(
            title=_("Another key"),
            rate=4,
            do=_(
                "Set the rate of shop to 0. Start another producer of {topic} that sends {rate} messages a "
                "second by hash. Its key must differ for each message, such as order-{{n}}. Watch for 20 seconds."
            ),
            watch=_("The newest offsets of all queues."),
            mark="lanes",
            predict=Question(
                text=_("What share will the hottest queue get now?"), kind=Number("%", within=8), right=_even_share
            ),
            check=_is_even,
            say=Question(
                text=_("Which queue receives the most new messages?"),
                kind=WHICH,
                right=lambda e: Truth("even"),
                again=_("Compare how fast the newest offsets rise: {given} is no longer ahead."),
            ),
            why=Question(
                text=_("What is the price of this change?"),
                kind=choice(
                    order=_("Messages of one customer are no longer ordered."),
                    none=_("None."),
                    slower=_("Sending becomes slower."),
                ),
                right=lambda e: Truth("order"),
                again=_("Two messages of {big} are in different queues now: what does that mean for their order?"),
            ),
            hints=(_("An order number instead of a customer."),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("blames the member", "the reader is slow", MEMBER).at(1, why="member"),
        SOLUTION.wrong("one more member", "more members always help", FIFTH).at(
            3, do=act(lambda n: StartConsumer(group=n["group"], copies=1)), within_s=20
        ),
        SOLUTION.wrong("old key too", "a second producer is enough", OLD_KEY).at(
            3, do=_start_another("order-{n}", 2), within_s=40
        ),
        SOLUTION.wrong("same key", "another producer is another key", SAME_KEY).at(
            3, do=(stop("shop"), _start_another("big")), within_s=40
        ),
    ),
)
