"""Lab N8: delayed and half messages, and the time from which consumers can receive a message."""

from typing import Any, Literal

from sandbox.control.actions import Action, ChangeActor, EndTransaction, SendMessages, StartProducer
from sandbox.journal.events import (
    ActionTaken,
    DelayedMessageDue,
    MessagesStored,
    TransactionChecked,
    TransactionEnded,
    TransactionPrepared,
)
from sandbox.kernel.chance import Chance
from sandbox.labs.board import row
from sandbox.labs.evidence import Evidence, Numbers, Seen, first, last
from sandbox.labs.evidence_measures import keys_of, records_of, sends
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Number, choice
from sandbox.labs.script_acts import Act, Acts, act, until, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.truths import count_of, field_of
from sandbox.labs.verdict import Verdict
from sandbox.message.topic_names import SCHEDULE_TOPIC

BROKER, TILL = "broker-a", "till"
HALVES = 3  # at least, for one that is committed, one that is rolled back, and one that stays


def _draw(chance: Chance) -> dict[str, object]:
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "before": 4 + chance.below(9),
        "key": f"order-{100 + chance.below(800)}",
        "level": 2 + chance.below(3),
        "halves": HALVES + chance.below(2),
        "till": TILL,
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        topic(n, 1),
        member(n, actor="reader", work_ms=(20, 40)),
        SendMessages(topic=n["topic"], count=n["before"], key="open-{n}"),
        StartProducer(actor=TILL, topic=n["topic"], transactional=True, rate_per_s=0),
        ChangeActor(actor=TILL, handler="silent"),
    )


def _delayed(evidence: Evidence) -> Seen[ActionTaken] | None:
    """Return the newest send of the key with a delay."""
    key = evidence.numbers["key"]
    return last([entry for entry in sends(evidence) if key in keys_of(entry) and entry.event.fields["delay_level"]])


def _is_due(evidence: Evidence) -> Verdict:
    n, sent = evidence.numbers, _delayed(evidence)
    if sent is None:
        if plain := [entry for entry in sends(evidence) if n["key"] in keys_of(entry)]:
            return Verdict.wrong(NOT_DELAYED, rests_on=[plain[-1]])
        return Verdict.not_yet(_("{key} has not been sent yet."))
    level = sent.event.fields["delay_level"]
    if level != n["level"]:
        return Verdict.wrong(
            _("{key} was sent with delay level {given}. Send it with level {level}."), given=level, rests_on=[sent]
        )
    due = evidence.of(DelayedMessageDue, since=sent.seq, delay_level=level)
    records = records_of(evidence, n["key"], sent.seq)
    if not due or not records:
        return Verdict.not_yet(_("{key} is waiting."))
    return Verdict.met(
        _("{key} entered q0 {passed_s} s after it was sent."),
        passed_s=(due[0].at_ms - sent.at_ms) // 1000,
        rests_on=[sent, due[0], *records.values()],
    )


def _first_stored(evidence: Evidence) -> Seen[MessagesStored] | None:
    """Return the first place where the delayed message was stored."""
    if (sent := _delayed(evidence)) is None:
        return None
    topics, stored = (evidence.numbers["topic"], SCHEDULE_TOPIC), evidence.of(MessagesStored, since=sent.seq)
    return first([entry for entry in stored if entry.event.topic in topics])


def _where(evidence: Evidence) -> Truth:
    if (stored := _first_stored(evidence)) is None:
        return Truth("producer")
    return Truth("hidden" if stored.event.topic == evidence.numbers["topic"] else "other", (stored.seq,))


def _prepared(evidence: Evidence, *, since: int | None = None) -> list[Seen[TransactionPrepared]]:
    return evidence.of(TransactionPrepared, since=since)


def _ended(evidence: Evidence, outcome: str, *, since: int | None = None) -> list[Seen[TransactionEnded]]:
    return evidence.of(TransactionEnded, since=since, outcome=outcome)


def _are_checked(evidence: Evidence) -> Verdict:
    n, prepared = evidence.numbers, _prepared(evidence)
    if len(prepared) < n["halves"]:
        return Verdict.not_yet(_("{till} has prepared {now} of {halves} half messages."), now=len(prepared))
    if committed := _ended(evidence, "commit"):
        return Verdict.wrong(ANSWERED, rests_on=[committed[0]])
    if _set_last(evidence, "handler") not in (None, "silent"):  # None: as the lab set it up
        return Verdict.wrong(WOULD_ANSWER)
    if _set_last(evidence, "rate_per_s"):
        return Verdict.not_yet(_("{till} is still preparing messages: set its rate to 0."))
    checks = {entry.event.transaction_id: entry.seq for entry in evidence.of(TransactionChecked)}
    if missing := [entry for entry in prepared if entry.event.transaction_id not in checks]:
        return Verdict.not_yet(
            _("The broker has not checked {count} of the half messages yet: it runs a check every 60 s."),
            count=len(missing),
        )
    return Verdict.met(
        _("{count} half messages are stored and the broker has checked each one, but {group} received none."),
        count=len(prepared),
        rests_on=[*prepared, *checks.values()],
    )


def _set_last(evidence: Evidence, field: str) -> Any:
    """Return the value of a field that the student last set for the transactional producer."""
    values = [entry.event.fields[field] for entry in evidence.actions("ChangeActor", since=0, actor=TILL)]
    return last([value for value in values if value is not None])


def _in_topic(evidence: Evidence) -> Truth:
    """Return the number of messages of the step that are stored in the topic itself."""
    stored = evidence.of(MessagesStored, topic=evidence.numbers["topic"])
    return Truth(float(sum(entry.event.count for entry in stored)), tuple(entry.seq for entry in stored))


def _open(evidence: Evidence) -> Truth:
    ended = {entry.event.transaction_id for entry in evidence.of(TransactionEnded, since=0)}
    return count_of([entry for entry in _prepared(evidence, since=0) if entry.event.transaction_id not in ended])


def _are_ended(evidence: Evidence) -> Verdict:
    committed, rolled_back = _ended(evidence, "commit"), _ended(evidence, "rollback")
    if not committed and not rolled_back:
        return Verdict.not_yet(_("No transaction has ended yet."))
    if len(committed) > 1 and not rolled_back:
        return Verdict.wrong(ONLY_COMMITS, rests_on=committed)
    if not committed or not rolled_back:
        return Verdict.not_yet(_("One transaction has ended: end another transaction the other way."))
    stored = _in_topic(evidence)
    if stored.value != len(committed):
        return Verdict.not_yet(_("The committed message is not in q0 yet."))
    return Verdict.met(
        _("{committed} committed and {rolled_back} rolled back: q0 received {committed} more."),
        committed=len(committed),
        rolled_back=len(rolled_back),
        rests_on=[*committed, *rolled_back, *stored.rests_on],
    )


def _prepare(handler: str) -> Acts:
    return (
        act(lambda n: ChangeActor(actor=TILL, rate_per_s=1, handler=handler)),
        until(_("Wait until {till} has prepared {halves}."), lambda e: len(_prepared(e)) >= e.numbers["halves"]),
        act(lambda n: ChangeActor(actor=TILL, rate_per_s=0)),
    )


def _finish(*outcomes: Literal["commit", "rollback"]) -> Acts:
    """Return the acts that end the first transactions with these outcomes."""
    return tuple((_end(number, outcome), wait(1)) for number, outcome in enumerate(outcomes))


def _end(number: int, outcome: Literal["commit", "rollback"]) -> Act:
    def end(evidence: Evidence) -> Action | None:
        prepared = _prepared(evidence, since=0)[number : number + 1]
        return EndTransaction(transaction_id=prepared[0].event.transaction_id, outcome=outcome) if prepared else None

    return Act(end)


SOLUTION = Solution(
    SolvedStep(
        before=wait(3),
        predict="other",
        do=act(lambda n: SendMessages(topic=n["topic"], count=1, key=n["key"], delay_level=n["level"])),
        within_s=60,
        say=lambda h: h.evidence.of(MessagesStored, topic=SCHEDULE_TOPIC)[0].event.queue_id,
        why="copied",
    ),
    SolvedStep(predict=0, do=_prepare("silent"), within_s=130, say=lambda h: len(_prepared(h.evidence)), why="asks"),
    SolvedStep(
        predict=1,
        do=_finish("commit", "rollback"),
        within_s=10,
        say=lambda h: str(row(h, f"{BROKER}:0")["max"]),
        why="stays",
    ),
)


NOT_DELAYED = _("{key} was sent without a delay and entered q0 at once. Send it with delay level {level}.")
LEVEL = _("You wrote {given}: that is the level. Levels start at 1, queues at 0.")
ANSWERED = _(
    "{till} has committed: its handler answers checks. Set the handler to silent, and let it prepare messages again."
)
WOULD_ANSWER = _("The handler of {till} answers checks. Set it to silent, and let it prepare messages again.")
ONLY_COMMITS = _("Both transactions were committed, so both messages are in q0. Roll another transaction back.")
DELETED = _("A log cannot delete single records: look for the half message on the Store page.")

DELAY_AND_HALF = Lab(
    slug="delay-and-half",
    number="N8",
    minutes=10,
    title=_("Message storage and visibility"),
    goal=_("Delayed and transactional messages exist before consumers can see them. Where are they until then?"),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"SendMessages", "ChangeActor", "EndTransaction"}),
    steps=(
        Step(
            title=_("A delayed message"),
            rate=2,
            do=_(
                "Send one message with the key {key} and delay level {level} to {topic}, and wait until reader "
                "receives it."
            ),
            watch=_("The right end of q0, and the newest records on the Store page."),
            mark="queue:broker-a:0",
            page="store/",
            predict=Question(
                text=_("Where will {key} be until it is due?"),
                kind=choice(
                    hidden=_("in q0, but not delivered yet"),
                    other=_("in another topic of the broker"),
                    producer=_("with its producer, which sends it later"),
                ),
                right=_where,
            ),
            check=_is_due,
            say=Question(
                text=_(
                    "In which queue of SCHEDULE_TOPIC_XXXX did the message wait? See its lifecycle on the message page."
                ),
                kind=Number(),
                right=lambda e: field_of(_first_stored(e), "queue_id"),
                again=_("You wrote {given}; that topic has one queue for each level, and the Store page shows which."),
                misreadings=(Misreading(LEVEL, lambda e, answer: answer == e.numbers["level"]),),
            ),
            why=Question(
                text=_("How did the message get into q0?"),
                kind=choice(
                    copied=_("The broker stored it a second time, this time in {topic}."),
                    moved=_("The broker moved its record."),
                    again=_("The producer sent it again."),
                ),
                right=lambda e: Truth("copied"),
                again=_("The log is append-only: compare the positions of both records."),
            ),
            hints=(
                _("A queue delivers its messages in order, so a message that is not due would block all later ones."),
            ),
        ),
        Step(
            title=_("Half messages"),
            rate=20,
            do=_(
                "till sends half messages and never reports how its transactions end. Make it prepare {halves} "
                "or more: set its rate to 1 per second, then to 0. Wait until the broker has checked each one."
            ),
            watch=_('"prepared" and "checked" in the journal, and the right end of q0.'),
            mark="queue:broker-a:0",
            predict=Question(
                text=_("How many of these messages will be in q0 after the broker has checked each one?"),
                kind=Number(_("messages")),
                right=_in_topic,
            ),
            check=_are_checked,
            say=Question(
                text=_("How many transactions are open? See the Transactions tab of the Messages page."),
                kind=Number(_("transactions")),
                right=_open,
                again=_("You wrote {given}; count the rows of the Transactions tab without an end."),
            ),
            why=Question(
                text=_("Why does the broker check with the producer?"),
                kind=choice(
                    asks=_("The end of a transaction may be lost on the network, and only the producer knows it."),
                    slow=_("To speed up the producer."),
                    default=_("After one check the broker commits the transaction itself."),
                ),
                right=lambda e: Truth("asks"),
                again=_("The broker checks up to 15 times, then drops the message: it never commits by itself."),
            ),
            hints=(_("Every 60 s the broker checks transactions older than 6 s."),),
        ),
        Step(
            title=_("Commit and rollback"),
            rate=2,
            do=_("End one of the transactions with commit and another one with rollback."),
            watch=_("The right end of q0."),
            mark="queue:broker-a:0",
            predict=Question(text=_("How many messages will enter q0?"), kind=Number(_("messages")), right=_in_topic),
            check=_are_ended,
            say=Question(
                text=_("How many messages are in q0 now? Read its right end."),
                kind=Number(_("messages")),
                right=lambda e: Truth(float(e.end(f"{e.numbers['topic']}/{BROKER}/0")), _in_topic(e).rests_on),
                again=_("You wrote {given}; read the number at the right end of q0 again."),
            ),
            why=Question(
                text=_("What happened to the half message that was rolled back?"),
                kind=choice(
                    stays=_("It stays in the log, marked as ended, until its file is deleted."),
                    deleted=_("It was deleted from the log."),
                    dead=_("It went to the dead-letter queue."),
                ),
                right=lambda e: Truth("stays"),
                again=_("Look for the record of the half message on the Store page."),
                misreadings=(Misreading(DELETED, chosen("deleted")),),
            ),
            hints=(_("A commit stores the message once more, in its own topic."),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("at once", "a message is visible as soon as it is sent", NOT_DELAYED).at(
            1, do=act(lambda n: SendMessages(topic=n["topic"], count=1, key=n["key"]))
        ),
        SOLUTION.wrong("level", "levels and queues have the same numbers", LEVEL).at(
            1, say=lambda h: h.numbers["level"]
        ),
        SOLUTION.wrong("lets it answer", "a check changes nothing", ANSWERED).at(2, do=_prepare("undecided")),
        SOLUTION.wrong("commits all", "every transaction is committed eventually", ONLY_COMMITS).at(
            3, do=_finish("commit", "commit")
        ),
        SOLUTION.wrong("deleted", "a rollback deletes the half message", DELETED).at(3, why="deleted"),
    ),
)
