"""Lab N9: restarting all members of a group with the fewest moves and duplicates."""

from sandbox.control.actions import (
    Action,
    CrashActor,
    CreateTopic,
    RestartActor,
    SetStrategy,
    StartConsumer,
    StartProducer,
    StopActor,
    Subscription,
)
from sandbox.control.actions.actors import StrategyName
from sandbox.journal.events import ActionTaken, CrashRepeated, QueuesAssigned, QueueTaken
from sandbox.kernel.chance import Chance
from sandbox.labs.evidence import Evidence, Numbers, Seen
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, WrongScript
from sandbox.labs.question_kinds import Choice, Number
from sandbox.labs.queue_moves import Lives, Move, given_again, moves_since, needless
from sandbox.labs.restarts import (
    ALL,
    CRASHED,
    HURRY,
    TOGETHER,
    UNREAD,
    acts_on_members,
    are_counted,
    newest_round,
    whole_round,
)
from sandbox.labs.script import Hands
from sandbox.labs.translation_marks import _
from sandbox.labs.verdict import Verdict

RING: StrategyName = "CONSISTENT_HASH"
MEMBERS = ("left", "middle", "right")  # in the order in which clients sort their ids: an address outlives a restart
DIVIDED_WITHIN_S = 21  # members divide every 20 s, and when the broker notifies them
AWAY_S, LOOK_S = 1, 3  # in scripts


def _draw(chance: Chance) -> dict[str, object]:
    queues = 9 + chance.below(4)
    each, odd = divmod(queues, len(MEMBERS))
    number = each + (odd > 0) + chance.below(each)  # of the middle one: with AVG it moves for its neighbours, too
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "queues": queues,
        "number": number,
        "row": f"broker-a:{number}",
        "rate": 2 + chance.below(2),
        "work_ms": 1_600 + 200 * chance.below(4),
        "one": MEMBERS[0],
        "two": MEMBERS[1],
        "three": MEMBERS[2],
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        CreateTopic(topic=n["topic"], write_queues=n["queues"], read_queues=n["queues"]),
        *(
            StartConsumer(
                actor=label,
                group=n["group"],
                subscriptions=(Subscription(n["topic"]),),
                work_ms=(n["work_ms"], n["work_ms"] + 800),
            )
            for label in MEMBERS
        ),
        StartProducer(actor="shop", topic=n["topic"], rate_per_s=n["rate"]),
    )


def _all_crashed(evidence: Evidence) -> Verdict:
    lives = Lives(evidence)
    ends: dict[str, Seen[ActionTaken]] = {}
    for act in acts_on_members(evidence):
        if act.seq in lives.killed or act.event.action == "StopActor":
            ends[act.event.fields["actor"]] = act
    for label, end in ends.items():
        if end.event.action == "StopActor":
            return Verdict.wrong(CLEAN, one=label, rests_on=[end.seq])
    if len(ends) < len(MEMBERS) or not lives.are_there(MEMBERS):
        return Verdict.not_yet(
            _("{count} of {members} members were crashed and are back."),
            members=len(MEMBERS),
            count=sum(lives.is_there(label) for label in ends),
        )
    moves, again = moves_since(evidence, lives, evidence.began), given_again(evidence, evidence.began)
    if not are_counted(evidence, moves):
        return Verdict.not_yet(_("Repetitions are being counted."))
    if not again:
        return Verdict.not_yet(_("No message was delivered again: crash one more member while it works."))
    return Verdict.met(
        _("{again} messages were delivered again; queues moved {moves} times."),
        again=again,
        moves=len(moves),
        rests_on=[end.seq for end in ends.values()],
    )


def _strategies(evidence: Evidence, lives: Lives, began: int) -> set[str]:
    """Return the strategies by which members assigned queues in the round, and just before it."""
    n = evidence.numbers
    before: dict[str, str] = {}
    during: set[str] = set()
    for entry in evidence.of(QueuesAssigned, since=0):
        if (entry.event.group, entry.event.topic) == (n["group"], n["topic"]):
            if entry.seq < began:
                before[entry.event.client_id] = entry.event.strategy
            else:
                during.add(entry.event.strategy)
    return during | {before[client] for label in MEMBERS if (client := lives.process(label, began)) in before}


def _by_neighbours(evidence: Evidence) -> Verdict:
    n, lives = evidence.numbers, Lives(evidence)
    last_round = whole_round(evidence, lives)
    if isinstance(last_round, Verdict):
        return last_round
    began = last_round.began
    moves = moves_since(evidence, lives, began.seq)
    if other := _strategies(evidence, lives, began.seq) - {"AVG"}:
        return Verdict.wrong(
            _(
                "{group} divided by {strategy}: this step is about AVG. Set it again, wait until all "
                "divide by it, then restart all three once more."
            ),
            group=n["group"],
            strategy=min(other),
            rests_on=[began.seq],
        )
    return Verdict.met(
        _("{moves} moves, {needless} of them between members that stayed; {again} messages were delivered again."),
        moves=len(moves),
        needless=needless(moves),
        again=given_again(evidence, began.seq),
        rests_on=_rests_on(began, moves),
    )


def _fewest(evidence: Evidence) -> Verdict:
    """Check the round; report needless moves at once, not after all restarts."""
    lives = Lives(evidence)
    newest = newest_round(evidence, lives)
    moves = moves_since(evidence, lives, newest.began.seq) if newest.stops else []
    if moves and newest.mistake is None:
        strategies = _strategies(evidence, lives, newest.began.seq)
        if len(strategies) > 1:
            return Verdict.wrong(MEANWHILE, rests_on=[newest.began.seq])
        if needless(moves):
            return Verdict.wrong(
                NEEDLESS,
                strategy=min(strategies),
                moves=len(moves),
                needless=needless(moves),
                rests_on=_rests_on(newest.began, moves),
            )
    last_round = whole_round(evidence, lives)
    if isinstance(last_round, Verdict):
        return last_round
    return Verdict.met(
        _(
            "{moves} moves, all of them from a member that left or to one that came; {again} messages "
            "were delivered again."
        ),
        moves=len(moves),
        again=given_again(evidence, last_round.began.seq),
        rests_on=_rests_on(last_round.began, moves),
    )


def _rests_on(began: Seen[ActionTaken], moves: list[Move]) -> tuple[int, ...]:
    return began.seq, *(move.seq for move in moves)


def _moves(evidence: Evidence) -> list[Move]:
    """List the moves of the newest round."""
    lives = Lives(evidence)
    newest = newest_round(evidence, lives)
    return moves_since(evidence, lives, newest.began.seq) if newest.stops else []


def _number_of_moves(evidence: Evidence) -> Truth:
    moves = _moves(evidence)
    return Truth(float(len(moves)), tuple(move.seq for move in moves))


def _times(evidence: Evidence) -> Truth:
    """Count how often a member acquired the followed queue in the newest round."""
    n = evidence.numbers
    seqs = tuple(move.seq for move in _moves(evidence) if move.queue == f"{n['topic']}/broker-a/{n['number']}")
    return Truth(float(len(seqs)), seqs)


def _again_in_step(evidence: Evidence) -> Truth:
    return Truth(float(given_again(evidence, evidence.began)))


def _again_in_all(evidence: Evidence) -> Truth:
    """As the head of the Board counts: from the group's beginning."""
    return Truth(float(given_again(evidence, 0)))


def _of_crashes(evidence: Evidence) -> int:
    """Return the total of the journal's `CrashRepeated` counts: messages delivered twice after crashes."""
    return sum(
        entry.event.count
        for entry in evidence.of(CrashRepeated, since=0)
        if entry.event.group == evidence.numbers["group"]
    )


def _restart(hands: Hands, *labels: str) -> None:
    """Cleanly, one after another; each is away for a moment."""
    for label in labels:
        hands.act(StopActor(actor=label))
        hands.wait(AWAY_S)
        hands.act(RestartActor(actor=label))
        hands.wait(AWAY_S)


def _times_in_journal(hands: Hands, began: int) -> int:
    """The lines "took" of the followed queue, counted."""
    n = hands.numbers
    return sum(
        (entry.event.topic, entry.event.queue_id) == (n["topic"], n["number"])
        for entry in hands.evidence.of(QueueTaken, since=began)
    )


def _crash_all(hands: Hands) -> None:
    hands.wait(AWAY_S)
    hands.predict(10)
    for label in MEMBERS:
        hands.act(CrashActor(actor=label))
        hands.wait(AWAY_S)
        hands.act(RestartActor(actor=label))
        hands.wait(AWAY_S)
    hands.see(30)


def _first(hands: Hands) -> None:
    n = hands.numbers
    _crash_all(hands)
    hands.say(int(hands.read(f"board/{n['group']}/{n['topic']}")["header"]["delivered_again"]))
    hands.why("open")
    hands.predict(2)


def _second(hands: Hands) -> None:
    _first(hands)
    _restart(hands, *MEMBERS)
    hands.see(30)
    hands.say(_times_in_journal(hands, hands.evidence.actions("StopActor")[0].seq))
    hands.why("work")
    hands.predict(24)


def _set(hands: Hands, strategy: StrategyName, lists: dict[str, object] | None = None) -> None:
    hands.act(SetStrategy(group=hands.numbers["group"], strategy=strategy, queues_by_member=lists))


def _solve(hands: Hands) -> None:
    _second(hands)
    _set(hands, RING)
    hands.wait(DIVIDED_WITHIN_S)
    _restart(hands, *MEMBERS)
    hands.see(30)
    hands.say(_times_in_journal(hands, hands.evidence.actions("StopActor")[0].seq))
    hands.why("handler")


def _stops_first(hands: Hands) -> None:
    hands.predict(0)
    _restart(hands, "left")


def _counts_crashes(hands: Hands) -> None:
    _crash_all(hands)
    hands.say(_of_crashes(hands.evidence))


def _says_twice(hands: Hands) -> None:
    _first(hands)
    _restart(hands, *MEMBERS)
    hands.see(30)
    hands.say(2)


def _crashes_again(hands: Hands) -> None:
    _first(hands)
    hands.act(CrashActor(actor="left"))
    hands.see(LOOK_S)


def _stops_two(hands: Hands) -> None:
    _first(hands)
    hands.act(StopActor(actor="left"))
    hands.wait(AWAY_S)
    hands.act(StopActor(actor="middle"))
    hands.see(LOOK_S)


def _stops_all(hands: Hands) -> None:
    _first(hands)
    for label in MEMBERS:
        hands.act(StopActor(actor=label))
    hands.see(LOOK_S)


def _hurries(hands: Hands) -> None:
    _first(hands)
    hands.act(StopActor(actor="left"))
    hands.wait(AWAY_S)
    hands.act(RestartActor(actor="left"))
    hands.act(StopActor(actor="middle"))
    hands.see(LOOK_S)


def _keeps_avg(hands: Hands) -> None:
    _second(hands)
    _restart(hands, "left")


def _sets_lists(hands: Hands) -> None:
    _second(hands)
    n = hands.numbers
    rows = [f"broker-a:{number}" for number in range(n["queues"])]
    _set(hands, "CONFIG", {label: rows[index :: len(MEMBERS)] for index, label in enumerate(MEMBERS)})
    hands.wait(DIVIDED_WITHIN_S)
    hands.act(StopActor(actor="left"))
    hands.wait(6)
    hands.act(RestartActor(actor="left"))
    hands.see(LOOK_S)


def _sets_meanwhile(hands: Hands) -> None:
    _second(hands)
    _set(hands, RING)
    _restart(hands, "left")


CLEAN = _(
    "{one} was stopped cleanly, and this step is about crashes: they come first, to compare with. Restart it, "
    "then crash it."
)
TWICE = _(
    "You wrote {given}: out and back, when its own member was restarted. It also moved when a neighbour was "
    "restarted: count again."
)
CRASHES = _(
    "You wrote {given}: those are of the crashed processes. Others came again because their queues moved "
    'between members that ran on. Read "Delivered again" in the head.'
)
NEEDLESS = _(
    "With {strategy} {needless} of {moves} moves so far were between members that stayed, and those are "
    "needless. Set another strategy, wait until all divide by it, and restart all three again."
)
MEANWHILE = _(
    "The new strategy and the restarts came together, and nothing says which of them moved what. Wait until "
    "all divide by it, then restart all three again."
)

ROLLING_RESTART = Lab(
    slug="rolling-restart",
    number="N9",
    minutes=10,
    title=_("Restart storm"),
    goal=_("What it costs to restart all members of a group, in moves and in duplicates, and how it costs least."),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"StopActor", "CrashActor", "RestartActor", "SetStrategy"}),
    steps=(
        Step(
            title=_("Crashed, one after another"),
            rate=2,
            do=_(
                "Crash {one}, wait until the others have its queues, restart it, and wait until it has queues again. "
                "Then the same with {two}, and with {three}."
            ),
            watch=_('"Delivered again" in the head.'),
            mark="header:again",
            predict=Question(
                text=_("How many messages will be delivered again?"),
                kind=Number(_("messages"), share=0.3, within=3),
                right=_again_in_step,
            ),
            check=_all_crashed,
            say=Question(
                text=_('How many messages were delivered again? Read "Delivered again" in the head.'),
                kind=Number(_("messages")),
                right=_again_in_all,
                again=_('You wrote {given}; read "Delivered again" in the head once more.'),
                misreadings=(Misreading(CRASHES, lambda e, answer: answer == _of_crashes(e)),),
            ),
            why=Question(
                text=_("Which messages came again?"),
                kind=Choice(
                    (
                        ("open", _("Listeners had them, and their offset was not committed yet.")),
                        ("all", _("All that the crashed processes had ever consumed.")),
                        ("sent", _("Those that the producer sent a second time.")),
                    )
                ),
                right=lambda e: Truth("open"),
                again=_('Compare where the new owner begins ("took" in the journal) with the committed offset.'),
            ),
            hints=(
                _(
                    '"came twice" in the journal counts what crashed processes had; the head counts all that came '
                    "again."
                ),
            ),
        ),
        Step(
            title=_("Stopped cleanly, one at a time"),
            rate=2,
            do=_(
                "The same with Stop in place of Crash: {one}, then {two}, then {three}, and each is back before the "
                "next one is stopped. The strategy is AVG."
            ),
            watch=_('Who has {row}, and "took" in the journal.'),
            mark="queue:{row}",
            predict=Question(
                text=_("{row} is a queue of {two}. How many times will it change its owner until all three are back?"),
                kind=Number(_("times")),
                right=_times,
            ),
            check=_by_neighbours,
            say=Question(
                text=_("How many times was {row} taken since the first stop?"),
                kind=Number(_("times")),
                right=_times,
                again=_('You wrote {given}; count the lines "took" with {row} in the journal.'),
                misreadings=(Misreading(TWICE, lambda e, answer: answer == 2),),
            ),
            why=Question(
                text=_("No process was crashed. Which messages were delivered again all the same?"),
                kind=Choice(
                    (
                        ("work", _("Those in work when their queue moved.")),
                        ("all", _("All of each queue that moved.")),
                        ("sent", _("Those that the producer sent a second time.")),
                    )
                ),
                right=lambda e: Truth("work"),
                again=_("What is finished is committed before a queue is given up, and listeners are not waited for."),
            ),
            hints=(
                _("With one member fewer AVG gives longer runs of neighbours, and the runs of all begin elsewhere."),
                _("Only one member may be away at a time."),
            ),
        ),
        Step(
            title=_("The fewest moves"),
            rate=2,
            do=_(
                "Give {group} a strategy with which no queue moves between members that stay, wait until all divide "
                "by it, and restart all three again in the same way."
            ),
            watch=_("The page Rebalance: from whom and to whom queues move."),
            mark="lanes",
            predict=Question(
                text=_("How many moves will there be in all, of {queues} queues and three restarts?"),
                kind=Number(_("moves"), share=0.25),
                right=_number_of_moves,
            ),
            check=_fewest,
            say=Question(
                text=_("How many times was {row} taken since the first stop of this round?"),
                kind=Number(_("times")),
                right=_times,
                again=_('You wrote {given}; count the lines "took" with {row} in the journal.'),
            ),
            why=Question(
                text=_("No move was needless, and still messages were delivered again. What makes them harmless?"),
                kind=Choice(
                    (
                        ("handler", _("A handler that does the work of a message once, however often it comes.")),
                        ("strategy", _("Yet another strategy.")),
                        ("commit", _("Committing more often.")),
                    )
                ),
                right=lambda e: Truth("handler"),
                again=_(
                    "A queue that moves takes along what is in work; who has it next begins at the committed offset."
                ),
            ),
            hints=(
                _("A strategy is valid for a member from its next rebalance on: after 20 s at the latest."),
                _("Lab 12 is about it: on a ring only the queues of who comes or goes move."),
            ),
        ),
    ),
    solve=_solve,
    wrong=(
        WrongScript("stops first", "a stop is a crash", CLEAN, _stops_first),
        WrongScript("counts crashes", "only a crash repeats messages", CRASHES, _counts_crashes),
        WrongScript("crashes again", "how a member ends makes no difference", CRASHED, _crashes_again),
        WrongScript("stops two", "two at a time are quicker", TOGETHER, _stops_two),
        WrongScript("stops all", "all at once moves least", ALL, _stops_all),
        WrongScript("hurries", "a process that runs has queues", HURRY, _hurries),
        WrongScript("says twice", "a queue moves with its own member only", TWICE, _says_twice),
        WrongScript("keeps AVG", "clean stops alone move least", NEEDLESS, _keeps_avg),
        WrongScript("sets lists", "a fixed list moves nothing", UNREAD, _sets_lists),
        WrongScript("sets meanwhile", "a strategy is valid at once", MEANWHILE, _sets_meanwhile),
    ),
)
