"""Lab 4: more members than queues."""

from sandbox.control.actions import Action, StartConsumer, StartProducer
from sandbox.journal.events import QueuesAssigned
from sandbox.kernel.chance import Chance
from sandbox.labs.board import board
from sandbox.labs.evidence import Evidence, Numbers
from sandbox.labs.evidence_measures import assignments, newest_change
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Number, choice
from sandbox.labs.script import Hands
from sandbox.labs.script_acts import act, change_topic
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.verdict import Verdict

IDLE_S = 20
AFTER_S = 50  # a client updates its routes every 30 s and rebalances every 20 s


def _draw(chance: Chance) -> dict[str, object]:
    queues = 4 + chance.below(2)  # never as many as will have none
    members = queues + 2 + chance.below(2)
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "queues": queues,
        "members": members,
        "at_first": queues - 1,
        "idle": members - queues,
        "more": 2 * members,
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        topic(n, n["queues"]),
        member(n, copies=n["at_first"]),
        StartProducer(actor="shop", topic=n["topic"], rate_per_s=6),
    )


def _idle(evidence: Evidence) -> list[str]:
    n = evidence.numbers
    return [client for client, entry in evidence.assigned(n["group"], n["topic"]).items() if not entry.event.queues]


def _newest(evidence: Evidence) -> tuple[int, ...]:
    n = evidence.numbers
    return assignments(evidence, n["group"], n["topic"])


def _some_are_idle(evidence: Evidence) -> Verdict:
    n = evidence.numbers
    newest = evidence.assigned(n["group"], n["topic"])
    if len(newest) != n["members"]:
        return Verdict.not_yet(_("The group has {now} of {members} members."), now=len(newest))
    since_ms = max(entry.at_ms for entry in newest.values() if entry.event.added or not entry.event.queues)
    if (held_s := evidence.passed_s(since_ms)) < IDLE_S:
        return Verdict.not_yet(
            _("The queues have been assigned for {held_s} s; watch for {wait_s} s."), held_s=held_s, wait_s=IDLE_S
        )
    return Verdict.met(
        _("{idle} members have had no queue for {held_s} s."),
        idle=len(_idle(evidence)),
        held_s=held_s,
        rests_on=_newest(evidence),
    )


def _none_is_idle(evidence: Evidence) -> Verdict:
    n = evidence.numbers
    if (changed := newest_change(evidence, n["topic"])) is None:
        return Verdict.not_yet(_("{topic} still has {queues} queues."))
    newest = changed.event
    if newest.read_queues < n["more"]:
        if newest.write_queues > newest.read_queues:
            return Verdict.wrong(WRITTEN, write=newest.write_queues, read=newest.read_queues, rests_on=[changed])
        return Verdict.wrong(
            _("{read} read queues are fewer than {more}."), read=newest.read_queues, rests_on=[changed]
        )
    assigned = evidence.assigned(n["group"], n["topic"])
    if any(entry.seq < changed.seq for entry in assigned.values()) or _idle(evidence):
        return Verdict.not_yet(_("{idle} members have no queue yet."), idle=len(_idle(evidence)))
    return Verdict.met(
        _("Every member has a queue, {after_s} s after the change."),
        after_s=round(_after(evidence)),
        rests_on=[changed, *_newest(evidence)],
    )


def _after(evidence: Evidence) -> float:
    """Return the seconds from the change until the last client received its first queues."""
    n = evidence.numbers
    if (changed := newest_change(evidence, n["topic"])) is None:
        return 0.0
    first: dict[str, int] = {}
    for entry in evidence.of(QueuesAssigned, since=changed.seq):
        if entry.event.topic == n["topic"] and entry.event.queues:
            first.setdefault(entry.event.client_id, entry.at_ms)
    return (max(first.values(), default=changed.at_ms) - changed.at_ms) / 1000


def _without_queue(hands: Hands) -> int:
    data = board(hands)
    owners = {row["owner"] for row in data["queues"].values()}
    return sum(client not in owners for client in data["members"])


SOLUTION = Solution(
    SolvedStep(
        predict=lambda h: h.numbers["idle"],
        do=act(lambda n: StartConsumer(group=n["group"], copies=n["members"] - n["at_first"])),
        say=_without_queue,
        why="one_owner",
    ),
    SolvedStep(predict=40, do=change_topic("more", "more"), say=2, why="route_then_divide"),
)


SHARED = _("You wrote 0; look at the cards without a lane again. A queue is never shared by two members.")
BUSY = _("You wrote {given}: that is the number of members with a queue. Count the cards without a lane.")
LATE = _(
    "The members without a queue joined long ago and send heartbeats; waiting changes nothing. Compare the "
    "number of lanes with the number of cards."
)
WRITTEN = _("Messages go to {write} queues, but the group reads {read} of them: it assigns the read queues.")

MEMBERS_AND_QUEUES = Lab(
    slug="members-and-queues",
    number="4",
    minutes=8,
    title=_("More members than queues"),
    goal=_("A group that is too slow gets more members. How many of them can work at the same time?"),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"StartConsumer", "StopActor", "RemoveActor", "ChangeTopic"}),
    steps=(
        Step(
            title=_("An extra member"),
            do=_(
                "{topic} has {queues} queues, and {group} has {at_first} members. Start members of {group} until it "
                "has {members}. Then watch for 20 seconds."
            ),
            watch=_("Lanes from the queues to the cards of the members."),
            mark="lanes",
            predict=Question(
                text=_("How many of the {members} members will have no queue?"),
                kind=Number(_("members")),
                right=lambda e: Truth(float(e.numbers["idle"])),
            ),
            check=_some_are_idle,
            say=Question(
                text=_("Count on the board: how many members have no queue now?"),
                kind=Number(_("members")),
                right=lambda e: Truth(float(len(_idle(e))), _newest(e)),
                again=_("You wrote {given}; count the cards without a lane again."),
                misreadings=(
                    Misreading(SHARED, lambda e, answer: answer == 0),
                    Misreading(BUSY, lambda e, answer: answer == e.numbers["queues"]),
                ),
            ),
            why=Question(
                text=_("Why do these members have no queue?"),
                kind=choice(
                    one_owner=_("In a group, each queue has at most one owner."),
                    late=_("They joined last and have not received their share yet."),
                    broker=_("The broker accepts only as many members as it has threads."),
                ),
                right=lambda e: Truth("one_owner"),
                again=_("The broker accepts all members: the Board shows their cards. Compare lanes and cards."),
                misreadings=(Misreading(LATE, chosen("late")),),
            ),
            hints=(
                _("A lane leads from each queue to the member that reads it."),
                _("Each member sorts queues and members and takes its share: there are at most {queues} shares."),
            ),
        ),
        Step(
            title=_("More queues, a short delay"),
            rate=4,
            do=_("Change {topic} to {more} write queues and {more} read queues."),
            watch=_("Cards without a lane, and the journal: route, then rebalance."),
            mark="lanes",
            predict=Question(
                text=_("After how many seconds will the last member receive its first queue?"),
                kind=Number(_("s"), within=20),
                right=lambda e: Truth(_after(e), _newest(e)),
            ),
            check=_none_is_idle,
            say=Question(
                text=_("How many queues does each member have now?"),
                kind=Number(_("queues")),
                right=lambda e: Truth(float(e.numbers["more"] // e.numbers["members"]), _newest(e)),
                again=_("You wrote {given}; open a member's card and count its lanes again."),
            ),
            why=Question(
                text=_("Why did the members wait for their first queue?"),
                kind=choice(
                    route_then_divide=_("Clients request the route every 30 s and rebalance every 20 s."),
                    copy=_("Stored messages were first moved to the new queues."),
                    broker=_("The broker distributes queues one at a time."),
                ),
                right=lambda e: Truth("route_then_divide"),
                again=_(
                    "The broker does not distribute queues, and no message moved: look at who received the "
                    "route, and when."
                ),
            ),
            hints=(_("Clients are not notified of a new route; they request it."),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("shared", "queues are divided among all members", SHARED).at(1, predict=0, say=0),
        SOLUTION.wrong("busy", "counts the members that work", BUSY).at(
            1, predict=lambda h: h.numbers["queues"], say=lambda h: h.numbers["queues"]
        ),
        SOLUTION.wrong("late", "idle members have not got their share yet", LATE).at(1, why="late"),
        SOLUTION.changed(1, predict=0)
        .wrong("written", "only the write queues count", WRITTEN)
        .at(2, predict=10, do=change_topic("more", "queues"), within_s=90),
    ),
)
