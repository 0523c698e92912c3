"""Lab N1: one group with two subscriptions."""

from dataclasses import replace

from sandbox.control.actions import Action, ChangeActor, StartProducer
from sandbox.journal.events import ActionTaken, SubscriptionChanged
from sandbox.kernel.chance import Chance
from sandbox.labs.evidence import Evidence, Numbers, Seen, last
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import EventClick, choice
from sandbox.labs.script_acts import Acts, act, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.verdict import Verdict

SETTLED_S, WATCH_S = 5, 20  # what was pulled before is finished; then it is watched


def _draw(chance: Chance) -> dict[str, object]:
    kept, lost = chance.choice((("sent", "paid"), ("paid", "sent"), ("packed", "paid")))
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("clerks", "packers")),
        "kept": kept,
        "lost": lost,
        "both": f"{lost} || {kept}",
        "one": "left",
        "other": "right",
        "rate": 3 + chance.below(3),
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (
        topic(n, 4),
        member(n, n["both"], actor=n["one"]),
        *(
            StartProducer(actor=f"shop-{tag}", topic=n["topic"], rate_per_s=n["rate"], tag=tag, key=f"{tag}-{{n}}")
            for tag in (n["lost"], n["kept"])
        ),
    )


def _replaced(evidence: Evidence, since: int | None = None) -> Seen[SubscriptionChanged] | None:
    """Return the newest subscription of the topic that replaced another one, or None."""
    n = evidence.numbers
    changes = evidence.of(SubscriptionChanged, since=since, group=n["group"], topic=n["topic"])
    return last([entry for entry in changes if entry.event.replaced is not None])


def _read(evidence: Evidence, tag: str, from_ms: int) -> list[int]:
    """Return the seqs of successes with messages of a tag that were started after `from_ms`."""
    return [
        row.seq
        for row in evidence.deliveries_of(evidence.numbers["group"], since=0, outcome="SUCCESS")
        if row.key.startswith(f"{tag}-") and row.started_ms > from_ms
    ]


def _is_replaced(evidence: Evidence) -> Verdict:
    n = evidence.numbers
    if not (started := evidence.actions("StartConsumer")):
        return Verdict.not_yet(_("{other} has not joined yet."))
    fields = started[-1].event.fields
    if fields["group"] != n["group"]:
        return Verdict.wrong(OTHER_GROUP, given=fields["group"], rests_on=[started[-1]])
    replaced = _replaced(evidence)
    if replaced is None or replaced.event.expression != n["kept"]:
        return Verdict.wrong(SAME, rests_on=[started[-1]])
    if (passed_s := evidence.passed_s(replaced.at_ms)) < SETTLED_S + WATCH_S:
        return Verdict.not_yet(
            _("{passed_s} of {wait_s} seconds have passed."), passed_s=passed_s, wait_s=SETTLED_S + WATCH_S
        )
    return Verdict.met(
        _("The broker keeps one subscription for each group and topic: {expression} replaced {replaced}."),
        expression=replaced.event.expression,
        replaced=str(replaced.event.replaced),
        rests_on=[replaced],
    )


def _unread(evidence: Evidence) -> Truth:
    """Return the tag that is no longer consumed, once the messages pulled before are finished."""
    n, replaced = evidence.numbers, _replaced(evidence)
    if replaced is None:
        return Truth("none")
    from_ms = replaced.at_ms + SETTLED_S * 1000
    lost = [tag for tag in (n["lost"], n["kept"]) if not _read(evidence, tag, from_ms)]
    return Truth({0: "none", 1: "lost" if n["lost"] in lost else "kept", 2: "both"}[len(lost)], (replaced.seq,))


def _clicks(evidence: Evidence) -> Truth:
    replaced = _replaced(evidence, since=0)
    return Truth(()) if replaced is None else Truth((str(replaced.seq),), (replaced.seq,))


def _changed(evidence: Evidence) -> dict[str, Seen[ActionTaken]]:
    """Return the newest change of each member's expression in this step."""
    changes = evidence.actions("ChangeActor")
    return {entry.event.fields["actor"]: entry for entry in changes if entry.event.fields["expression"]}


def _is_mended(evidence: Evidence) -> Verdict:
    n, changed = evidence.numbers, _changed(evidence)
    if not changed:
        return Verdict.not_yet(_("Each member still has its own subscription."))
    if (mended := changed.get(n["other"])) is None:
        return Verdict.wrong(FIRST, rests_on=changed.values())
    expression = mended.event.fields["expression"]
    if {part.strip() for part in expression.split("||")} not in ({n["lost"], n["kept"]}, {"*"}):
        return Verdict.wrong(SWAPPED, expression=expression, rests_on=[mended])
    passed_s = evidence.passed_s(mended.at_ms)
    read = _read(evidence, n["lost"], mended.at_ms + SETTLED_S * 1000)
    if passed_s < SETTLED_S + WATCH_S or not read:
        return Verdict.not_yet(
            _("{passed_s} of {wait_s} seconds have passed."), passed_s=passed_s, wait_s=SETTLED_S + WATCH_S
        )
    return Verdict.met(
        _("{skipped} messages with {lost} were skipped and are not delivered; later ones are consumed again."),
        skipped=f"{_skipped(evidence).value:g}",
        rests_on=[mended, read[0], read[-1]],
    )


def _skipped(evidence: Evidence) -> Truth:
    """Return the number of skipped messages of the lost tag, from the gaps in the numbers of their keys."""
    n = evidence.numbers
    numbers = {
        int(row.key.rpartition("-")[2])
        for row in evidence.deliveries_of(n["group"], since=0)
        if row.outcome == "SUCCESS" and row.key.startswith(f"{n['lost']}-")
    }
    return Truth(float(max(numbers) - min(numbers) + 1 - len(numbers)) if numbers else 0.0)


def _join(expression: str) -> Acts:
    return act(lambda n: member(n, n[expression], actor=n["other"]))


def _subscribe(label: str, expression: str) -> Acts:
    return act(lambda n: ChangeActor(actor=n[label], expression=n[expression]))


SOLUTION = Solution(
    SolvedStep(
        before=wait(20),
        predict="other",
        do=_join("kept"),
        within_s=60,
        say="lost",
        why=lambda h: str(h.evidence.of(SubscriptionChanged, since=0)[-1].seq),
    ),
    SolvedStep(predict="gone", do=_subscribe("other", "both"), within_s=60, say="higher", why="passed"),
)


OTHER_GROUP = _("{given} is another group, which receives every message anyway; {other} must join {group}.")
NONE = _('Keys that begin with {lost} no longer arrive: search the Journal for {lost}-, with "include each message".')
SAME = _("The broker still stores {both} for {group}: {other} must subscribe to {kept} only.")
FIRST = _("{other} still subscribes to {kept} only and drops all other messages; change {other}.")
SWAPPED = _(
    "{other} now subscribes to {expression}, but all members of a group must have the same subscription: {both}."
)

TWO_SUBSCRIPTIONS = Lab(
    slug="two-subscriptions",
    number="N1",
    minutes=10,
    title=_("One group, two subscriptions"),
    goal=_(
        "Two versions of a service run in one group, with different subscriptions: messages disappear without an error."
    ),
    draw=_draw,
    setup=_setup,
    allowed=frozenset({"StartConsumer", "ChangeActor", "StopActor", "RemoveActor"}),
    steps=(
        Step(
            title=_("A member with another subscription"),
            rate=4,
            do=_(
                "{one} of {group} subscribes to {both}. Start {other} in the same group with the expression "
                "{kept}, and watch for 25 seconds."
            ),
            watch=_("The subscription of the group, and the number of messages it consumes."),
            mark="header:subscription",
            predict=Question(
                text=_("What will happen to messages with the tag {lost}?"),
                kind=choice(
                    nothing=_("{one} continues to read all of them."),
                    half=_("Those in the queues of {one} are read, the others are not."),
                    other=_("No member reads them any more."),
                ),
                right=lambda e: Truth("other" if _unread(e).value == "lost" else "half"),
            ),
            check=_is_replaced,
            say=Question(
                text=_("Which messages does no member read now?"),
                kind=choice(
                    lost=_("Those with {lost}."),
                    kept=_("Those with {kept}."),
                    both=_("All of them."),
                    none=_("None: all are read."),
                ),
                right=_unread,
                again=_("Look at the keys of the newest rows again: which tag still arrives?"),
                misreadings=(Misreading(NONE, chosen("none")),),
            ),
            why=Question(
                text=_("Click the event that stopped the delivery of these messages."),
                kind=EventClick(),
                right=_clicks,
                again=_("That event changed no subscription. Look for the event that names two expressions."),
            ),
            hints=(_("The broker keeps one subscription for each group and topic: the newest."),),
        ),
        Step(
            title=_("The repair"),
            rate=4,
            do=_("Give both members the same subscription again: {both}. Watch for 25 seconds."),
            watch=_("The number of messages that the group consumes."),
            mark="header:subscription",
            predict=Question(
                text=_("Will the skipped messages with {lost} be delivered now?"),
                kind=choice(
                    come=_("Yes, the broker kept them for the group."), gone=_("No, the group never receives them.")
                ),
                right=lambda e: Truth("gone" if _skipped(e).value else "come"),
            ),
            check=_is_mended,
            say=Question(
                text=_(
                    'Search the Journal for {lost}-, with "include each message". Which number follows the '
                    "last key from before the change?"
                ),
                kind=choice(
                    next=_("the next one: no message is missing"),
                    higher=_("a much higher one: those between were skipped"),
                    first=_("the first one: all are delivered again"),
                ),
                right=lambda e: Truth("higher" if _skipped(e).value else "next"),
                again=_("Look at the numbers of the {lost} keys again: the time between two of them is long."),
            ),
            why=Question(
                text=_("Why are the skipped messages not delivered?"),
                kind=choice(
                    passed=_("The pulls and the committed offset have moved past them."),
                    deleted=_("The broker deleted them because no member subscribed to them."),
                    later=_("They are waiting for a retry."),
                ),
                right=lambda e: Truth("passed"),
                again=_(
                    "The skipped messages are still stored: open the messages of {topic}. Look at the committed offset."
                ),
            ),
            hints=(_("Which member subscribes to {kept} only?"),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("another group", "groups share messages", OTHER_GROUP).at(
            1,
            before=(),
            predict="nothing",
            do=act(lambda n: replace(member(n, n["kept"], actor=n["other"]), group=f"{n['group']}-2")),
            within_s=10,
        ),
        SOLUTION.wrong("sees nothing", "each member gets what it subscribed to", NONE).at(1, say="none"),
        SOLUTION.wrong("same expression", "a new member changes nothing by itself", SAME).at(1, do=_join("both")),
        SOLUTION.wrong("changes the first", "the newest subscription is enough", FIRST).at(
            2, do=_subscribe("one", "both"), within_s=30
        ),
        SOLUTION.wrong("swaps", "members divide the tags among them", SWAPPED).at(
            2, do=_subscribe("other", "lost"), within_s=30
        ),
    ),
)
