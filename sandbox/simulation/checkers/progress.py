"""The progress of each group in each queue, computed from the journal's events in order."""

from collections.abc import Iterable
from operator import attrgetter

from sandbox.journal.events import (
    Entry,
    MessageDeadLettered,
    MessageRetried,
    MessagesConsumed,
    MinOffsetMoved,
    OffsetsReset,
    PullAnswered,
)
from sandbox.message.queue import MessageQueue
from sandbox.simulation.observed import Ack, Inventory, Observed, Place, PowerLoss, wants
from sandbox.simulation.setup import TOPIC, GroupShape

SUCCESS, SENT_BACK, SKIPPED = "success", "sent back", "skipped"
ENDLESS = 1 << 62


class Progress:
    """The progress of one group in one queue: the outcome of each offset, and the first offset that is still open."""

    def __init__(self, group: GroupShape, queue: MessageQueue, holds: Inventory | None) -> None:
        self._group = group
        self._queue = queue
        self.holds = holds  # the queue's messages, until the next power cut
        self._open = 0
        self.unpromised_from = ENDLESS  # from here on a reader of a slave that has diverged may miss messages
        self._skipped_to = 0
        self.pulled = 0
        self.done: dict[int, str] = {}

    def handle(self, offset: int, how: str) -> None:
        """Record the outcome of an offset.

        A skipped offset stays skipped: a later success belongs to a message that no longer exists.
        """
        if self.done.get(offset) not in (SUCCESS, SKIPPED):
            self.done[offset] = how

    def skip_to(self, offset: int) -> None:
        """Mark all offsets below `offset` as no longer open for the group."""
        self._skipped_to = max(self._skipped_to, offset)

    def how(self, offset: int) -> str | None:
        promised = self._skipped_to <= offset < self.unpromised_from
        return self.done.get(offset, None if promised else SKIPPED)

    def is_visible(self, offset: int) -> bool:
        """Return True if the group subscribes to the message at the offset, or if the message is unknown."""
        stored = self.holds.messages.get((self._queue, offset)) if self.holds is not None else None
        return stored is None or wants(self._group, self._queue.topic, stored.tags)

    def first_open(self, beside: frozenset[int] = frozenset()) -> int:
        """Return the smallest open offset.  Offsets in `beside` count as done."""
        at = self._open = self._passed(self._open, frozenset())
        return self._passed(at, beside) if beside else at

    def _passed(self, at: int, beside: frozenset[int]) -> int:
        at = max(at, self._skipped_to)
        while at in self.done or at in beside or not self.is_visible(at):
            at += 1
        return at if at < self.unpromised_from else ENDLESS


class Book:
    """The progress of all clustering groups, updated by `take` in journal order."""

    def __init__(self, observed: Observed) -> None:
        self._groups = {group.name: group for group in observed.setup.counting}
        self._by_key: dict[str, list[Place]] = {}
        for position, known in observed.places().items():
            for stored in known:
                self._by_key.setdefault(stored.unique_key, []).append(position)
        self._losses: list[PowerLoss] = sorted(observed.losses, key=attrgetter("at_ms"))
        self._retries: list[Ack] = sorted(
            (ack for ack in observed.acks if ack.queue.topic.startswith("%RETRY%")), key=attrgetter("at_ms")
        )
        self._holds: dict[str, list[Inventory]] = {
            name: [inventory] for name, inventory in observed.final.masters.items()
        }
        for loss in reversed(self._losses):
            self._holds.setdefault(loss.node, []).insert(0, loss.before)
        self._diverged = {slave.partition(".")[0] for slave in observed.diverged()}
        self._diverging: dict[str, PowerLoss] = {}  # broker → first cut that its slave may have diverged by
        self.pages: dict[tuple[str, MessageQueue], Progress] = {}

    def page(self, group: str, queue: MessageQueue) -> Progress | None:
        shape = self._groups.get(group)
        if shape is None or queue.topic not in (TOPIC, f"%RETRY%{group}"):
            return None
        page = self.pages.get((group, queue))
        if page is None:
            page = self.pages[group, queue] = Progress(shape, queue, self._held(queue))
            page.unpromised_from = self._unpromised_from(queue)
        return page

    def _held(self, queue: MessageQueue) -> Inventory | None:
        holds = self._holds.get(queue.broker)
        return holds[0] if holds else None

    def _unpromised_from(self, queue: MessageQueue) -> int:
        """Return the offset from which the queue's master has lost messages that its slave may still have.

        From there on, a member that reads from the slave may miss messages.
        """
        loss = self._diverging.get(queue.broker)
        ends = loss.after.ends.get(queue) if loss is not None else None
        return ENDLESS if loss is None else ends.high if ends is not None else 0

    def take(self, entry: Entry) -> None:
        """Record the outcomes that an event reports, and the acknowledgements and power cuts before it."""
        while self._retries and self._retries[0].at_ms <= entry.at_ms:
            self._sent_to_retry_topic(self._retries.pop(0))
        while self._losses and self._losses[0].at_ms <= entry.at_ms:
            self._given_back(self._losses.pop(0))
        event = entry.event
        if isinstance(event, MessagesConsumed):
            if event.outcome == "SUCCESS":
                self._note(event, event.offsets, SUCCESS)
        elif isinstance(event, MessageRetried):
            if event.target == "broker":
                self._note(event, (event.offset,), SENT_BACK)
        elif isinstance(event, MessageDeadLettered):
            self._note(event, (event.offset,), SENT_BACK)
        elif isinstance(event, PullAnswered):
            page = self.page(event.group, MessageQueue(event.topic, event.broker, event.queue_id))
            if page is not None:
                page.pulled = max(page.pulled, event.next_offset)
        elif isinstance(event, OffsetsReset):
            for key, _, after in event.rows:
                page = self.page(event.group, MessageQueue.from_key(key))
                if page is not None:
                    page.skip_to(after)
        elif isinstance(event, MinOffsetMoved):
            for group in self._groups:
                page = self.page(group, MessageQueue(event.topic, event.broker, event.queue_id))
                if page is not None:
                    page.skip_to(event.offset)

    def _note(
        self, event: MessagesConsumed | MessageRetried | MessageDeadLettered, offsets: Iterable[int], how: str
    ) -> None:
        page = self.page(event.group, MessageQueue(event.topic, event.broker, event.queue_id))
        if page is not None:
            for offset in offsets:
                page.handle(offset, how)

    def _sent_to_retry_topic(self, ack: Ack) -> None:
        """Record a retry by a normal send, which is visible only on the wire (spec client-behaviour 8)."""
        group = ack.queue.topic.removeprefix("%RETRY%")
        for queue, offset in self._by_key.get(ack.unique_key, ()):
            page = self.page(group, queue)
            if page is not None:
                page.handle(offset, SENT_BACK)

    def _given_back(self, loss: PowerLoss) -> None:
        """Record a power cut.

        The broker assigns lost offsets again, and consumers that had pulled them continue after them.  RocketMQ's
        consumers count offsets, not messages; an offset above the queue's end is corrected only while it is above
        (spec broker-behaviour 3.2, OFFSET_OVERFLOW_BADLY).
        """
        if loss.node in self._diverged:
            self._diverging.setdefault(loss.node, loss)
        if loss.node in self._holds:
            self._holds[loss.node].pop(0)
        for (_, queue), page in self.pages.items():
            if queue.broker != loss.node:
                continue
            page.holds = self._held(queue)
            page.unpromised_from = min(page.unpromised_from, self._unpromised_from(queue))
            was = loss.before.ends.get(queue)
            now = loss.after.ends.get(queue)
            if was is not None:
                for offset in range(now.high if now is not None else 0, min(was.high, page.pulled)):
                    page.handle(offset, SKIPPED)
