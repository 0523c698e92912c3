"""Lab 16: the time until a dead broker is removed from the routes."""

from typing import Any

from sandbox.control.actions import Action, HangBroker, KillBroker, ResumeBroker, StartProducer
from sandbox.journal.events import (
    ActionTaken,
    BrokerRegistered,
    MemberStateChanged,
    RouteChanged,
    RouteLearned,
    SendFailed,
)
from sandbox.kernel.chance import Chance
from sandbox.labs.evidence import Evidence, Numbers, Seen, first
from sandbox.labs.evidence_measures import done_to
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Answer, Choice, Number, choice
from sandbox.labs.script import Hands
from sandbox.labs.script_acts import act, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep, answer_of
from sandbox.labs.translation_marks import _
from sandbox.labs.truths import count_of, seconds_between
from sandbox.labs.verdict import Verdict

BROKER, SHOP, MEMBERS = "broker-b", "shop", ("left", "right")
RATE = 1  # messages per second: the clock has minutes to pass
EXPIRY_S, POLL_S = 120, 30
BACK = ("ResumeBroker", "StartBroker")
CLOSE_S = 2  # an answer that is this close to the expiry may have been read


def _draw(chance: Chance) -> dict[str, object]:
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "queues": 2 + chance.below(2),
        "rate": RATE,
        "broker": BROKER,
        "shop": SHOP,
        "one": MEMBERS[0],
        "other": MEMBERS[1],
        "gap_s": 6 + chance.below(5),
        "before_s": 10 + chance.below(9),
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (topic(n, n["queues"]), StartProducer(actor=SHOP, topic=n["topic"], rate_per_s=RATE))


def _changed(evidence: Evidence, reason: str, since: int) -> Seen[RouteChanged] | None:
    """Return the name server's first route change with this reason for the broker."""
    return first(evidence.of(RouteChanged, since=since, broker=BROKER, why=reason))


def _producers(evidence: Evidence) -> list[str]:
    """Return the client ids of the producer, found by its group, because it starts in a later turn than its action."""
    return [
        row.event.client_id for row in evidence.of(MemberStateChanged, since=0, group=f"PG_{SHOP}", state="starting")
    ]


def _clients(evidence: Evidence) -> dict[str, str]:
    """Return the client id of the newest process by label."""
    ids = {SHOP: _producers(evidence), **{label: evidence.clients(label) for label in MEMBERS}}
    return {label: client_ids[-1] for label, client_ids in ids.items() if client_ids}


def _learned(evidence: Evidence, since: int) -> dict[str, Seen[RouteLearned]]:
    """Return, by label, the event at which a client received the changed route."""
    learned: dict[str, Seen[RouteLearned]] = {}
    for entry in evidence.of(RouteLearned, since=since):
        for label, client_id in _clients(evidence).items():
            if (entry.event.client_id, entry.event.topic) == (client_id, evidence.numbers["topic"]):
                learned.setdefault(label, entry)
    return learned


def _failures(evidence: Evidence, since: int, *, retried: bool) -> list[Seen[SendFailed]]:
    """Return the producer's failed attempts: those that were retried, or those that were the last of their message."""
    failed = evidence.of(SendFailed, since=since, retried=retried)
    return [entry for entry in failed if entry.event.client_id in _producers(evidence)]


def _once_learned(
    evidence: Evidence, change: Seen[RouteChanged], text: str, *rests_on: Seen[Any], **values: Any
) -> Verdict:
    """Return the verdict "met" once all clients have the changed route, with the first and last delay in s."""
    learned = _learned(evidence, change.seq)
    if left := [label for label in (SHOP, *MEMBERS) if label not in learned]:
        return Verdict.not_yet(
            _("{count} clients still use the old route, including {first}."), count=len(left), first=left[0]
        )
    after = sorted(round((entry.at_ms - change.at_ms) / 1000) for entry in learned.values())
    rests = [*rests_on, change, *learned.values()]
    return Verdict.met(text, first_s=after[0], last_s=after[-1], rests_on=rests, **values)


def _is_forgotten(evidence: Evidence) -> Verdict:
    missing = [label for label in MEMBERS if label not in _clients(evidence)]
    hang, ended = done_to(evidence, BROKER, "HangBroker"), done_to(evidence, BROKER, "KillBroker")
    if ended is not None and (hang is None or hang.seq < ended.seq):
        return Verdict.wrong(CLOSED, rests_on=[ended])
    if missing:
        return Verdict.not_yet(_("{missing} is not running yet."), missing=missing[0])
    if hang is None:
        return Verdict.not_yet(_("{broker} is still answering."))
    heard, resumed = _last_heartbeat(evidence, hang), done_to(evidence, BROKER, "ResumeBroker", since=hang.seq)
    if (expired := _changed(evidence, "expired", hang.seq)) is None:
        verdict = Verdict.not_yet(
            _("{broker} has been silent for {silent_s} s, and is still in the routes."),
            silent_s=round((evidence.now_ms - heard.at_ms) / 1000),
        )
    else:
        text = _(
            "{broker} was dropped {silent_s} s after its last registration. The clients received the new route "
            "{first_s} to {last_s} s later, after {failed} messages of {shop} had failed."
        )
        silent_s, failed = round((expired.at_ms - heard.at_ms) / 1000), _failures(evidence, hang.seq, retried=False)
        verdict = _once_learned(evidence, expired, text, heard, hang, silent_s=silent_s, failed=len(failed))
    if resumed is not None and not verdict.is_met:
        return Verdict.wrong(RESUMED, hung_s=round((resumed.at_ms - hang.at_ms) / 1000), rests_on=[hang, resumed])
    return verdict


def _last_heartbeat(evidence: Evidence, hang: Seen[ActionTaken]) -> Seen[BrokerRegistered] | Seen[ActionTaken]:
    """Return the last registration before the hang.

    If the journal's valve skipped the registrations, return the hang itself.
    """
    entries = [
        entry for entry in evidence.of(BrokerRegistered, since=0, broker=BROKER, broker_id=0) if entry.seq < hang.seq
    ]
    return entries[-1] if entries else hang


def _dropped_s(evidence: Evidence) -> Truth:
    return _removed_s(evidence, "HangBroker", "expired")


def _removed_s(evidence: Evidence, name: str, reason: str) -> Truth:
    """Return the seconds from an action on the broker to its removal from the routes."""
    action = done_to(evidence, BROKER, name)
    return seconds_between(action, None if action is None else _changed(evidence, reason, action.seq))


def _is_the_rule(evidence: Evidence, answer: Answer) -> bool:
    return isinstance(answer, float) and abs(answer - EXPIRY_S) <= CLOSE_S


def _is_back(evidence: Evidence) -> Verdict:
    if (resumed := done_to(evidence, BROKER, *BACK)) is None:
        return Verdict.not_yet(_("{broker} is still hung."))
    if (registered := _changed(evidence, "registered", resumed.seq)) is None:
        return Verdict.not_yet(_("{broker} has not registered yet."))
    text = _("{broker} registered again by itself; the clients received the route {first_s} to {last_s} s later.")
    return _once_learned(evidence, registered, text, resumed)


def _last_to_learn(evidence: Evidence) -> Truth:
    resumed = done_to(evidence, BROKER, *BACK)
    registered = None if resumed is None else _changed(evidence, "registered", resumed.seq)
    if registered is None:
        return Truth("")
    label, entry = max(_learned(evidence, registered.seq).items(), key=lambda item: item[1].seq)
    return Truth(label, (registered.seq, entry.seq))


def _is_closed(evidence: Evidence) -> Verdict:
    if (kill := done_to(evidence, BROKER, "KillBroker")) is None:
        return Verdict.not_yet(_("{broker} is still running."))
    if (closed := _changed(evidence, "closed", kill.seq)) is None:
        return Verdict.not_yet(_("The connection of {broker} is still open."))
    text = _(
        "{broker} was dropped {after_s} s after the kill; the clients received the new route {first_s} to "
        "{last_s} s later."
    )
    return _once_learned(evidence, closed, text, kill, after_s=round((closed.at_ms - kill.at_ms) / 1000))


def _lost(evidence: Evidence) -> Truth:
    """Return the number of messages that the producer could not send at all."""
    kill = done_to(evidence, BROKER, "KillBroker")
    return count_of([] if kill is None else _failures(evidence, kill.seq, retried=False))


def _is_retries(evidence: Evidence, answer: Answer) -> bool:
    """Return True if the answer counts the attempts that were followed by another one, a known mistake."""
    kill = done_to(evidence, BROKER, "KillBroker")
    return kill is not None and answer == len(_failures(evidence, kill.seq, retried=True))


def _soon_after_a_route(hands: Hands) -> None:
    """Wait until the producer has just requested its route, so that it uses the old one for a while."""
    evidence = hands.evidence
    asked_ms = max(
        entry.at_ms for entry in evidence.of(RouteLearned, since=0) if entry.event.client_id in _producers(evidence)
    )
    asked_s = (evidence.now_ms - asked_ms) / 1000 % POLL_S
    hands.wait(1 if asked_s < POLL_S - 12 else POLL_S + 2 - asked_s)


START_BOTH = (
    act(lambda n: member(n, actor=n["one"], work_ms=(20, 60))),
    wait("gap_s"),
    act(lambda n: member(n, actor=n["other"], work_ms=(20, 60))),
    wait("before_s"),
)
HANG = act(lambda n: HangBroker(broker=BROKER))
RESUME = act(lambda n: ResumeBroker(broker=BROKER))
KILL = act(lambda n: KillBroker(broker=BROKER))
SOLUTION = Solution(
    SolvedStep(
        before=wait(2),
        predict=EXPIRY_S,
        do=(START_BOTH, HANG),
        say=lambda h: round(float(str(_dropped_s(h.evidence).value))),
        why="heard",
    ),
    SolvedStep(predict="itself", do=RESUME, within_s=60, say=answer_of(_last_to_learn), why="ask"),
    SolvedStep(predict=0, do=(_soon_after_a_route, KILL), within_s=60, say=0, why="hang"),
)


def _retries(evidence: Evidence) -> int:
    """Return the number of attempts since the kill that were followed by another one."""
    kill = done_to(evidence, BROKER, "KillBroker")
    return 0 if kill is None else len(_failures(evidence, kill.seq, retried=True))


CLOSED = _(
    "The connection of {broker} closed when its process ended, and the name server dropped the broker at once. "
    "Start it, wait 10 s, and hang it."
)
RESUMED = _(
    "{broker} hung for {hung_s} s and has registered again: it is dropped after 120 s without a registration. "
    "Hang it again, until all three clients have another route."
)
RULE = _(
    "You wrote {given}. The 120 s start at the last registration, and the name server checks only every 10 s. "
    'Read the times of the hang and of "no heartbeat for too long".'
)
PUSHED = _(
    "A name server does not push anything to clients. Look at the times of the three clients: each requests the "
    "route every 30 s, counted from its own start."
)
RETRIES = _(
    "You wrote {given}: those attempts failed at once, and the same send continued to broker-a. Count the "
    "messages that failed permanently."
)
CABLE = _(
    "An unplugged cable closes no connection: the name server sees silence, as with the hang, not the end of a process."
)

NAME_SERVER_EXPIRY = Lab(
    slug="name-server-expiry",
    number="16",
    minutes=10,
    template="replicas",
    title=_("A dead broker in the routes"),
    goal=_("A broker is dead, and clients still send to it. How long do they do so, and what ends it?"),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"StartConsumer", "RestartActor", "HangBroker", "ResumeBroker", "KillBroker", "StartBroker"}),
    steps=(
        Step(
            title=_("Hung broker"),
            rate=4,
            do=_(
                "Start a consumer {one} of {group} on {topic}, and a few seconds later another one, {other}. "
                "About 10 s later hang {broker} (Topology), and wait until all three clients have another route."
            ),
            watch=_('The ring of {broker} at the name server; then "route" in the journal, with its steps.'),
            mark="journal",
            predict=Question(
                text=_("How many seconds after the hang will the name server drop {broker}?"),
                kind=Number(_("s"), within=15),
                right=_dropped_s,
            ),
            check=_is_forgotten,
            say=Question(
                text=_("How many seconds after the hang was {broker} dropped? Read the times in the journal."),
                kind=Number(_("s"), within=CLOSE_S),
                right=_dropped_s,
                again=_(
                    "You wrote {given}; subtract the time of the hang from the time of "
                    '"no heartbeat for too long" again.'
                ),
                misreadings=(Misreading(RULE, _is_the_rule),),
            ),
            why=Question(
                text=_("When do the 120 s start?"),
                kind=choice(
                    heard=_("at the last registration of the broker; a broker registers every 30 s"),
                    hang=_("when the broker stops answering"),
                    failed=_("from the first message that failed"),
                ),
                right=lambda e: Truth("heard"),
                again=_(
                    "The name server detects neither the hang nor failed messages. What does it receive from a broker?"
                ),
            ),
            hints=(
                _("A broker registers every 30 s, and each registration refills its ring."),
                _("The name server checks for silent brokers every 10 s (RocketMQ 5: every 5 s)."),
            ),
        ),
        Step(
            title=_("Return of the same broker"),
            do=_("Resume {broker}, and wait until all three clients have a route that contains it."),
            watch=_('The ring of {broker}; then "route" in the journal, with its steps.'),
            mark="journal",
            predict=Question(
                text=_("What brings {broker} back into the routes?"),
                kind=choice(
                    itself=_("its own registration"),
                    asked=_("a request of the name server"),
                    client=_("a client that connects to the broker"),
                ),
                right=lambda e: Truth("itself"),
            ),
            check=_is_back,
            say=Question(
                text=_("Which client was the last to receive the route?"),
                kind=Choice(((SHOP, "{shop}"), (MEMBERS[0], "{one}"), (MEMBERS[1], "{other}"))),
                right=_last_to_learn,
                again=_('You wrote {given}; compare the three "route" rows in the journal again.'),
            ),
            why=Question(
                text=_("Why did the three clients receive the route at different times?"),
                kind=choice(
                    ask=_("Each client requests the route every 30 s, on its own timer."),
                    pushed=_("The name server sends the new route to one client after another."),
                    rebalance=_("Clients receive the route when their group rebalances."),
                ),
                right=lambda e: Truth("ask"),
                again=_("{shop} is in no group, but it also received the route."),
                misreadings=(Misreading(PUSHED, chosen("pushed")),),
            ),
            hints=(_("The steps in the journal have a row for each route that a client received."),),
        ),
        Step(
            title=_("Killed broker"),
            do=_("Kill {broker}, and wait until all three clients have another route."),
            watch=_('The ring of {broker}; then "Failed permanently" on the page of {shop}.'),
            mark="lanes",
            predict=Question(
                text=_("How many seconds after the kill will the name server drop {broker}?"),
                kind=Number(_("s"), within=2),
                right=lambda e: _removed_s(e, "KillBroker", "closed"),
            ),
            check=_is_closed,
            say=Question(
                text=_("How many messages of {shop} have failed permanently since the kill? Its page counts them."),
                kind=Number(_("messages")),
                right=_lost,
                again=_('You wrote {given}; compare "Failed permanently" before and after the kill.'),
                misreadings=(Misreading(RETRIES, _is_retries),),
            ),
            why=Question(
                text=_(
                    "The network cable of a broker machine is unplugged. How long do clients keep using this broker?"
                ),
                kind=choice(
                    hang=_("as after the hang: up to 130 s, plus up to 30 s"),
                    kill=_("as after the kill: up to 30 s"),
                    once=_("no time: clients detect the failure at once"),
                ),
                right=lambda e: Truth("hang"),
                again=_("A route changes only when a client requests it from the name server."),
                misreadings=(Misreading(CABLE, chosen("kill")),),
            ),
            hints=(_("A refused connection costs no time, so the same send can continue to another broker."),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("kills first", "a dead process and a silent process are the same", CLOSED).at(
            1, do=(START_BOTH, KILL), within_s=10
        ),
        SOLUTION.wrong("resumes early", "the name server detects every pause", RESUMED).at(
            1, do=(START_BOTH, HANG, wait(40), RESUME), within_s=10
        ),
        SOLUTION.wrong("says the rule", "clients learn of a failure after 120 s", RULE).at(1, say=EXPIRY_S),
        SOLUTION.wrong("pushed", "name servers notify clients", PUSHED).at(2, why="pushed"),
        SOLUTION.wrong("counts retries", "every failed attempt is a lost message", RETRIES).at(
            3, say=lambda h: _retries(h.evidence)
        ),
        SOLUTION.wrong("cable", "a broken link closes its connections", CABLE).at(3, why="kill"),
    ),
)
