"""A broker whose master does not run: its queues accept no message, and are read from a slave or not at all.

Only a master grants locks.  Members of an ordered group trust a lock for 30 s after its last renewal, and then process
no message of its queue, also where a slave has it (spec client-behaviour 5.4).
"""

from collections.abc import Iterator, Sequence

from sandbox.client.config import ClientConfig
from sandbox.findings import marks
from sandbox.findings.figure_tables import of_readers
from sandbox.findings.figures import BESIDE
from sandbox.findings.finding import BROKER, ERROR, Checked, Finding, Remedy, Said, Subject, say
from sandbox.findings.name_lists import listed
from sandbox.findings.reasons import ATTACHED
from sandbox.findings.rule import Rule
from sandbox.findings.view import ClusterView, GroupNow, QueueAt
from sandbox.kernel.sentences import Plural
from sandbox.queries.rows.board import DownMark
from sandbox.queries.rows.snapshot import BrokerRow

HOLD_MS = 4_000
DOWN = ("stopped", "killed", "hung", "power_cut", "unreachable")
TRUST_MS = ClientConfig.lock_max_live_ms
UNREAD, UNLOCKED, FROM_SLAVE = ("nobody",), ("no_lock",), ("slave", "slave_idle")

Down = tuple[GroupNow, QueueAt, DownMark]
"""A group's queue without a master."""


def find(view: ClusterView) -> Iterator[Finding]:
    for node, row in view.brokers.items():
        if row["role"] == "master" and row["state"] in DOWN:
            yield _finding(view, node, row)


def _finding(view: ClusterView, node: str, row: BrokerRow) -> Finding:
    queues = [
        (group, queue, mark)
        for group, queue in view.group_queues()
        if queue.broker == row["broker"] and (mark := queue.row["down"]) is not None
    ]
    shared = {(queue.topic, queue.name) for _, queue, _ in queues}
    consequences = tuple(_consequences(view, row, queues))
    counts = {name: value for sentence in consequences for name, value in sentence.values.items() if name in BESIDE}
    return Finding(
        CODE,
        ERROR,
        Subject(BROKER, node),
        (*consequences, *_stores(consequences, len(shared), _names(queues))),
        marks=tuple(marks.queue(topic, name) for topic, name in sorted(shared)),
        touches=frozenset(
            {
                f"broker {row['broker']}",
                *(f"group {group.name}" for group, _, _ in queues),
                *(f"queue {topic}/{name}" for topic, name in shared),
            }
        ),
        remedy=None
        if view.attached
        else Remedy(
            "resume" if row["state"] == "hung" else "start",
            "ResumeBroker" if row["state"] == "hung" else "StartBroker",
            {"broker": row["broker"]},
            say("runs", broker=row["broker"], queues=len(shared)),
        ),
        reason=ATTACHED if view.attached else "",
        figures=of_readers([(group, queue) for group, queue, _ in queues], beside=counts),
    )


def _consequences(view: ClusterView, row: BrokerRow, queues: Sequence[Down]) -> Iterator[Said]:
    """Yield the sentence with the worst consequence for the groups, and one for each of the others."""
    unread, unlocked, from_slave = (
        [each for each in queues if each[2]["reads"] in reads] for reads in (UNREAD, UNLOCKED, FROM_SLAVE)
    )
    broker, state = row["broker"], row["state"]

    def first(sentence: str, worst: Sequence[Down], **more: object) -> Said:
        return say(sentence, broker=broker, state=state, readers=_readers(worst), names=_names(worst), **more)

    if unread:
        yield first("unread_by", unread, waiting=_sum(mark["lag"] for _, _, mark in unread))
    elif unlocked:
        since_ms = min(mark["known_at_ms"] for _, _, mark in unlocked)
        if view.at_ms - since_ms < TRUST_MS:
            yield first("unlocked_by", unlocked, trust_ms=TRUST_MS)
        else:
            yield first("left_by", unlocked, waiting=_sum(mark["lag"] for _, _, mark in unlocked))
    elif from_slave:
        behind = _sum(mark["behind"] for _, _, mark in from_slave)
        yield first("behind_for", from_slave, behind=behind) if behind else first("from_slave", from_slave)
    else:
        yield say("down", broker=broker, state=state)
    if unread and unlocked:
        yield say("ordered", groups=len({group.name for group, _, _ in unlocked}), readers=_readers(unlocked))


def _stores(consequences: Sequence[Said], queues: int, names: str) -> Iterator[Said]:
    """Yield that the queues accept no message; their names only where the sentence before has others."""
    if queues and consequences[-1].values.get("names") == names:
        yield say("refuse", queues=queues)
    elif queues:
        yield say("stores", queues=queues, names=names)


def _readers(queues: Sequence[Down]) -> str:
    return listed(sorted({group.name for group, _, _ in queues}))


def _names(queues: Sequence[Down]) -> str:
    return listed(sorted({queue.name for _, queue, _ in queues if not queue.topic.startswith("%")}))


def _sum(counts: Iterator[str | None]) -> int:
    return sum(int(count or 0) for count in counts)


def checks(view: ClusterView) -> Checked:
    known = sum(row["state"] != "unknown" for row in view.brokers.values())
    return Checked(known, len(view.brokers))


CODE = "broker_down"
RULE = Rule(
    code=CODE,
    title="no master",
    hold_ms=HOLD_MS,
    of_moment=True,
    sentences={
        "down": "{broker} has no master ({state}).",
        "unread_by": Plural(
            "waiting",
            "{broker} has no master ({state}): {readers} cannot read {names}; {waiting} message waits.",
            "{broker} has no master ({state}): {readers} cannot read {names}; {waiting} messages wait.",
        ),
        "unlocked_by": (
            "{broker} has no master ({state}): {readers} cannot renew the locks of {names}; members stop there within "
            "{trust_ms}."
        ),
        "left_by": Plural(
            "waiting",
            "{broker} has no master ({state}): {readers} cannot lock {names}, so no member processes them; {waiting} "
            "message waits.",
            "{broker} has no master ({state}): {readers} cannot lock {names}, so no member processes them; {waiting} "
            "messages wait.",
        ),
        "from_slave": "{broker} has no master ({state}): {readers} can read {names} only from the slave.",
        "behind_for": Plural(
            "behind",
            "{broker} has no master ({state}): {readers} can read {names} only from the slave, which lacks {behind} "
            "message.",
            "{broker} has no master ({state}): {readers} can read {names} only from the slave, which lacks {behind} "
            "messages.",
        ),
        "stores": Plural(
            "queues",
            "{queues} queue of the broker accepts no message ({names}).",
            "{queues} queues of the broker accept no message ({names}).",
        ),
        "refuse": Plural("queues", "This queue accepts no message.", "These queues accept no message."),
        "ordered": Plural(
            "groups",
            "{groups} ordered group cannot renew its locks ({readers}). Only a master grants them.",
            "{groups} ordered groups cannot renew their locks ({readers}). Only a master grants them.",
        ),
        "runs": Plural(
            "queues",
            "{broker} runs again as master: its {queues} queue accepts messages, and is read from it.",
            "{broker} runs again as master: its {queues} queues accept messages, and are read from it.",
        ),
        "start": "Start {broker}…",
        "resume": "Resume {broker}…",
    },
    find=find,
    healthy="Every broker has a master",
    checks=checks,
    lab="master-dies",
    incident="lost-with-the-master",
)
