"""The times in which queues had no reader, computed from the journal of a run.

The reader of a queue is the member that acquired it last, while that member runs.  A member that hangs reads nothing.
Queues that no member of the group has acquired yet are not counted.
"""

from collections.abc import Collection
from typing import NamedTuple

from sandbox.journal.schema import Row

CHANGES = ("SandboxSlept", "SandboxWoken", "MemberStateChanged", "QueueTaken", "QueueDropped")
ENDED = ("stopping", "stopped", "crashed", "refused")


class ReaderGaps(NamedTuple):
    """The number of queues that had no reader at some time, and the longest such time.  `queue`: where that was."""

    queues: int
    longest_ms: int
    queue: str
    group: str


Queue = tuple[str, str, str, int]  # group, topic, broker, queue


class _Readers:
    def __init__(self, groups: Collection[str]) -> None:
        self._groups = groups
        self._owners: dict[Queue, str | None] = {}
        self._states: dict[tuple[str, str], str] = {}
        self.shared = False  # two processes had one client id, which events do not distinguish

    def apply(self, row: Row) -> None:
        kind = row["type"]
        if kind in ("SandboxSlept", "SandboxWoken"):
            self._states.clear()
            self._owners = dict.fromkeys(self._owners)
        elif row.get("group") not in self._groups:
            return
        elif kind == "MemberStateChanged":
            self._become((row["group"], row["client_id"]), row["state"])
        elif kind in ("QueueTaken", "QueueDropped") and not row["topic"].startswith("%"):
            queue = (row["group"], row["topic"], row["broker"], row["queue_id"])
            if kind == "QueueTaken":
                self._owners[queue] = row["client_id"]
            elif self._owners.get(queue) == row["client_id"]:
                self._owners[queue] = None

    def _become(self, member: tuple[str, str], state: str) -> None:
        self.shared = self.shared or (state == "starting" and self._states.get(member, "stopped") not in ENDED)
        self._states[member] = state
        if state in ENDED:
            for queue, owner in self._owners.items():
                if (queue[0], owner) == member:
                    self._owners[queue] = None

    def unread(self) -> set[Queue]:
        return {
            queue
            for queue, owner in self._owners.items()
            if owner is None or self._states.get((queue[0], owner)) == "hung"
        }


def reader_gaps(rows: list[Row], since: int, groups: Collection[str], ends_ms: int) -> ReaderGaps | None:
    """Return the gaps from event `since` to `ends_ms` in the queues of these groups.

    None: unknown, because two processes had one client id.
    """
    readers, begun_ms = _Readers(groups), dict[Queue, int]()
    gaps: list[tuple[int, Queue]] = []
    for row in rows:
        readers.apply(row)
        if row["seq"] < since or (row["seq"] > since and row["type"] not in CHANGES):
            continue
        unread = readers.unread()
        gaps += [(row["at_ms"] - begun_ms.pop(queue), queue) for queue in begun_ms.keys() - unread]
        for queue in unread:
            begun_ms.setdefault(queue, row["at_ms"])
    if readers.shared:
        return None
    gaps += [(ends_ms - at_ms, queue) for queue, at_ms in begun_ms.items()]
    gaps = [gap for gap in gaps if gap[0] > 0]
    longest_ms, (group, topic, broker, queue_id) = max(gaps, default=(0, ("", "", "", 0)))
    return ReaderGaps(len({queue for _, queue in gaps}), longest_ms, f"{topic}/{broker}/{queue_id}", group)
