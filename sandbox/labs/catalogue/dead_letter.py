"""Lab N2: a poison message is moved to the dead-letter queue."""

from sandbox.control.actions import Action, ChangeActor, ResendMessage, RowToSend, SendMessages
from sandbox.journal.events import MessageDeadLettered, MessageRetried
from sandbox.kernel.chance import Chance
from sandbox.labs.evidence import Delivery, Evidence, Numbers, Seen, first
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth
from sandbox.labs.question_kinds import Number, choice
from sandbox.labs.script_acts import act, send, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.truths import count_of, field_of
from sandbox.labs.verdict import Verdict

RETRIES_SEEN = 3
RETRIES_MOST = 16
UNTIL_DEAD_S = 18_000  # all levels together are 4 h 46 min
DEAD = "%DLQ%"


def _draw(chance: Chance) -> dict[str, object]:
    group = chance.choice(("clerks", "packers", "drivers"))
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": group,
        "one": "left",
        "key": f"{chance.choice(('order', 'parcel'))}-{100 + chance.below(900)}",
        "good": "work",
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        topic(n, 2),
        member(n, actor=n["one"], work_ms=(20, 60)),
        ChangeActor(actor=n["one"], handler=f"reject {n['key']}"),
    )


def _tries(evidence: Evidence, since: int | None = 0) -> list[Delivery]:
    """Return the deliveries of the poison message, whatever their outcome."""
    return evidence.deliveries_of(evidence.numbers["group"], since=since, key=evidence.numbers["key"])


def _retries(evidence: Evidence) -> list[Seen[MessageRetried]]:
    return evidence.of(MessageRetried, since=0, group=evidence.numbers["group"])


def _dead(evidence: Evidence) -> Seen[MessageDeadLettered] | None:
    return first(evidence.of(MessageDeadLettered, since=0, group=evidence.numbers["group"]))


def _succeeded(evidence: Evidence, since: int | None = 0) -> Delivery | None:
    return next((row for row in _tries(evidence, since) if row.outcome == "SUCCESS"), None)


def _mended_too_early(evidence: Evidence) -> Verdict | None:
    early = _succeeded(evidence)
    if early is None or _dead(evidence) is not None:
        return None
    return Verdict.wrong(EARLY, tries=len(_tries(evidence)), rests_on=[early])


def _is_retried(evidence: Evidence) -> Verdict:
    n = evidence.numbers
    if not (sent := evidence.actions("SendMessages")):
        return Verdict.not_yet(_("{key} has not been sent yet."))
    keys = {row["key"] for taken in sent for row in taken.event.fields["rows"] or ()} | {
        taken.event.fields["key"] for taken in sent
    }
    if n["key"] not in keys:
        return Verdict.wrong(OTHER_KEY, rests_on=[sent[-1]])
    if (early := _mended_too_early(evidence)) is not None:
        return early
    retries = _retries(evidence)
    if len(retries) < RETRIES_SEEN:
        return Verdict.not_yet(_("{count} retries so far."), count=len(retries))
    return Verdict.met(
        _("The first retries were at levels {levels}."),
        levels=", ".join(str(entry.event.delay_level) for entry in retries[:RETRIES_SEEN]),
        rests_on=retries[:RETRIES_SEEN],
    )


def _first_wait_s(evidence: Evidence) -> Truth:
    """Return the seconds from the first failure to the second attempt."""
    tries = _tries(evidence)
    if len(tries) < 2:
        return Truth(0.0)
    return Truth((tries[1].started_ms - tries[0].at_ms) / 1000, (tries[0].seq, tries[1].seq))


def _is_dead(evidence: Evidence) -> Verdict:
    if (early := _mended_too_early(evidence)) is not None:
        return early
    if (dead := _dead(evidence)) is None:
        return Verdict.not_yet(_("{tries} tries so far."), tries=len(_tries(evidence)))
    return Verdict.met(
        _("After {tries} tries it went to the dead-letter queue."),
        tries=len(_tries(evidence)),
        rests_on=[*_retries(evidence), dead],
    )


def _count(evidence: Evidence) -> Truth:
    dead = _dead(evidence)
    return Truth(float(len(_tries(evidence))), () if dead is None else (dead.seq,))


def _is_sent_again(evidence: Evidence) -> Verdict:
    if not (resent := evidence.actions("ResendMessage")):
        return Verdict.not_yet(_("The dead-letter message has not been resent yet."))
    again = [row for row in _tries(evidence, None) if row.seq > resent[-1].seq]
    if (done := _succeeded(evidence, resent[-1].seq)) is not None:
        return Verdict.met(_("{key} was consumed at its next try."), rests_on=[resent[-1], done])
    if again:
        return Verdict.wrong(UNMENDED, rests_on=[resent[-1], again[0]])
    return Verdict.not_yet(_("{key} is not delivered yet."))


def _since_resent(evidence: Evidence) -> Truth:
    resent = evidence.actions("ResendMessage")
    return count_of(_tries(evidence, resent[-1].seq) if resent else [])


MEND = act(lambda n: ChangeActor(actor=n["one"], handler=n["good"]))
RESEND = act(lambda n: ResendMessage(topic=DEAD + n["group"], broker="broker-a", queue_id=0, offset=0))
SOLUTION = Solution(
    SolvedStep(
        predict=10,
        do=act(lambda n: SendMessages(topic=n["topic"], rows=(RowToSend(key=n["key"], body="total: none"),))),
        say=lambda h: _retries(h.evidence)[0].event.delay_level,
    ),
    SolvedStep(predict=RETRIES_MOST, within_s=UNTIL_DEAD_S, say=lambda h: len(_tries(h.evidence)), why="given_up"),
    SolvedStep(predict=1, do=(MEND, RESEND), within_s=30, say=1, why="by_hand"),
)


OTHER_KEY = _("The consumer's handler accepts every key except {key}: send a message with that key.")
EARLY = _(
    "{key} succeeded on try {tries}: the handler was fixed before the retries ended. Start over and leave the "
    "handler unchanged."
)
RETRIES = _("You wrote {given}: that counts the retries. The first delivery is also a try.")
UNMENDED = _(
    "{key} was delivered again and failed again: the handler has not changed. Fix the handler, then resend the "
    "dead-letter message."
)

DEAD_LETTER = Lab(
    slug="dead-letter",
    number="N2",
    minutes=12,
    title=_("From a poison message to the dead-letter queue"),
    goal=_(
        "A message that always fails is retried for hours. Then it stays where no group reads, until a person "
        "resends it."
    ),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"SendMessages", "ChangeActor", "ResendMessage"}),
    steps=(
        Step(
            title=_("A message that always fails"),
            rate=10,
            do=_("The handler of {one} fails for the key {key}. Send one message with this key to {topic}."),
            watch=_("Retries of the group, and their levels in the journal."),
            mark="header:retrying",
            predict=Question(
                text=_("How many seconds after the first failure of the message is its first retry?"),
                kind=Number(_("s"), within=3),
                right=_first_wait_s,
            ),
            check=_is_retried,
            say=Question(
                text=_("Read the delay level of the first retry."),
                kind=Number(),
                right=lambda e: field_of(first(_retries(e)), "delay_level"),
                again=_("You wrote {given}; open the first retry in the journal again."),
            ),
            hints=(_("Level 3 is 10 s, 4 is 30 s, 5 is one minute."),),
        ),
        Step(
            title=_("Until the retries end"),
            rate=60,
            do=_(
                "Leave the handler unchanged. The retries take 4 hours and 46 minutes of sandbox time, five "
                "minutes at 60×."
            ),
            watch=_("The growing retry delays, then the dead-letter queue."),
            mark="header:dead",
            predict=Question(
                text=_("How many times in total will the consumer's handler receive the message?"),
                kind=Number(_("times"), within=1),
                right=_count,
            ),
            check=_is_dead,
            say=Question(
                text=_("How many times did the consumer's handler receive the message?"),
                kind=Number(_("times")),
                right=_count,
                again=_("You wrote {given}; count the deliveries in the lifecycle of the message again."),
                misreadings=(Misreading(RETRIES, lambda e, answer: answer == RETRIES_MOST),),
            ),
            why=Question(
                text=_("What will happen to the message now?"),
                kind=choice(
                    given_up=_("Nothing: no group consumes the dead-letter queue."),
                    again=_("It is retried once a day."),
                    deleted=_("It is deleted at once."),
                ),
                right=lambda e: Truth("given_up"),
                again=_(
                    "The message is stored in the dead-letter topic of {group}, and stays until its file is deleted."
                ),
            ),
            hints=(_("Sixteen retries, after the first try."),),
        ),
        Step(
            title=_("One resend"),
            do=_(
                'Change the handler of {one} to "{good}". Then find the dead-letter message under Messages and '
                "resend it."
            ),
            watch=_('The key {key} in the Journal, with "include each message".'),
            mark="header:dead",
            predict=Question(
                text=_("How many times will the consumer's handler receive the message now?"),
                kind=Number(_("times")),
                right=_since_resent,
            ),
            check=_is_sent_again,
            say=Question(
                text=_("How many times was the message delivered after you resent it?"),
                kind=Number(_("times")),
                right=_since_resent,
                again=_('You wrote {given}; search the Journal for {key} again, with "include each message".'),
            ),
            why=Question(
                text=_("What caused the delivery of the resent message?"),
                kind=choice(
                    by_hand=_("A copy was sent to {topic} manually, as a new message."),
                    mended=_("The broker detected that the handler works again."),
                    retry=_("Its seventeenth retry was due."),
                ),
                right=lambda e: Truth("by_hand"),
                again=_("The broker has no information about handlers: look at the action before this delivery."),
            ),
            hints=(_("The topic of dead-letter messages is named %DLQ% plus the group name."),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("other key", "any message fails", OTHER_KEY).at(1, do=send(5), within_s=20),
        SOLUTION.wrong("mends early", "retries are the dead letters", EARLY).at(2, do=(wait(120), MEND), within_s=600),
        SOLUTION.wrong("says retries", "the first delivery is a retry", RETRIES).at(2, say=RETRIES_MOST),
        SOLUTION.wrong("resends unmended", "sending again is the cure", UNMENDED).at(3, do=RESEND),
    ),
)
