"""Pulls that found nothing, waiting for a message or for their patience to end."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.message.queue import MessageQueue
from sandbox.remoting.channel import Channel

Key = tuple[str, int]  # topic, queue id


class Wanted(Protocol):
    """The part of a message filter the hold service asks: may a message with this code be wanted?"""

    def matches_code(self, tags_code: int) -> bool: ...


class HeldPull:
    """One parked pull.  `retry` answers its client, whatever the answer then is.

    `due_ms` is the end of its patience; the answer comes with the first scan (every 5 s) after that.
    """

    __slots__ = ("channel", "client_id", "due_ms", "group", "mq", "offset", "retry", "since_ms", "wanted")

    def __init__(self, *, group: str, mq: MessageQueue, client_id: str, offset: int, wanted: Wanted | None,
                 channel: Channel, since_ms: int, due_ms: int, retry: Callable[["HeldPull"], None]) -> None:
        self.group = group
        self.mq = mq
        self.client_id = client_id
        self.offset = offset
        self.wanted = wanted
        self.channel = channel
        self.since_ms = since_ms
        self.due_ms = due_ms
        self.retry = retry


class PullRequestHoldService:
    """Wakes parked pulls by arrival (if the tag matches) and by a scan that looks at every queue and at the time.

    Arrivals are noted while the store dispatches and acted upon by `wake`, once per turn, so that a
    woken pull finds all that arrived in the turn.  RocketMQ: `PullRequestHoldService` (spec broker-behaviour 3.4).
    """

    def __init__(self, clock: Clock, max_offset: Callable[[str, int], int], *, scan_ms: int) -> None:
        self._clock = clock
        self._max_offset = max_offset
        self._scan_ms = scan_ms
        self._held: dict[Key, list[HeldPull]] = {}
        self._arrived: dict[Key, list[tuple[int, int]]] = {}  # next offset, tags code
        self._timer: TimerHandle | None = None

    def start(self) -> None:
        self._timer = self._clock.call_later(self._scan_ms / 1000, self._scan_on)

    def stop(self) -> None:
        """Forget every parked pull; their clients see the connection close."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._held.clear()
        self._arrived.clear()

    @property
    def held(self) -> list[HeldPull]:
        """Every parked pull, by queue and then by arrival."""
        return [pull for key in sorted(self._held) for pull in self._held[key]]

    def suspend(self, pull: HeldPull) -> None:
        self._held.setdefault((pull.mq.topic, pull.mq.queue_id), []).append(pull)

    def drop(self, channel: Channel) -> None:
        """Its client is gone; nobody would hear the answer."""
        for key in [key for key, pulls in self._held.items() if any(pull.channel is channel for pull in pulls)]:
            self._keep(key, [pull for pull in self._held[key] if pull.channel is not channel])

    def notify_message_arriving(self, topic: str, queue_id: int, next_offset: int, tags_code: int, _store_ms: int,
                                _properties: Mapping[str, str] | Any = None) -> None:
        """A message became readable: its queue now ends at `next_offset`."""
        key = (topic, queue_id)
        if key in self._held:
            self._arrived.setdefault(key, []).append((next_offset, tags_code))

    def wake(self) -> None:
        """Try the pulls again that the arrivals of this turn concern."""
        if not self._arrived:
            return
        arrived, self._arrived = self._arrived, {}
        now_ms = self._clock.now_ms()
        for key, messages in arrived.items():
            self._try_again(key, lambda pull, new=messages: now_ms >= pull.due_ms or _concerns(pull, new))

    def scan(self) -> None:
        """Look at every queue: news of any tag wakes, and so does the end of patience."""
        now_ms = self._clock.now_ms()
        for key in sorted(self._held):
            newest = self._max_offset(*key)
            self._try_again(key, lambda pull, newest=newest: newest > pull.offset or now_ms >= pull.due_ms)

    def _scan_on(self) -> None:
        self._timer = self._clock.call_later(self._scan_ms / 1000, self._scan_on)
        self.scan()

    def _try_again(self, key: Key, due: Callable[[HeldPull], bool]) -> None:
        pulls = self._held.get(key, [])
        ready = [pull for pull in pulls if due(pull)]
        if ready:  # taken out first: a retry may look at what is held
            self._keep(key, [pull for pull in pulls if pull not in ready])
            for pull in ready:
                pull.retry(pull)

    def _keep(self, key: Key, pulls: list[HeldPull]) -> None:
        if pulls:
            self._held[key] = pulls
        else:
            del self._held[key]


def _concerns(pull: HeldPull, messages: list[tuple[int, int]]) -> bool:
    wanted = pull.wanted
    return any(next_offset > pull.offset and (wanted is None or wanted.matches_code(tags_code))
               for next_offset, tags_code in messages)
