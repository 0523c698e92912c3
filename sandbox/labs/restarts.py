"""Rolling restarts of a group's members: the newest round of them, and its mistakes.

A lab that asks for a round names its members in `one`, `two` and `three`.
"""

from collections.abc import Callable
from typing import NamedTuple

from sandbox.journal.events import ActionTaken
from sandbox.labs.evidence import Evidence, Seen
from sandbox.labs.queue_moves import Lives, Move, moves_since
from sandbox.labs.script_acts import Acts, Until, restart, until, wait
from sandbox.labs.translation_marks import _
from sandbox.labs.verdict import Verdict

COUNTED_MS = 4_000  # longer than a handler of these labs takes: redelivered messages are finished by then
AWAY_S = 1  # in scripts
UNREAD_MS = 5_000  # longer than any change of owner

CRASHED = _(
    "{one} crashed, so all its uncommitted messages were redelivered. This round requires clean stops: begin the "
    "round again."
)
TOGETHER = _(
    "{one} was still away when {other} was stopped: one member had all queues. Restart both, wait until they "
    "have queues, then begin again."
)
ALL = _(
    "All members were down, and the messages of {topic} waited. That keeps moves low, but it is an outage. "
    "Restart all, then stop one at a time."
)
HURRY = _(
    "{one} was running again but had not rebalanced when {other} was stopped. Wait until it has queues, then "
    "begin again."
)
UNREAD = _(
    "With {strategy}, {count} queues of {one} had no owner for {seconds} s, and their messages waited. Set a "
    "strategy that reassigns them to other members, and restart all three again."
)


class Round(NamedTuple):
    """Round of restarts: the stop of each member by label, and the mistake in one of them."""

    stops: dict[str, Seen[ActionTaken]]
    mistake: Verdict | None

    @property
    def began(self) -> Seen[ActionTaken]:
        return min(self.stops.values())


def labels_of(evidence: Evidence) -> tuple[str, ...]:
    return tuple(str(evidence.numbers[number]) for number in ("one", "two", "three"))


def acts_on_members(evidence: Evidence) -> list[Seen[ActionTaken]]:
    """Return the student's stops, crashes and restarts in the open step, in order."""
    labels = labels_of(evidence)
    acts = [entry for name in ("StopActor", "CrashActor", "RestartActor") for entry in evidence.actions(name)]
    return sorted(entry for entry in acts if entry.event.fields["actor"] in labels)


def newest_round(evidence: Evidence, lives: Lives) -> Round:
    """Return the newest round of restarts.

    After a mistake, or at the second stop of a member, a new round begins once all members are there.
    """
    stops: dict[str, Seen[ActionTaken]] = {}
    mistake: Verdict | None = None
    for act in acts_on_members(evidence):
        label = act.event.fields["actor"]
        if act.seq in lives.killed:
            mistake = Verdict.wrong(CRASHED, one=label, rests_on=[act.seq])
        elif act.event.action == "StopActor":
            away = [other for other in labels_of(evidence) if other != label and not lives.is_there(other, act.seq)]
            if away:
                mistake = _too_early(evidence, lives, act, away)
            elif mistake is not None or label in stops:
                stops, mistake = {}, None
            stops[label] = act
    return Round(stops, mistake)


def _too_early(evidence: Evidence, lives: Lives, stop: Seen[ActionTaken], away: list[str]) -> Verdict:
    """Return the verdict on a member's stop while other members were away."""
    label, other = stop.event.fields["actor"], away[0]
    if not all(lives.has_ended(member, stop.seq) for member in away):
        return Verdict.wrong(HURRY, one=other, other=label, rests_on=[stop.seq])
    if len(away) == len(labels_of(evidence)) - 1:
        return Verdict.wrong(ALL, topic=evidence.numbers["topic"], rests_on=[stop.seq])
    return Verdict.wrong(TOGETHER, one=other, other=label, rests_on=[stop.seq])


def whole_round(evidence: Evidence, lives: Lives) -> Round | Verdict:
    """Return the newest round, or a verdict on what it lacks or what is wrong with it."""
    n, labels, newest = evidence.numbers, labels_of(evidence), newest_round(evidence, lives)
    if newest.mistake is not None:
        return newest.mistake
    if not newest.stops:
        return Verdict.not_yet(_("No member has been stopped yet."))
    moves = moves_since(evidence, lives, newest.began.seq)
    unread = _unread(evidence, lives, newest, moves)
    if unread is not None:
        return unread
    if len(newest.stops) < len(labels) or not lives.are_there(labels):
        return Verdict.not_yet(
            _("{count} of {members} members have restarted and are running again."),
            members=len(labels),
            count=sum(lives.is_there(label) for label in newest.stops),
        )
    divided = [entry.event for entry in evidence.assigned(n["group"], n["topic"]).values()]
    if any(len(event.members) != len(labels) for event in divided) or (
        sum(len(event.queues) for event in divided) != n["queues"]
    ):
        return Verdict.not_yet(_("Some members have not rebalanced yet."))
    if not are_counted(evidence, moves):
        return Verdict.not_yet(_("Redelivered messages are being counted."))
    return newest


def are_counted(evidence: Evidence, moves: list[Move]) -> bool:
    """Return True if all redeliveries because of the moves are counted: COUNTED_MS after the last move."""
    return evidence.now_ms - max((move.at_ms for move in moves), default=0) >= COUNTED_MS


def _unread(evidence: Evidence, lives: Lives, newest: Round, moves: list[Move]) -> Verdict | None:
    """Return the verdict on a queue that waited for its owner's restart, or None."""
    n = evidence.numbers
    for label, stop in newest.stops.items():
        client_id = lives.process(label, stop.seq)
        late = [move for move in moves if move.source == client_id and move.at_ms - stop.at_ms > UNREAD_MS]
        if late:
            strategies = {entry.event.strategy for entry in evidence.assigned(n["group"], n["topic"]).values()}
            return Verdict.wrong(
                UNREAD,
                one=label,
                count=len(late),
                strategy=min(strategies),
                seconds=(late[0].at_ms - stop.at_ms) // 1000,
                rests_on=[stop.seq, late[0].seq],
            )
    return None


def _has_all(evidence: Evidence) -> bool:
    """Return True if the running members have all queues."""
    n = evidence.numbers
    assigned = evidence.assigned(n["group"], n["topic"]).values()
    return sum(len(entry.event.queues) for entry in assigned) >= int(n["queues"])


TAKEN_OVER = until(_("Wait until the other members have its queues."), _has_all)


def renew(end: Callable[[str], Acts], *labels: str) -> Acts:
    """Return the acts that end and restart members one after another, each once the queues have moved."""
    return tuple(
        (end(label), wait(AWAY_S), TAKEN_OVER, restart(label), wait(AWAY_S), _is_back(label)) for label in labels
    )


def _is_back(label: str) -> Until:
    """Return the wait until the member runs and has queues."""
    return until(_("Wait until all members have queues."), lambda evidence: Lives(evidence).is_there(label))
