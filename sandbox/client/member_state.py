"""What becomes of a member, told to the journal."""

from collections.abc import Mapping

from sandbox.client.offset_runs import Run
from sandbox.client.process_queue import ProcessQueue
from sandbox.journal.events import MemberStateChanged
from sandbox.journal.journal import Journal
from sandbox.message.queue import MessageQueue

NOT_FINISHING = ("hung", "stopping", "crashed")


def tell_state(
    journal: Journal, state: str, queues: Mapping[MessageQueue, ProcessQueue], *, group: str, client_id: str
) -> None:
    """A member that will not finish its messages, or not soon, says which they are."""
    unfinished: tuple[tuple[str, tuple[Run, ...]], ...] = ()
    if state in NOT_FINISHING:
        held = sorted(queues.items(), key=lambda item: item[0])
        unfinished = tuple((mq.key, pq.unfinished_runs()) for mq, pq in held if pq.has_unfinished)
    journal.write(MemberStateChanged(group=group, client_id=client_id, state=state, unfinished=unfinished))
