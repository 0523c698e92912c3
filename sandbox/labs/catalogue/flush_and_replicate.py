"""Lab 14: the guarantee of an answered send with each flush and replication mode."""

from typing import Any

from sandbox.control.actions import (
    Action,
    ChangeBroker,
    KillBroker,
    PowerCut,
    PromoteSlave,
    SendMessages,
    StartBroker,
    StopBroker,
)
from sandbox.journal.events import (
    ActionTaken,
    BrokerConfigChanged,
    BrokerStarted,
    BrokerStopped,
    MessagesStored,
    UnflushedLost,
)
from sandbox.kernel.chance import Chance
from sandbox.labs.evidence import Evidence, Numbers, Seen, queue_of
from sandbox.labs.evidence_measures import sends, stored_by
from sandbox.labs.lab import Lab, Misreading, Question, Step, Truth, chosen
from sandbox.labs.question_kinds import Number, choice
from sandbox.labs.script import Hands
from sandbox.labs.script_acts import Acts, act, wait
from sandbox.labs.setups import member, topic
from sandbox.labs.solution import Solution, SolvedStep
from sandbox.labs.translation_marks import _
from sandbox.labs.verdict import Verdict

BROKER, SLAVE = "broker-a", 1
RATE = 20
BODY_BYTES = 60  # the broker flushes 16 KiB at a time, or every 10 s
SETTINGS = {"flush": "ASYNC_FLUSH", "replication": "ASYNC_MASTER"}


def _draw(chance: Chance) -> dict[str, object]:
    return {
        "topic": chance.choice(("orders", "parcels", "bookings")),
        "group": chance.choice(("auditors", "checkers")),
        "count": 80 + 10 * chance.below(6),
        "rate": RATE,
        "broker": BROKER,
    }


def _setup(n: Numbers) -> tuple[Action, ...]:
    return (topic(n, 1, scope=BROKER), StopBroker(broker=BROKER, broker_id=SLAVE))


def _setting(evidence: Evidence, key: str, before: int) -> str:
    """Return the last value of a broker setting before an event."""
    changes = evidence.of(BrokerConfigChanged, since=0)
    values = [entry.event.changes[key] for entry in changes if entry.seq < before and key in entry.event.changes]
    return str(values[-1]) if values else SETTINGS[key]


def _slave_runs(evidence: Evidence, before: int) -> bool:
    moves: list[Seen[Any]] = [*evidence.of(BrokerStarted, since=0), *evidence.of(BrokerStopped, since=0)]
    mine = [
        row for row in sorted(moves) if (row.event.broker, row.event.broker_id) == (BROKER, SLAVE) and row.seq < before
    ]
    return bool(mine) and isinstance(mine[-1].event, BrokerStarted)


def _on_master(evidence: Evidence, sent: Seen[ActionTaken]) -> list[Seen[MessagesStored]]:
    """List the messages the master has stored since a send.  The topic may be new to it, or known to both masters."""
    return [entry for entry in stored_by(evidence, sent) if entry.event.broker == BROKER]


def _cut(evidence: Evidence) -> tuple[Seen[ActionTaken], Seen[UnflushedLost]] | Verdict:
    """Return the newest send and the power cut after it, or a verdict that names the missing part."""
    if not (sent := sends(evidence)):
        return Verdict.not_yet(_("No message has been sent to {topic} yet."))
    stops = evidence.of(BrokerStopped, since=sent[-1].seq, broker=BROKER, broker_id=0)
    killed = [entry for entry in stops if entry.event.how != "power_cut"]
    lost = evidence.of(UnflushedLost, since=sent[-1].seq, broker=BROKER)
    if killed and not lost:
        return Verdict.wrong(KILLED, rests_on=[killed[0]])
    if not lost:
        return Verdict.not_yet(_("{broker} is still powered on."))
    if not _on_master(evidence, sent[-1]):
        return Verdict.wrong(
            _("No message was stored before the power cut. Start {broker}, send again and cut its power again."),
            rests_on=[sent[-1], lost[0]],
        )
    return sent[-1], lost[0]


def _some_are_lost(evidence: Evidence) -> Verdict:
    if isinstance(cut := _cut(evidence), Verdict):
        return cut
    sent, lost = cut
    if _setting(evidence, "flush", lost.seq) != "ASYNC_FLUSH":
        return Verdict.wrong(_("{broker} uses SYNC_FLUSH: this step is about ASYNC_FLUSH."), rests_on=[lost])
    if not lost.event.answered:
        return Verdict.wrong(FLUSHED, rests_on=[sent, lost])
    return Verdict.met(
        _("{answered} messages were acknowledged with OK, and are lost."),
        answered=lost.event.answered,
        rests_on=[sent, lost],
    )


def _lost(evidence: Evidence) -> Truth:
    """Return the number of answered messages that the master no longer has."""
    cut = _cut(evidence)
    return Truth(0.0) if isinstance(cut, Verdict) else Truth(float(cut[1].event.answered), (cut[1].seq,))


def _any_lost(evidence: Evidence) -> Truth:
    lost = _lost(evidence)
    return Truth("some" if lost.value else "none", lost.rests_on)


def _none_is_lost(evidence: Evidence) -> Verdict:
    if isinstance(cut := _cut(evidence), Verdict):
        return cut
    sent, lost = cut
    if _setting(evidence, "flush", sent.seq) != "SYNC_FLUSH":
        return Verdict.wrong(STILL_ASYNC, rests_on=[sent, lost])
    stored = [entry for entry in _on_master(evidence, sent) if entry.seq < lost.seq]
    return Verdict.met(
        _("{stored} messages were stored; {answered} of those with an OK are lost."),
        stored=sum(entry.event.count for entry in stored),
        answered=lost.event.answered,
        rests_on=[sent, lost],
    )


def _gone(evidence: Evidence, sent: Seen[ActionTaken], lost: Seen[UnflushedLost]) -> set[tuple[str, int]]:
    """Return queue and offset of the messages that the master lost in the power cut, answered or not."""
    return {
        (queue_of(entry.event), entry.event.first_offset + number)
        for entry in _on_master(evidence, sent)
        if entry.seq < lost.seq and entry.event.physical_offset >= lost.event.from_offset
        for number in range(entry.event.count)
    }


def _kept(evidence: Evidence) -> Truth:
    """Return the number of lost messages that the new group received nevertheless."""
    if isinstance(cut := _cut(evidence), Verdict):
        return Truth(0.0)
    gone = _gone(evidence, *cut)
    rows = {
        (row.queue, row.offset): row.seq
        for row in evidence.deliveries_of(evidence.numbers["group"], since=cut[1].seq)
        if (row.queue, row.offset) in gone
    }
    return Truth(float(len(rows)), tuple(rows.values()))


def _slave_has_them(evidence: Evidence) -> Verdict:
    if isinstance(cut := _cut(evidence), Verdict):
        return cut
    sent, lost = cut
    if _setting(evidence, "flush", sent.seq) != "ASYNC_FLUSH" or (
        _setting(evidence, "replication", sent.seq) != "SYNC_MASTER"
    ):
        return Verdict.wrong(NOT_SET, rests_on=[sent])
    if not _slave_runs(evidence, lost.seq):
        return Verdict.wrong(
            _(
                "The slave of {broker} was not running, so it has no messages. Start both, send again and cut "
                "the power again."
            ),
            rests_on=[lost],
        )
    if not lost.event.answered:
        return Verdict.wrong(FLUSHED, rests_on=[sent, lost])
    if not (promoted := evidence.actions("PromoteSlave", since=lost.seq)):
        if back := evidence.of(BrokerStarted, since=lost.seq, broker=BROKER, broker_id=0):
            return Verdict.wrong(OLD_MASTER, rests_on=[lost, back[0]])
        return Verdict.not_yet(_("The slave is not the master yet."))
    kept = _kept(evidence)
    if float(str(kept.value)) < lost.event.answered:
        return Verdict.not_yet(
            _("{group} has {kept} of {answered} messages that the old master lost."),
            kept=f"{kept.value:g}",
            answered=lost.event.answered,
        )
    return Verdict.met(
        _("The old master lost {answered} messages with an OK, and {group} read them from the slave."),
        answered=lost.event.answered,
        rests_on=[sent, lost, promoted[0], *kept.rests_on],
    )


def _in_the_end(evidence: Evidence) -> Truth:
    lost, kept = _lost(evidence), _kept(evidence)
    missing = float(str(lost.value)) > float(str(kept.value))
    return Truth("some" if missing else "none", (*lost.rests_on, *kept.rests_on))


SEND = act(lambda n: SendMessages(topic=n["topic"], count=n["count"], rate_per_s=n["rate"], body_bytes=BODY_BYTES))
CUT = act(lambda n: PowerCut(broker=BROKER))
START = act(lambda n: StartBroker(broker=BROKER))


def _set(**changes: str) -> Acts:
    return act(lambda n: ChangeBroker(broker=BROKER, changes=changes))


def _replicate(**changes: str) -> Acts:
    start_slave = act(lambda n: StartBroker(broker=BROKER, broker_id=SLAVE))
    return START, start_slave, _set(flush="ASYNC_FLUSH", **changes), wait(15), SEND, wait(2), CUT, wait(10)


def _answered(hands: Hands) -> float:
    return hands.evidence.of(UnflushedLost)[-1].event.answered


SOLUTION = Solution(
    SolvedStep(before=wait(2), predict="some", do=(SEND, wait(2), CUT), within_s=10, say=_answered, why="memory"),
    SolvedStep(
        predict="none",
        do=(START, _set(flush="SYNC_FLUSH"), wait(12), SEND, wait(2), CUT),
        within_s=10,
        say=_answered,
        why="disk",
    ),
    SolvedStep(
        predict="none",
        do=(
            _replicate(replication="SYNC_MASTER"),
            act(lambda n: PromoteSlave(broker=BROKER, broker_id=SLAVE)),
            act(lambda n: member(n, from_where="CONSUME_FROM_FIRST_OFFSET", work_ms=(5, 10))),
        ),
        within_s=120,
        say=_answered,
        why="both",
    ),
)


KILLED = _(
    "The process of {broker} ended, but its machine kept running, and the page cache outlives a process. Start "
    "{broker}, send again and cut its power."
)
FLUSHED = _(
    "Every message was on disk: {broker} flushes within 10 s. Start it, send again, and cut its power within a "
    "few seconds."
)
STILL_ASYNC = _("{broker} still uses ASYNC_FLUSH. Start it, set SYNC_FLUSH, send and cut the power again.")
NOT_SET = _(
    "The OK did not wait for the slave. Start {broker}, set ASYNC_FLUSH and SYNC_MASTER, send and cut the power again."
)
OLD_MASTER = _(
    "The old master of {broker} is running again with the data on its disk, but the slave has more. Cut its "
    "power again and make the slave the master."
)
NO_MACHINE = _("Data flushed to a disk is lost if the machine never returns.")

FLUSH_AND_REPLICATE = Lab(
    slug="flush-and-replicate",
    number="14",
    minutes=12,
    template="replicas",
    title=_("Durability of an acknowledged message"),
    goal=_(
        "The producer received an OK, and then the power failed. Two settings decide whether the message still exists."
    ),
    draw=_draw,
    setup=_setup,
    allowed=frozenset(
        {
            "SendMessages",
            "PowerCut",
            "KillBroker",
            "StartBroker",
            "StopBroker",
            "ChangeBroker",
            "PromoteSlave",
            "StartConsumer",
        }
    ),
    steps=(
        Step(
            title=_("ASYNC_FLUSH without slave"),
            do=_(
                "The slave is stopped. Send {count} messages to {topic} at {rate} per second. About 2 seconds "
                "later, cut the power of {broker} (Topology)."
            ),
            watch=_('The flushed position of the log, on the Store page; then "lost" in the journal.'),
            mark="journal",
            page="store/",
            predict=Question(
                text=_("Will messages be lost for which the producer received an OK?"),
                kind=choice(none=_("none"), some=_("some")),
                right=_any_lost,
            ),
            check=_some_are_lost,
            say=Question(
                text=_("How many messages with an OK are lost?"),
                kind=Number(_("messages")),
                right=_lost,
                again=_('You wrote {given}; read "lost" in the journal again.'),
            ),
            why=Question(
                text=_("Where were the lost messages when the OK was sent?"),
                kind=choice(
                    memory=_("in the page cache of the machine"),
                    disk=_("on the disk of the machine"),
                    producer=_("on the producer"),
                ),
                right=lambda e: Truth("memory"),
                again=_("Messages on the disk are available again when {broker} starts."),
            ),
            hints=(_("With ASYNC_FLUSH the OK does not wait for the disk."),),
        ),
        Step(
            title=_("SYNC_FLUSH"),
            do=_(
                "Start {broker}, set SYNC_FLUSH, and wait about 10 seconds. Then send {count} messages and cut "
                "the power again."
            ),
            watch=_('The flushed position of the log, on the Store page; then "lost" in the journal.'),
            mark="journal",
            page="store/",
            predict=Question(
                text=_("Will messages be lost for which the producer received an OK?"),
                kind=choice(none=_("none"), some=_("some")),
                right=_any_lost,
            ),
            check=_none_is_lost,
            say=Question(
                text=_("How many messages with an OK are lost?"),
                kind=Number(_("messages")),
                right=_lost,
                again=_('You wrote {given}; read "lost" in the journal again.'),
            ),
            why=Question(
                text=_("What did each OK wait for?"),
                kind=choice(
                    disk=_("for its message to be on disk"),
                    slave=_("for a slave to receive the message"),
                    second=_("for one second"),
                ),
                right=lambda e: Truth("disk"),
                again=_("The slave is stopped."),
            ),
            hints=(_("The producer is slower now, and that is the price."),),
        ),
        Step(
            title=_("SYNC_MASTER"),
            do=_(
                "Start {broker} and its slave, set ASYNC_FLUSH and SYNC_MASTER, and wait about 10 seconds. Send "
                "{count} messages, cut the power of the master, and make the slave the master. Then start a "
                "consumer of {group} that begins at FIRST."
            ),
            watch=_('"lost" in the journal, then the messages that {group} receives.'),
            mark="journal",
            predict=Question(
                text=_("Will messages with an OK be missing in the end?"),
                kind=choice(none=_("none"), some=_("some")),
                right=_in_the_end,
            ),
            check=_slave_has_them,
            say=Question(
                text=_("How many messages with an OK did the old master lose?"),
                kind=Number(_("messages")),
                right=_lost,
                again=_('You wrote {given}; read "lost" in the journal again.'),
            ),
            why=Question(
                text=_("A machine loses power and never starts again. Which setting keeps every message with an OK?"),
                kind=choice(
                    both=_("SYNC_MASTER, with any flush mode"),
                    flush=_("SYNC_FLUSH, with any replication mode"),
                    any=_("either of them"),
                ),
                right=lambda e: Truth("both"),
                again=_("If the machine never starts again, only data on another machine remains."),
                misreadings=(Misreading(NO_MACHINE, chosen("flush")),),
            ),
            hints=(_("A slave that has just connected receives nothing for 5 s; then replication starts."),),
        ),
    ),
    solve=SOLUTION,
    wrong=(
        SOLUTION.wrong("kills", "a killed process loses messages", KILLED).at(
            1, do=(SEND, wait(2), act(lambda n: KillBroker(broker=BROKER)))
        ),
        SOLUTION.wrong("cuts late", "asynchronous means never flushed", FLUSHED).at(1, do=(SEND, wait(30), CUT)),
        SOLUTION.wrong("changes nothing", "an OK means on disk", STILL_ASYNC).at(
            2, do=(START, wait(12), SEND, wait(2), CUT)
        ),
        SOLUTION.wrong("async replication", "a running slave has every message", NOT_SET).at(
            3, do=_replicate(), within_s=0
        ),
        SOLUTION.wrong("old master", "the old master has everything that the slave has", OLD_MASTER).at(
            3, do=(_replicate(replication="SYNC_MASTER"), START), within_s=10
        ),
    ),
)
