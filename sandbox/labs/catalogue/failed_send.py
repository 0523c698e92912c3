"""Lab N4: a send is reported as failed, but its message is stored."""

from sandbox.control.actions import Action, CutLink, HealLink, RowToSend, SendMessages
from sandbox.journal.events import ActionTaken, SendFailed
from sandbox.kernel.chance import Chance
from sandbox.labs.board import row
from sandbox.labs.evidence import Evidence, Numbers, Seen, first
from sandbox.labs.evidence_measures import keys_of, records_of, sends
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Choice, Number, choice
from sandbox.labs.script_acts import Acts, act, send, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.truths import count_of
from sandbox.labs.verdict import Verdict

BROKER, CONSOLE = "broker-a", "console"
ROW = f"{BROKER}:0"
PATIENCE_S = 5  # a send times out after 3 s
TIMEOUT, UNCONNECTED = "SendTimeout", "ConnectFailed"


def _draw(chance: Chance) -> dict[str, object]:
    paid = 100 + chance.below(800)
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("ledger", "billing")),
        "before": 3 + chance.below(9),
        "paid": f"order-{paid}",
        "lost": f"order-{paid + 1 + chance.below(90)}",
        "row": ROW,
        "broker": BROKER,
        "console": CONSOLE,
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        topic(n, 1),
        member(n, actor="reader", work_ms=(20, 40)),
        SendMessages(topic=n["topic"], count=n["before"], key="open-{n}"),
    )


def _sends(evidence: Evidence, key: str) -> list[Seen[ActionTaken]]:
    return [entry for entry in sends(evidence) if key in keys_of(entry)]


def _failure(evidence: Evidence, since: int) -> Seen[SendFailed] | None:
    """Return the first failed send after an event."""
    return first(evidence.of(SendFailed, since=since, topic=evidence.numbers["topic"]))


def _passed_s(evidence: Evidence, entry: Seen[ActionTaken]) -> float:
    return (evidence.now_ms - entry.at_ms) / 1000


def _answer_is_lost(evidence: Evidence) -> Verdict:
    n = evidence.numbers
    if not (sent := _sends(evidence, n["paid"])):
        return Verdict.not_yet(NOT_SENT, key=n["paid"])
    send = sent[-1]
    failure, records = _failure(evidence, send.seq), records_of(evidence, n["paid"], send.seq)
    if failure is None:
        if _passed_s(evidence, send) > PATIENCE_S:
            return Verdict.wrong(ANSWERED, key=n["paid"], rests_on=[send])
        return Verdict.not_yet(WAITS)
    if records:
        return Verdict.met(
            _("{key} was reported as failed ({status}), but it is stored at offset {offset}."),
            key=n["paid"],
            status=failure.event.status,
            offset=min(records),
            rests_on=[send, failure, *records.values()],
        )
    if failure.event.status == UNCONNECTED:
        return _without_connection(n["paid"], failure)
    cuts = evidence.actions("CutLink", since=0)
    text = BOTH_WAYS if cuts and not cuts[-1].event.fields["one_way"] else OTHER_WAY
    return Verdict.wrong(text, key=n["paid"], rests_on=[*cuts[-1:], send, failure])


def _request_is_lost(evidence: Evidence) -> Verdict:
    n = evidence.numbers
    if not (sent := _sends(evidence, n["lost"])):
        return Verdict.not_yet(NOT_SENT, key=n["lost"])
    send = sent[-1]
    failure, records = _failure(evidence, send.seq), records_of(evidence, n["lost"], send.seq)
    if records:
        return Verdict.wrong(ARRIVED, key=n["lost"], rests_on=[send, *records.values()])
    if failure is None:
        return Verdict.not_yet(WAITS)
    if failure.event.status == UNCONNECTED:
        return _without_connection(n["lost"], failure)
    return Verdict.met(
        _("{key} was reported as failed ({status}), and it is not stored."),
        key=n["lost"],
        status=failure.event.status,
        rests_on=[send, failure],
    )


def _without_connection(key: str, failure: Seen[SendFailed]) -> Verdict:
    return Verdict.wrong(NO_CONNECTION, key=key, status=failure.event.status, rests_on=[failure])


def _sent_again(evidence: Evidence) -> Verdict:
    n = evidence.numbers
    again = {key: _sends(evidence, key) for key in (n["paid"], n["lost"])}
    if not (done := [entry for entries in again.values() for entry in entries]):
        return Verdict.not_yet(_("Neither {paid} nor {lost} has been resent yet."))
    newest = max(done, key=lambda entry: entry.seq)
    if (failure := _failure(evidence, newest.seq)) is not None:
        return Verdict.wrong(STILL_CUT, rests_on=[newest, failure])
    if missing := [key for key, entries in again.items() if not entries]:
        if _passed_s(evidence, newest) > PATIENCE_S:
            return Verdict.wrong(ONE_ONLY, key=missing[0], rests_on=[newest])
        return Verdict.not_yet(_("{key} has not been resent yet."), key=missing[0])
    records = {key: records_of(evidence, key, since=0) for key in again}
    if not all(records_of(evidence, key) for key in again):
        return Verdict.not_yet(WAITS)
    return Verdict.met(
        _("{paid} is stored {paid_times} times, {lost} is stored {lost_times} times."),
        paid_times=len(records[n["paid"]]),
        lost_times=len(records[n["lost"]]),
        rests_on=[*done, *(row for rows in records.values() for row in rows.values())],
    )


def _stored(evidence: Evidence, *names: str, since: int | None = None) -> Truth:
    """Count the stored messages with these keys."""
    return count_of([row for name in names for row in records_of(evidence, evidence.numbers[name], since).values()])


def _end(evidence: Evidence) -> float:
    return float(evidence.end(f"{evidence.numbers['topic']}/{BROKER}/0"))


def _status(evidence: Evidence) -> Truth:
    failures = evidence.of(SendFailed)
    return Truth(failures[-1].event.status, (failures[-1].seq,)) if failures else Truth("none")


def _send(name: str) -> Acts:
    return act(lambda n: SendMessages(topic=n["topic"], count=1, key=n[name]))


def _cut(a: str, b: str, *, one_way: bool = True) -> Acts:
    return act(lambda n: CutLink(a=a, b=b, one_way=one_way))


HEAL = act(lambda n: HealLink(a=BROKER, b=CONSOLE))
SEND_BOTH = act(
    lambda n: SendMessages(
        topic=n["topic"], rows=tuple(RowToSend(key=n[name], body=f"{n[name]} once more") for name in ("paid", "lost"))
    )
)
SOLUTION = Solution(
    SolvedStep(
        predict=1,
        do=(_cut(BROKER, CONSOLE), _send("paid")),
        within_s=20,
        say=lambda h: float(row(h, ROW)["max"]),
        why="answer",
    ),
    SolvedStep(
        predict="same",
        do=(HEAL, send(key="hello"), wait(2), _cut(CONSOLE, BROKER), _send("lost")),
        within_s=20,
        say=TIMEOUT,
        why="cannot",
    ),
    SolvedStep(predict=3, do=(HEAL, SEND_BOTH), within_s=20, say=2, why="key"),
)


NOT_SENT = _("{key} has not been sent yet.")
WAITS = _("{console} is waiting for the response: 3 seconds at most.")
ANSWERED = _(
    "{key} was answered at once: the direction from {broker} to {console} was open. Cut it first, then send {key}."
)
BOTH_WAYS = _(
    "Both directions are cut, so {key} did not arrive either. Heal the link, send any message so that {console} "
    "reconnects, cut it from {broker} to {console} only, and send {key}."
)
OTHER_WAY = _(
    "{key} itself was lost: the direction from {console} to {broker} was cut. Heal the link, send any message so "
    "that {console} reconnects, cut it from {broker} to {console}, and send {key}."
)
NO_CONNECTION = _(
    "{status}: {console} had no connection. It closes one after a timeout, and could not open another. Heal the "
    "link, send any message so that it reconnects, cut again, and send {key}."
)
ARRIVED = _(
    "{key} arrived and is stored: the direction from {console} to {broker} was open. Cut that direction, and "
    "send {key} again."
)
STILL_CUT = _("The send failed again: the link between {console} and {broker} is still cut. Heal it first.")
ONE_ONLY = _(
    "{key} was also reported as failed, and the application cannot distinguish it from the other message: send "
    "this message again."
)
OLD_END = _("You wrote {given}: that was the count before {paid} was sent. Read the right end of q0 again.")
BROKEN = _("The send timed out after 3 s, but the broker had received the message within the first millisecond.")

FAILED_SEND = Lab(
    slug="failed-send",
    number="N4",
    minutes=8,
    title=_("A failed send"),
    goal=_("A producer gets a timeout and sends again. Whether this makes a duplicate depends on what it cannot see."),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"SendMessages", "CutLink", "HealLink"}),
    steps=(
        Step(
            title=_("Lost response"),
            do=_(
                "On the Topology page, cut the link from {broker} to {console} in this direction only. Then send "
                "one message with the key {paid} to {topic}. {console} is the client for manual sends."
            ),
            watch=_("The right end of q0; then SendFailed on the Journal page."),
            mark="queue:{row}",
            page="journal/",
            predict=Question(
                text=_("The send of {paid} will be reported as failed. How many times will {paid} be stored?"),
                kind=Number(_("times")),
                right=lambda e: _stored(e, "paid"),
            ),
            check=_answer_is_lost,
            say=Question(
                text=_("How many messages are in q0 now? Read its right end."),
                kind=Number(_("messages")),
                right=lambda e: Truth(_end(e)),
                again=_("You wrote {given}; read the number at the right end of q0 again."),
                misreadings=(Misreading(OLD_END, lambda e, answer: answer == _end(e) - 1),),
            ),
            why=Question(
                text=_("What was lost?"),
                kind=choice(
                    answer=_("the response of the broker"),
                    message=_("the message on its way to the broker"),
                    broken=_("nothing: the broker was too slow"),
                ),
                right=lambda e: Truth("answer"),
                again=_(
                    "{paid} is in q0, and {group} has consumed it: it cannot have been lost on its way to the broker."
                ),
                misreadings=(Misreading(BROKEN, chosen("broken")),),
            ),
            hints=(_("Requests still arrive: only the response direction is cut."),),
        ),
        Step(
            title=_("Lost message"),
            do=_(
                "Heal the link and send any message, so that {console} reconnects. Then cut the link from "
                "{console} to {broker} in this direction only, and send one message with the key {lost}."
            ),
            watch=_("The right end of q0; then SendFailed on the Journal page."),
            mark="queue:{row}",
            page="journal/",
            predict=Question(
                text=_("What will be reported to {console}?"),
                kind=choice(
                    same=_("the same failure as with {paid}"),
                    other=_("another failure: the message did not arrive"),
                    none=_("no failure"),
                ),
                right=lambda e: Truth("same"),
            ),
            check=_request_is_lost,
            say=Question(
                text=_("Which status does the newest SendFailed in the journal show?"),
                kind=Choice(
                    (
                        (TIMEOUT, _("SendTimeout: no response in 3 s")),
                        (UNCONNECTED, _("ConnectFailed: no connection")),
                        ("none", _("a response code: the broker refused the message")),
                    )
                ),
                right=_status,
                again=_("Look at the newest SendFailed on the Journal page again."),
            ),
            why=Question(
                text=_("{paid} is stored, {lost} is not. How can {console} distinguish them?"),
                kind=choice(
                    cannot=_("It cannot: it received no response in either case."),
                    time=_("By the duration."),
                    offset=_("By the offset in the response."),
                ),
                right=lambda e: Truth("cannot"),
                again=_("Compare both SendFailed events: same status, same 3 seconds, and no response with an offset."),
            ),
            hints=(_("{console} knows only what it sent and which responses it received."),),
        ),
        Step(
            title=_("A retry as the duplicate"),
            do=_("Heal the link, and send {paid} and {lost} again, as an application does after an error."),
            watch=_("The right end of q0."),
            mark="queue:{row}",
            predict=Question(
                text=_("How many messages with the keys {paid} and {lost} will be in q0 after you resend both?"),
                kind=Number(_("messages")),
                right=lambda e: _stored(e, "paid", "lost", since=0),
            ),
            check=_sent_again,
            say=Question(
                text=_("How many times does the Messages page find {paid} in {topic}?"),
                kind=Number(_("times")),
                right=lambda e: _stored(e, "paid", since=0),
                again=_("You wrote {given}; search for the key {paid} on the Messages page."),
            ),
            why=Question(
                text=_("What prevents {group} from booking {paid} twice?"),
                kind=choice(
                    key=_("A handler that books each key once."),
                    timeout=_("A longer timeout of the producer."),
                    never=_("A producer that never resends."),
                ),
                right=lambda e: Truth("key"),
                again=_(
                    "A longer timeout only waits longer for the same lost response, and without a retry {lost} "
                    "would be missing."
                ),
            ),
            hints=(_("One of the two messages is already stored."),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("cuts both ways", "a cut link is a cut link", BOTH_WAYS).at(
            1, predict=0, do=(_cut(BROKER, CONSOLE, one_way=False), _send("paid")), within_s=15
        ),
        SOLUTION.wrong("cuts the way there", "it does not matter which direction is cut", OTHER_WAY).at(
            1, do=(_cut(CONSOLE, BROKER), _send("paid")), within_s=15
        ),
        SOLUTION.wrong("sends first", "a failure reaches back to sends that are done", ANSWERED).at(
            1, do=(_send("paid"), wait(2), _cut(BROKER, CONSOLE)), within_s=15
        ),
        SOLUTION.wrong("reads the old end", "what failed is not stored", OLD_END).at(
            1, say=lambda h: h.numbers["before"]
        ),
        SOLUTION.wrong("does not connect", "every failure has the same cause", NO_CONNECTION).at(
            2, do=(HEAL, _cut(CONSOLE, BROKER), _send("lost")), within_s=15
        ),
        SOLUTION.wrong("sends one again", "an application can distinguish the two failures", ONE_ONLY).at(
            3, do=(HEAL, _send("lost")), within_s=PATIENCE_S + 10
        ),
        SOLUTION.wrong("forgets to heal", "a retry helps by itself", STILL_CUT).at(
            3, do=(_send("paid"), _send("lost")), within_s=15
        ),
    ),
)
