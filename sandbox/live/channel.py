"""A live board with all its viewers: read once, compared once, encoded once."""

from collections.abc import Sized

from sandbox.control.channel_names import KINDS, ChannelUnknown, parse_channel
from sandbox.control.limits import SocketLimits
from sandbox.control.readings import Reading
from sandbox.live import frames
from sandbox.live.socket_costs import Figures
from sandbox.live.viewer import Viewer

MANY_QUEUES = 16
MANY_QUEUES_INTERVAL_S = 0.1
LONGEST_INTERVAL_S = 0.5  # two frames a second, however large they are
IDLE_REREAD_S = 1.0  # some figures fall without an event: rates, ages


def slug_of(name: str) -> str | None:
    """Return the sandbox in a channel's name, or None if the name is not a channel of a sandbox."""
    try:
        kind, slug, _ = parse_channel(name)
    except ChannelUnknown:
        return None
    return slug if KINDS[kind].least_interval_s else None


class Channel:
    """A watched board.  `publish` sends each viewer a delta, the newest snapshot, or nothing."""

    def __init__(
        self, name: str, slug: str, limits: SocketLimits, figures: Figures, *, least_s: float | None = None
    ) -> None:
        self.name, self.slug = name, slug
        self.limits = limits
        self.figures = figures
        self.viewers: dict[Viewer, None] = {}  # a set that keeps its order
        self.dirty = True
        self.read_at_s = float("-inf")
        self.waits_from_s: float | None = None  # to be read, since then
        if least_s is None:
            least_s = KINDS[name.partition("/")[0]].least_interval_s or 0.0
        self.least_s = self.interval_s = least_s
        self._n = 0
        self._reading: Reading | None = None
        self._snapshot: str | None = None

    def due_at_s(self) -> float | None:
        """Return the time of the next read, or None if no viewer looks.

        Each viewer may cause reads up to `read_ms_per_s`; the read waits until one of them is below it.
        """
        served_s = min([viewer.served_from_s for viewer in self.lookers], default=None)
        if served_s is None:
            return None
        return max(served_s, self.read_at_s + (self.interval_s if self.dirty else max(self.interval_s, IDLE_REREAD_S)))

    def cost(self, now_s: float) -> float:
        """Return the lowest recent cost among the viewers who look."""
        return min((viewer.cost(now_s) for viewer in self.lookers), default=0.0)

    @property
    def lookers(self) -> list[Viewer]:
        return [viewer for viewer in self.viewers if not viewer.hidden]

    async def publish(self, reading: Reading, now_s: float) -> str | None:
        """Send the changes to the viewers.  Return the reason if the channel must end instead."""
        before = self._reading if self._reading is not None and self._reading.epoch == reading.epoch else None
        fresh = before is None
        difference = frames.Delta({}, {}) if before is None else frames.changes(before.data, reading.data)
        pace_changed = before is not None and frames.pace(before) != frames.pace(reading)
        moved = fresh or bool(difference) or pace_changed
        if moved:
            self._n += 1
            self._snapshot = None
        self._reading = reading
        delta = self._delta(reading, difference, pace_changed=pace_changed) if moved and not fresh else None
        if moved:
            self._set_interval(reading.data.get("queues", ()), frames.size_of(delta) if delta is not None else 0)
        for viewer in list(self.viewers):
            watch = viewer.watches[self.name]
            if moved and delta is None:
                watch.behind = True
            if not moved and not watch.behind:
                continue
            if not viewer.wants(watch, now_s):
                watch.behind = watch.behind or moved
            elif watch.behind:
                text = self.snapshot()
                size_bytes = frames.size_of(text)
                if size_bytes > self.limits.snapshot_bytes:
                    return "too_large"
                self.figures.snapshot_sent(size_bytes, again=watch.sent_at_s > float("-inf"))
                watch.behind = False
                watch.sent(self._n, now_s)
                await viewer.send(text)
            elif delta is not None:
                watch.sent(self._n, now_s)
                self.figures.delta_sent(frames.size_of(delta))
                await viewer.send(delta)
        return None

    def snapshot(self) -> str:
        """Return the newest board as a message, encoded at most once for all viewers."""
        if self._snapshot is None:
            assert self._reading is not None, "nothing was published yet"
            self._snapshot = frames.snap(self.name, self._n, self._reading)
            self.figures.encoded += 1
        return self._snapshot

    def _delta(self, reading: Reading, difference: frames.Delta, *, pace_changed: bool) -> str | None:
        """Return the encoded delta, or None if every viewer gets the snapshot.

        That is so if no viewer can use a delta, or if it is too large.
        """
        if all(viewer.watches[self.name].behind or viewer.hidden for viewer in self.viewers):
            return None
        self.figures.encoded += 1
        text = frames.delta(self.name, self._n, reading, difference, pace_changed=pace_changed)
        return text if frames.size_of(text) <= self.limits.frame_bytes else None

    def _set_interval(self, queues: Sized, size_bytes: int) -> None:
        """Set the interval between reads: the board's shortest one, longer for large deltas.

        This limits the bytes per second of a viewer.
        """
        if self.name.startswith("board/"):
            many = len(queues) > MANY_QUEUES
            least_s = MANY_QUEUES_INTERVAL_S if many else self.least_s
            self.interval_s = min(LONGEST_INTERVAL_S, max(least_s, size_bytes / self.limits.board_bytes_per_s))
