"""Held pulls: pulls that found no message and wait for one, or for their timeout."""

from collections import Counter
from collections.abc import Callable

from sandbox.broker.consumers import tags_bytes
from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.message.filter import MessageFilter, TagFilter
from sandbox.message.queue import MessageQueue
from sandbox.message.topic_names import SCHEDULE_TOPIC
from sandbox.remoting.channel import Channel

Key = tuple[str, int]  # topic, queue id
MAX_HELD_BYTES = 64 * 1024 * 1024  # of all held pulls, estimated
PULL_BYTES = 2_048  # of one without its texts


class HeldPull:
    """Pull that the broker holds.  `retry` answers its client in any case.

    `due_ms` is its timeout; the answer comes with the first scan (every 5 s) after that.
    """

    __slots__ = ("channel", "client_id", "due_ms", "group", "mq", "offset", "retry", "since_ms", "size_bytes", "wanted")

    def __init__(
        self,
        *,
        group: str,
        mq: MessageQueue,
        client_id: str,
        offset: int,
        wanted: MessageFilter | None,
        channel: Channel,
        since_ms: int,
        due_ms: int,
        retry: Callable[["HeldPull"], None],
        size_bytes: int = PULL_BYTES,
    ) -> None:
        """Create a held pull.  `size_bytes`: its estimated memory without that of `wanted`."""
        self.group = group
        self.mq = mq
        self.client_id = client_id
        self.offset = offset
        self.wanted = wanted
        self.channel = channel
        self.since_ms = since_ms
        self.due_ms = due_ms
        self.retry = retry
        self.size_bytes = size_bytes


class PullRequestHoldService:
    """Held pulls, retried when a matching message arrives and at scans for timeouts and new messages.

    RocketMQ: `PullRequestHoldService` (spec broker-behaviour 3.4).
    """

    def __init__(self, clock: Clock, max_offset: Callable[[str, int], int], *, scan_ms: int) -> None:
        self._clock = clock
        self._max_offset = max_offset
        self._scan_ms = scan_ms
        self._held: dict[Key, list[HeldPull]] = {}
        self._pulls_of: Counter[Channel] = Counter()
        self._pulls_with: Counter[int] = Counter()  # by the id of their filter, which several may share
        self._held_bytes = 0
        self._timer: TimerHandle | None = None

    def start(self) -> None:
        self._timer = self._clock.call_later(self._scan_ms / 1000, self._scan_on)

    def stop(self) -> None:
        """Drop every held pull; the connections of their clients close."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._held.clear()
        self._pulls_of.clear()
        self._pulls_with.clear()
        self._held_bytes = 0

    @property
    def held(self) -> list[HeldPull]:
        """Held pulls, ordered by queue and then by arrival."""
        return [pull for key in sorted(self._held) for pull in self._held[key]]

    def __contains__(self, key: object) -> bool:
        """Return True if a pull waits for this queue.  (The delay service always waits for its own.)"""
        return key in self._held or (isinstance(key, tuple) and key[0] == SCHEDULE_TOPIC)

    def suspend(self, pull: HeldPull) -> bool:
        """Hold a pull; return False if too many are held already, so that it must be answered now."""
        more_bytes = pull.size_bytes + (0 if id(pull.wanted) in self._pulls_with else _filter_bytes(pull.wanted))
        if self._held_bytes + more_bytes > MAX_HELD_BYTES:
            return False
        self._held_bytes += more_bytes
        self._pulls_of[pull.channel] += 1
        self._pulls_with[id(pull.wanted)] += 1
        self._held.setdefault((pull.mq.topic, pull.mq.queue_id), []).append(pull)
        return True

    def drop(self, channel: Channel) -> None:
        """Drop the pulls of a closed connection."""
        if channel not in self._pulls_of:
            return
        for key in [key for key, pulls in self._held.items() if any(pull.channel is channel for pull in pulls)]:
            self._release([pull for pull in self._held[key] if pull.channel is channel])
            self._keep(key, [pull for pull in self._held[key] if pull.channel is not channel])

    def notify_message_arriving(
        self, topic: str, queue_id: int, next_offset: int, tags_code: int, properties: dict[str, str] | None = None
    ) -> None:
        """Retry the pulls that wait for a message like this one; `next_offset` is the queue's new end."""
        now_ms = self._clock.now_ms()

        def concerned(pull: HeldPull) -> bool:
            news = next_offset > pull.offset and _matches(pull.wanted, tags_code, properties)
            return news or now_ms >= pull.due_ms

        self._try_again((topic, queue_id), concerned)

    def scan(self) -> None:
        """Check every queue: retry pulls for which the queue has a newer message, and those past their timeout."""
        now_ms = self._clock.now_ms()
        for key in sorted(self._held):
            self._scan_queue(key, self._max_offset(*key), now_ms)

    def _scan_queue(self, key: Key, newest: int, now_ms: int) -> None:
        self._try_again(key, lambda pull: newest > pull.offset or now_ms >= pull.due_ms)

    def _scan_on(self) -> None:
        self._timer = self._clock.call_later(self._scan_ms / 1000, self._scan_on)
        self.scan()

    def _try_again(self, key: Key, due: Callable[[HeldPull], bool]) -> None:
        pulls = self._held.get(key, [])
        ready: list[HeldPull] = []
        kept: list[HeldPull] = []
        for pull in pulls:
            (ready if due(pull) else kept).append(pull)
        if ready:  # removed first: a retry may read the table
            self._release(ready)
            self._keep(key, kept)
            for pull in ready:
                pull.retry(pull)

    def _release(self, pulls: list[HeldPull]) -> None:
        for pull in pulls:
            self._held_bytes -= pull.size_bytes
            self._pulls_of[pull.channel] -= 1
            if not self._pulls_of[pull.channel]:
                del self._pulls_of[pull.channel]
            self._pulls_with[id(pull.wanted)] -= 1
            if not self._pulls_with[id(pull.wanted)]:
                del self._pulls_with[id(pull.wanted)]
                self._held_bytes -= _filter_bytes(pull.wanted)

    def _keep(self, key: Key, pulls: list[HeldPull]) -> None:
        if pulls:
            self._held[key] = pulls
        else:
            del self._held[key]


def _filter_bytes(message_filter: MessageFilter | None) -> int:
    """Return the estimated memory of a filter; SQL expressions count as 0, because they are short."""
    return tags_bytes(message_filter.tags, message_filter.codes or ()) if isinstance(message_filter, TagFilter) else 0


def _matches(message_filter: MessageFilter | None, tags_code: int, properties: dict[str, str] | None) -> bool:
    if message_filter is None:
        return True
    if message_filter.codes is not None and tags_code not in message_filter.codes:
        return False
    return not message_filter.by_properties or properties is None or message_filter.wants(properties)
