"""The steps of an index lookup, from a key to its messages."""

from sandbox.cluster.cluster import Cluster
from sandbox.control.questions import WalkIndex
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.questions.answers import answers
from sandbox.queries.rows.messages import message_row
from sandbox.store.index_walk_steps import EntryStep, FileWalk
from sandbox.store.message_store import MessageStore

Row = dict[str, object]


@answers(WalkIndex)
def walk(cluster: Cluster, question: WalkIndex) -> Row:
    """Return all steps of the lookup of a key on one broker.

    That is the named broker, else the first on which the lookup finds a message, else the first.  Raises
    ActionRefused (409) if no broker runs.
    """
    nodes = cluster.nodes.masters() if question.broker is None else [cluster.nodes.broker(question.broker)]
    if not nodes:
        raise ActionRefused(409, "No broker is running.", "Start a broker first.")
    walks = [
        (node, node.running.store.index.walk(question.topic, question.key, question.from_ms, question.to_ms))
        for node in nodes
    ]
    node, lookup = next(((node, lookup) for node, lookup in walks if _matches(lookup.files)), walks[0])
    store = node.running.store
    files = [_file(store, file) for file in lookup.files]
    messages = [row for physical in sorted(_matches(lookup.files)) if (row := _message(store, physical)) is not None]
    return {
        "broker": node.name,
        "topic": question.topic,
        "key": question.key,
        "text": lookup.text,
        "hash_signed": lookup.hash_signed,
        "hash": lookup.hash,
        "from_ms": question.from_ms,
        "to_ms": question.to_ms,
        "files": files,
        "found": messages,
        "ended": {"code": _ended(store, lookup.files, is_indexed=bool(messages)), "values": _values(lookup.files)},
        "scanned_instead": _messages_of(store, question.topic),
    }


def _messages_of(store: MessageStore, topic: str) -> int:
    """Return the number of messages that a search without an index would have to read."""
    return sum(
        store.max_offset(name, queue_id) - max(0, store.min_offset(name, queue_id))
        for name, queue_id in store.queues()
        if name == topic
    )


def _matches(files: tuple[FileWalk, ...]) -> list[int]:
    return [step.physical_offset for file in files for step in file.chain if step.verdict == "match"]


def _file(store: MessageStore, file: FileWalk) -> Row:
    return {
        "name": file.name,
        "begin_ms": file.begin_ms,
        "end_ms": file.end_ms,
        "searched": file.searched,
        "why": file.why,
        "slots": file.slots,
        "slot": file.slot,
        "slot_position": file.slot_position,
        "slot_value": file.slot_value,
        "chain": [_step(store, step) for step in file.chain],
    }


def _step(store: MessageStore, step: EntryStep) -> Row:
    return {
        "no": step.no,
        "position": step.position,
        "hash": step.hash,
        "physical": str(step.physical_offset),
        "time_diff_s": step.time_diff_s,
        "at_ms": step.at_ms,
        "previous": step.previous,
        "verdict": step.verdict,
        "message": _message(store, step.physical_offset),
    }


def _message(store: MessageStore, physical: int) -> Row | None:
    message = store.read_message(physical)
    return None if message is None else message_row(message)


def _ended(store: MessageStore, files: tuple[FileWalk, ...], *, is_indexed: bool) -> str:
    """Return the code of the step where the search ended, for the sentence of the page."""
    searched = [file for file in files if file.searched]
    if is_indexed:
        return "found"
    if not files:
        return "no_files"
    if not searched:
        return "no_file_in_range"
    steps = [step for file in searched for step in file.chain]
    if any(step.verdict == "other_key" for step in steps):
        return "only_collisions"
    if any(step.verdict in ("too_old", "too_new") for step in steps):
        return "left_window"
    if steps:
        return "only_other_hashes"
    if store.dispatched_offset < store.max_physical_offset:
        return "not_dispatched"
    return "slot_empty"


def _values(files: tuple[FileWalk, ...]) -> Row:
    searched = [file for file in files if file.searched]
    return {
        "slot": searched[0].slot if searched else None,
        "entries": sum(len(file.chain) for file in searched),
        "files": len(searched),
    }
