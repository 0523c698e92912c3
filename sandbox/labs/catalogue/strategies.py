"""Lab 12: allocation strategies, and the queues that change their owner when a member joins."""

from sandbox.control.actions import Action, SetStrategy, StartConsumer, StartProducer
from sandbox.control.actions.actors import StrategyName
from sandbox.journal.events import ActionTaken, QueuesAssigned
from sandbox.kernel.chance import Chance
from sandbox.labs.board import board
from sandbox.labs.evidence import Evidence, Numbers, Seen, last
from sandbox.labs.evidence_measures import assignments
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Choice, Number, choice
from sandbox.labs.script import Hands
from sandbox.labs.script_acts import Act, act, one_of, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.verdict import Verdict

RING: StrategyName = "CONSISTENT_HASH"
OFFERED: tuple[StrategyName, ...] = ("AVG", "AVG_BY_CIRCLE", RING)
DIVIDED_WITHIN_S = 25  # members rebalance every 20 s, and when the broker notifies them


def _draw(chance: Chance) -> dict[str, object]:
    members, queues = chance.choice(((2, 12), (2, 10), (2, 9), (3, 12)))
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "queues": queues,
        "members": members,
        "one_more": members + 1,
        "each": queues // (members + 1),
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        topic(n, n["queues"]),
        member(n, copies=n["members"]),
        StartProducer(actor="shop", topic=n["topic"], rate_per_s=6),
    )


def _joins(evidence: Evidence, *, since: int | None = None) -> list[Seen[ActionTaken]]:
    """Return the student's starts of members, in the open step or since an event."""
    return evidence.actions("StartConsumer", since=since, group=evidence.numbers["group"])


def _join(evidence: Evidence) -> Seen[ActionTaken] | None:
    """Return the newest start of a member in the open step."""
    return last(_joins(evidence))


def _before(evidence: Evidence, seq: int) -> dict[str, QueuesAssigned]:
    """Return each member's newest assignment before an event, by client id."""
    n = evidence.numbers
    assigned = evidence.of(QueuesAssigned, since=0, group=n["group"], topic=n["topic"])
    return {entry.event.client_id: entry.event for entry in assigned if entry.seq < seq}


def _owners(assigned: dict[str, QueuesAssigned]) -> dict[str, str]:
    return {queue: client_id for client_id, event in assigned.items() for queue in event.queues}


def _after(evidence: Evidence) -> dict[str, QueuesAssigned]:
    newest = evidence.assigned(evidence.numbers["group"], evidence.numbers["topic"])
    return {client_id: entry.event for client_id, entry in newest.items()}


def _is_divided(evidence: Evidence, after: dict[str, QueuesAssigned]) -> bool:
    """Return True if every member has the full member list and every queue has one owner."""
    joined = sum(entry.event.fields["copies"] for entry in _joins(evidence, since=0))
    return (
        len(after) == evidence.numbers["members"] + joined
        and all(len(event.members) == len(after) for event in after.values())
        and sum(len(event.queues) for event in after.values()) == evidence.numbers["queues"]
    )


def _moves(evidence: Evidence) -> dict[str, tuple[str, str]]:
    """Return the queues that changed their owner since the newest join, with old and new owner."""
    if (join := _join(evidence)) is None:
        return {}
    had, has = _owners(_before(evidence, join.seq)), _owners(_after(evidence))
    return {queue: (had[queue], owner) for queue, owner in has.items() if had.get(queue, owner) != owner}


def _rests_on(evidence: Evidence) -> tuple[int, ...]:
    n, join = evidence.numbers, _join(evidence)
    return (*([join.seq] if join else []), *assignments(evidence, n["group"], n["topic"]))


def _by_neighbours(evidence: Evidence) -> Verdict:
    join, after = _join(evidence), _after(evidence)
    if join is None:
        return Verdict.not_yet(_("The group still has {members} members."))
    if other := {event.strategy for event in after.values()} - {"AVG"}:
        return Verdict.wrong(
            _("The group uses {strategy}: this step starts with AVG. Set AVG again, then add one more member."),
            strategy=min(other),
            rests_on=_rests_on(evidence),
        )
    if not _is_divided(evidence, after):
        return Verdict.not_yet(_("Some members have not rebalanced yet."))
    return Verdict.met(
        _("With AVG, {moves} of {queues} queues changed their owner."),
        moves=len(_moves(evidence)),
        rests_on=_rests_on(evidence),
    )


def _number_of_moves(evidence: Evidence) -> Truth:
    return Truth(float(len(_moves(evidence))), _rests_on(evidence))


def _by_ring(evidence: Evidence) -> Verdict:
    join, after = _join(evidence), _after(evidence)
    if join is None:
        return Verdict.not_yet(_("No member has been added in this step."))
    before = {event.strategy for event in _before(evidence, join.seq).values()}
    newest = {event.strategy for event in after.values()}
    if newest == {RING} and before != {RING}:
        return Verdict.wrong(TOGETHER, rests_on=[join])
    if not _is_divided(evidence, after) or len(newest) > 1:
        return Verdict.not_yet(_("Some members have not rebalanced yet."))
    moves, known = _moves(evidence), _before(evidence, join.seq)
    among = sum(owner in known for _had, owner in moves.values())
    if newest == {"AVG"}:
        return Verdict.wrong(STILL_AVG, moves=len(moves), among=among, rests_on=_rests_on(evidence))
    if newest != {RING}:
        return Verdict.wrong(OTHER, strategy=min(newest), moves=len(moves), among=among, rests_on=_rests_on(evidence))
    return Verdict.met(
        _("{moves} queues changed their owner, all of them to the new member."),
        moves=len(moves),
        rests_on=_rests_on(evidence),
    )


ADD = act(lambda n: StartConsumer(group=n["group"]))


def _set(strategy: StrategyName) -> Act:
    return act(lambda n: SetStrategy(group=n["group"], strategy=strategy))


CHOOSE_RING = one_of(*map(_set, OFFERED), right=OFFERED.index(RING))


def _moved_on_the_board(hands: Hands) -> int:
    """Count the rows that have another owner than before the newest member."""
    join, rows = _join(hands.evidence), board(hands)["queues"]
    assert join is not None
    had = _owners(_before(hands.evidence, join.seq))
    return sum(rows[":".join(queue.split("/")[1:])]["owner"] != owner for queue, owner in had.items())


SOLUTION = Solution(
    SolvedStep(before=wait(DIVIDED_WITHIN_S), predict=6, do=ADD, say=_moved_on_the_board, why="shifted"),
    SolvedStep(predict=RING, do=(CHOOSE_RING, wait(DIVIDED_WITHIN_S), ADD), say=_moved_on_the_board, why="uneven"),
)


NEW_ONES = _(
    "{given} is the number of queues of the new member. The other members also exchanged queues: count every "
    "queue that has a different owner."
)
TOGETHER = _(
    "The new strategy and the new member took effect in one rebalance, so their moves cannot be distinguished. "
    "Add one more member."
)
STILL_AVG = _(
    "AVG again: {moves} queues moved, {among} of them between existing members. Set another strategy, wait until "
    "all members use it, then add a member."
)
OTHER = _(
    "{strategy} moved {moves} queues, {among} of them between existing members. One strategy moves queues only "
    "to the new member."
)

STRATEGIES = Lab(
    slug="strategies",
    number="12",
    minutes=9,
    title=_("Assignment strategies and queue moves"),
    goal=_(
        "When a member joins, queues change their owner, and each move can repeat messages. The strategy decides "
        "how many move."
    ),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"StartConsumer", "SetStrategy"}),
    steps=(
        Step(
            title=_("One more member with AVG"),
            rate=4,
            do=_("Note which member owns each of the {queues} queues of {topic}, then add one consumer to {group}."),
            watch=_("The lines from queues to cards, or the Rebalance page: before and after."),
            mark="lanes",
            page="rebalance/",
            predict=Question(
                text=_(
                    "The group grows from {members} to {one_more} members. How many of the {queues} queues will "
                    "change their owner?"
                ),
                kind=Number(_("queues")),
                right=_number_of_moves,
            ),
            check=_by_neighbours,
            say=Question(
                text=_("Count: how many queues have a different owner now?"),
                kind=Number(_("queues")),
                right=_number_of_moves,
                again=_("You wrote {given}; compare queue by queue on the Rebalance page."),
                misreadings=(Misreading(NEW_ONES, lambda e, answer: answer == e.numbers["each"]),),
            ),
            why=Question(
                text=_("Why do existing members exchange queues?"),
                kind=choice(
                    shifted=_("Each member has a block of neighboring queues: a shorter block shifts all later ones."),
                    load=_("The broker balances their load."),
                    chance=_("Queues are reassigned at random."),
                ),
                right=lambda e: Truth("shifted"),
                again=_(
                    "The broker does not assign queues, and nothing is random: each member computes the same "
                    "assignment from two sorted lists."
                ),
                misreadings=(
                    Misreading(
                        _("The broker only reports the members; each member computes the assignment itself."),
                        chosen("load"),
                    ),
                ),
            ),
            hints=(
                _(
                    "The first member had a larger block of queues before: which member has the last queues of that "
                    "block now?"
                ),
            ),
        ),
        Step(
            title=_("Moves only to the new member"),
            rate=4,
            do=_(
                "Set a strategy for {group} that moves queues only to a new member. Wait until all members use "
                "it, then add one more consumer."
            ),
            watch=_("The Rebalance page: the new owner of each queue that moved."),
            mark="lanes",
            page="rebalance/",
            predict=Question(
                text=_("With which strategy do existing members move queues only to the new member?"),
                kind=Choice(
                    (
                        ("AVG", _("AVG: blocks of neighboring queues")),
                        ("AVG_BY_CIRCLE", _("AVG_BY_CIRCLE: one queue each, in turns")),
                        (RING, _("CONSISTENT_HASH: positions on a ring")),
                    )
                ),
                right=lambda e: Truth(RING),
            ),
            check=_by_ring,
            say=Question(
                text=_("How many queues have changed their owner since the newest member joined?"),
                kind=Number(_("queues")),
                right=_number_of_moves,
                again=_("You wrote {given}; compare queue by queue on the Rebalance page."),
            ),
            why=Question(
                text=_("What is the price of this change?"),
                kind=choice(
                    uneven=_("Uneven shares: one member may have several times as many queues as another."),
                    slow=_("An assignment takes seconds instead of milliseconds."),
                    duplicates=_("Two members can own the same queue indefinitely."),
                ),
                right=lambda e: Truth("uneven"),
                again=_("Count the queues of each card: the ring distributes them by chance."),
            ),
            hints=(
                _("A strategy takes effect for a member at its next rebalance: after 20 s at the latest."),
                _("On a ring, a new member takes queues only from its neighbors."),
            ),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("says new ones", "only the new member's queues move", NEW_ONES).at(
            1, say=lambda h: h.numbers["each"]
        ),
        SOLUTION.wrong("circle", "assigning in turns moves few queues", OTHER).at(
            2,
            predict="AVG_BY_CIRCLE",
            do=(_set("AVG_BY_CIRCLE"), wait(DIVIDED_WITHIN_S), ADD),
            within_s=DIVIDED_WITHIN_S,
        ),
        SOLUTION.wrong("unchanged", "all strategies move the same number of queues", STILL_AVG).at(
            2, predict="AVG", do=ADD, within_s=DIVIDED_WITHIN_S
        ),
        SOLUTION.wrong("together", "two simultaneous changes can be distinguished", TOGETHER).at(
            2, do=(_set(RING), ADD), within_s=2 * DIVIDED_WITHIN_S
        ),
    ),
)
