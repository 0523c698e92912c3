"""Lab N9: restart of all members of a group with the fewest moves and duplicates."""

from sandbox.control.actions import Action, SetStrategy, StartProducer
from sandbox.control.actions.actors import StrategyName
from sandbox.journal.events import ActionTaken, CrashRepeated, QueuesAssigned, QueueTaken
from sandbox.kernel.chance import Chance
from sandbox.labs import restarts
from sandbox.labs.board import header
from sandbox.labs.evidence import Evidence, Numbers, Seen
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth
from sandbox.labs.question_kinds import Number, choice
from sandbox.labs.queue_moves import Lives, Move, given_again, moves_since, needless
from sandbox.labs.script import Hands
from sandbox.labs.script_acts import Act, act, crash, one_of, restart, stop, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.truths import count_of
from sandbox.labs.verdict import Verdict

RING: StrategyName = "CONSISTENT_HASH"
OFFERED: tuple[StrategyName, ...] = ("AVG", "AVG_BY_CIRCLE", RING)
MEMBERS = ("left", "middle", "right")  # in the order in which clients sort their ids: an address outlives a restart
DIVIDED_WITHIN_S = 21  # members rebalance every 20 s, and when the broker notifies them
LOOK_S = 3  # in scripts


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
        topic(n, n["queues"]),
        *(member(n, actor=label, work_ms=(n["work_ms"], n["work_ms"] + 800)) for label in MEMBERS),
        StartProducer(actor="shop", topic=n["topic"], rate_per_s=n["rate"]),
    )


def _all_crashed(evidence: Evidence) -> Verdict:
    lives = Lives(evidence)
    ends: dict[str, Seen[ActionTaken]] = {}
    for taken in restarts.acts_on_members(evidence):
        if taken.seq in lives.killed or taken.event.action == "StopActor":
            ends[taken.event.fields["actor"]] = taken
    for label, end in ends.items():
        if end.event.action == "StopActor":
            return Verdict.wrong(CLEAN, one=label, rests_on=[end])
    if len(ends) < len(MEMBERS) or not lives.are_there(MEMBERS):
        return Verdict.not_yet(
            _("{count} of {members} members have crashed and are running again."),
            members=len(MEMBERS),
            count=sum(lives.is_there(label) for label in ends),
        )
    moves, again = moves_since(evidence, lives, evidence.began), given_again(evidence, evidence.began)
    if not restarts.are_counted(evidence, moves):
        return Verdict.not_yet(_("Redelivered messages are being counted."))
    if not again:
        return Verdict.not_yet(_("No message was redelivered: crash one more member while it is working."))
    return Verdict.met(
        _("{again} messages were redelivered; queues moved {moves} times."),
        again=again,
        moves=len(moves),
        rests_on=ends.values(),
    )


def _strategies(evidence: Evidence, lives: Lives, began: int) -> set[str]:
    """Return the strategies by which members assigned queues in the round, and just before it."""
    n = evidence.numbers
    before: dict[str, str] = {}
    during: set[str] = set()
    for entry in evidence.of(QueuesAssigned, since=0, group=n["group"], topic=n["topic"]):
        if entry.seq < began:
            before[entry.event.client_id] = entry.event.strategy
        else:
            during.add(entry.event.strategy)
    return during | {before[client] for label in MEMBERS if (client := lives.process(label, began)) in before}


def _by_neighbours(evidence: Evidence) -> Verdict:
    lives = Lives(evidence)
    if isinstance(last_round := restarts.whole_round(evidence, lives), Verdict):
        return last_round
    began = last_round.began
    moves = moves_since(evidence, lives, began.seq)
    if other := _strategies(evidence, lives, began.seq) - {"AVG"}:
        return Verdict.wrong(
            _(
                "{group} used {strategy}: this step is about AVG. Set AVG again, wait until all members use it, "
                "then restart all three once more."
            ),
            strategy=min(other),
            rests_on=[began],
        )
    return Verdict.met(
        _("{moves} moves, {needless} of them between members that stayed; {again} messages were redelivered."),
        moves=len(moves),
        needless=needless(moves),
        again=given_again(evidence, began.seq),
        rests_on=[began, *moves],
    )


def _fewest(evidence: Evidence) -> Verdict:
    """Check the round; report needless moves at once, not after all restarts."""
    lives = Lives(evidence)
    newest = restarts.newest_round(evidence, lives)
    moves = moves_since(evidence, lives, newest.began.seq) if newest.stops else []
    if moves and newest.mistake is None:
        strategies = _strategies(evidence, lives, newest.began.seq)
        if len(strategies) > 1:
            return Verdict.wrong(MEANWHILE, rests_on=[newest.began])
        if needless(moves):
            return Verdict.wrong(
                NEEDLESS,
                strategy=min(strategies),
                moves=len(moves),
                needless=needless(moves),
                rests_on=[newest.began, *moves],
            )
    if isinstance(last_round := restarts.whole_round(evidence, lives), Verdict):
        return last_round
    return Verdict.met(
        _("{moves} moves, each from a member that left or to one that joined; {again} messages were redelivered."),
        moves=len(moves),
        again=given_again(evidence, last_round.began.seq),
        rests_on=[last_round.began, *moves],
    )


def _moves(evidence: Evidence) -> list[Move]:
    """List the moves of the newest round."""
    lives = Lives(evidence)
    newest = restarts.newest_round(evidence, lives)
    return moves_since(evidence, lives, newest.began.seq) if newest.stops else []


def _times(evidence: Evidence) -> Truth:
    """Count how often a member acquired the followed queue in the newest round."""
    n = evidence.numbers
    return count_of([move for move in _moves(evidence) if move.queue == f"{n['topic']}/broker-a/{n['number']}"])


def _again_in_all(evidence: Evidence) -> Truth:
    """Return the number of repeated deliveries since the group's beginning, as the header of the Board counts them."""
    return Truth(float(given_again(evidence, 0)))


def _of_crashes(evidence: Evidence) -> int:
    """Return the total of the journal's `CrashRepeated` counts: messages delivered twice after crashes."""
    return sum(entry.event.count for entry in evidence.of(CrashRepeated, since=0, group=evidence.numbers["group"]))


def _set(strategy: StrategyName) -> Act:
    return act(lambda n: SetStrategy(group=n["group"], strategy=strategy))


CHOOSE_RING = one_of(*map(_set, OFFERED), right=OFFERED.index(RING))


def _set_lists(hands: Hands) -> None:
    n = hands.numbers
    rows = [f"broker-a:{number}" for number in range(n["queues"])]
    lists: dict[str, object] = {label: rows[index :: len(MEMBERS)] for index, label in enumerate(MEMBERS)}
    hands.act(SetStrategy(group=n["group"], strategy="CONFIG", queues_by_member=lists))


def _times_in_journal(hands: Hands) -> int:
    """Count the "acquired" lines of the followed queue in the journal since the first stop."""
    n, began = hands.numbers, hands.evidence.actions("StopActor")[0].seq
    return len(hands.evidence.of(QueueTaken, since=began, topic=n["topic"], queue_id=n["number"]))


SOLUTION = Solution(
    SolvedStep(
        before=wait(restarts.AWAY_S),
        predict=10,
        do=restarts.renew(crash, *MEMBERS),
        within_s=30,
        say=lambda h: header(h, "delivered_again"),
        why="open",
    ),
    SolvedStep(predict=2, do=restarts.renew(stop, *MEMBERS), within_s=30, say=_times_in_journal, why="work"),
    SolvedStep(
        predict=24,
        do=(CHOOSE_RING, wait(DIVIDED_WITHIN_S), restarts.renew(stop, *MEMBERS)),
        within_s=30,
        say=_times_in_journal,
        why="handler",
    ),
)


CLEAN = _(
    "{one} was stopped cleanly, but this step is about crashes, for the later comparison. Restart it, then crash it."
)
TWICE = _(
    "You wrote {given}: the queue moves away and back when its own member restarts. The queue also moved when "
    "another member restarted: count again."
)
CRASHES = _(
    "You wrote {given}: those messages belong to the crashed processes. Other messages were redelivered because "
    'their queues moved between running members. Read "Delivered again" in the header.'
)
NEEDLESS = _(
    "With {strategy}, {needless} of {moves} moves so far were between members that stayed, so they were "
    "unnecessary. Set another strategy, wait until all members use it, and restart all three again."
)
MEANWHILE = _(
    "The new strategy and the restarts overlapped, so their moves cannot be distinguished. Wait until all "
    "members use the strategy, then restart all three again."
)

ROLLING_RESTART = Lab(
    slug="rolling-restart",
    number="N9",
    minutes=10,
    title=_("Restart storm"),
    goal=_("Every release restarts all members of a group. The way you do it decides how many messages are repeated."),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"StopActor", "CrashActor", "RestartActor", "SetStrategy"}),
    steps=(
        Step(
            title=_("Crashes, one after another"),
            rate=2,
            do=_(
                "Crash {one}, wait until the others have its queues, restart it, and wait until it has queues "
                "again. Then do the same with {two} and {three}."
            ),
            watch=_('"Delivered again" in the header.'),
            mark="header:again",
            predict=Question(
                text=_("How many messages will be delivered again?"),
                kind=Number(_("messages"), share=0.3, within=3),
                right=lambda e: Truth(float(given_again(e, e.began))),
            ),
            check=_all_crashed,
            say=Question(
                text=_('How many messages were redelivered? Read "Delivered again" in the header.'),
                kind=Number(_("messages")),
                right=_again_in_all,
                again=_('You wrote {given}; read "Delivered again" in the header once more.'),
                misreadings=(Misreading(CRASHES, lambda e, answer: answer == _of_crashes(e)),),
            ),
            why=Question(
                text=_("Which messages were redelivered?"),
                kind=choice(
                    open=_("Those that listeners had received and whose offset was not committed yet."),
                    all=_("All messages that the crashed processes had ever consumed."),
                    sent=_("Those that the producer sent a second time."),
                ),
                right=lambda e: Truth("open"),
                again=_('Compare the start of the new owner ("acquired" in the journal) with the committed offset.'),
            ),
            hints=(
                _(
                    '"delivered twice" in the journal counts messages of crashed processes; the header counts '
                    "all redelivered messages."
                ),
            ),
        ),
        Step(
            title=_("Clean stops, one at a time"),
            rate=2,
            do=_(
                "Do the same with Stop instead of Crash: {one}, then {two}, then {three}. Wait for each member "
                "to return before you stop the next one. The strategy is AVG."
            ),
            watch=_('The owner of {row}, and "acquired" in the journal.'),
            mark="queue:{row}",
            predict=Question(
                text=_(
                    "{row} is a queue of {two}. How many times will its owner change until all three members are back?"
                ),
                kind=Number(_("times")),
                right=_times,
            ),
            check=_by_neighbours,
            say=Question(
                text=_("How many times has {row} been acquired since the first stop?"),
                kind=Number(_("times")),
                right=_times,
                again=_('You wrote {given}; count the "acquired" rows with {row} in the journal.'),
                misreadings=(Misreading(TWICE, lambda e, answer: answer == 2),),
            ),
            why=Question(
                text=_("No process crashed. Which messages were redelivered anyway?"),
                kind=choice(
                    work=_("Those in progress when their queue moved."),
                    all=_("All messages of each queue that moved."),
                    sent=_("Those that the producer sent a second time."),
                ),
                right=lambda e: Truth("work"),
                again=_(
                    "Finished messages are committed before a queue is released, but the release does not wait "
                    "for listeners."
                ),
            ),
            hints=(
                _(
                    "With one member fewer, AVG assigns larger blocks of neighboring queues, and all blocks "
                    "start at other queues."
                ),
                _("Only one member may be away at a time."),
            ),
        ),
        Step(
            title=_("Minimal moves"),
            rate=2,
            do=_(
                "Set a strategy for {group} that moves no queue between members that stay. Wait until all "
                "members use it, and restart all three again in the same way."
            ),
            watch=_("The Rebalance page: the source and target of each queue move."),
            mark="lanes",
            page="rebalance/",
            predict=Question(
                text=_("How many moves will there be in total, with {queues} queues and three restarts?"),
                kind=Number(_("moves"), share=0.25),
                right=lambda e: count_of(_moves(e)),
            ),
            check=_fewest,
            say=Question(
                text=_("How many times has {row} been acquired since the first stop of this round?"),
                kind=Number(_("times")),
                right=_times,
                again=_('You wrote {given}; count the "acquired" rows with {row} in the journal.'),
            ),
            why=Question(
                text=_("No move was unnecessary, but messages were still redelivered. What makes redelivery harmless?"),
                kind=choice(
                    handler=_("A handler that processes each message once, however often it is delivered."),
                    strategy=_("Another strategy."),
                    commit=_("More frequent commits."),
                ),
                right=lambda e: Truth("handler"),
                again=_(
                    "When a queue moves, its messages in progress move with it; the next owner starts at the "
                    "committed offset."
                ),
            ),
            hints=(
                _("A strategy takes effect for a member at its next rebalance: after 20 s at the latest."),
                _("See lab 12: on a ring, only the queues of members that join or leave move."),
            ),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("stops first", "a stop is a crash", CLEAN).at(
            1, before=(), predict=0, do=restarts.renew(stop, "left"), within_s=0
        ),
        SOLUTION.wrong("counts crashes", "only a crash repeats messages", CRASHES).at(
            1, say=lambda h: _of_crashes(h.evidence)
        ),
        SOLUTION.wrong("crashes again", "the way a member ends makes no difference", restarts.CRASHED).at(
            2, do=crash("left"), within_s=LOOK_S
        ),
        SOLUTION.wrong("stops two", "two at a time is faster", restarts.TOGETHER).at(
            2, do=(stop("left"), wait(restarts.AWAY_S), stop("middle")), within_s=LOOK_S
        ),
        SOLUTION.wrong("stops all", "all at once moves the fewest queues", restarts.ALL).at(
            2, do=stop(*MEMBERS), within_s=LOOK_S
        ),
        SOLUTION.wrong("hurries", "every running process has queues", restarts.HURRY).at(
            2, do=(stop("left"), wait(restarts.AWAY_S), restart("left"), stop("middle")), within_s=LOOK_S
        ),
        SOLUTION.wrong("says twice", "a queue moves only with its own member", TWICE).at(2, say=2),
        SOLUTION.wrong("keeps AVG", "clean stops alone minimize moves", NEEDLESS).at(
            3, do=restarts.renew(stop, "left"), within_s=0
        ),
        SOLUTION.wrong("sets lists", "a fixed list moves nothing", restarts.UNREAD).at(
            3, do=(_set_lists, wait(DIVIDED_WITHIN_S), stop("left"), wait(6), restart("left")), within_s=LOOK_S
        ),
        SOLUTION.wrong("sets meanwhile", "a strategy takes effect at once", MEANWHILE).at(
            3, do=(_set(RING), restarts.renew(stop, "left")), within_s=0
        ),
    ),
)
