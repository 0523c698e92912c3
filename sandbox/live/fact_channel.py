"""The channel of facts, the only one with a history: facts after a given `seq`, in order, each once."""

from sandbox.control.channel_names import KINDS
from sandbox.journal.event_filter import Row
from sandbox.live import frames
from sandbox.live.socket_costs import Figures
from sandbox.live.viewer import Viewer

FACTS = "facts"
MOST_ROWS = 200  # in one frame, and of history at the beginning
NOT_SHOWN = frozenset({"Keyframe"})  # only replays read it, and it is large


class FactChannel:
    """The facts of one sandbox with the viewers' positions.

    Rows are encoded once for all viewers at the same position.
    """

    def __init__(self, name: str, slug: str, figures: Figures) -> None:
        self.name, self.slug = name, slug
        self.figures = figures
        self.viewers: dict[Viewer, None] = {}
        self.dirty = True
        self.read_at_s = float("-inf")
        self.interval_s = KINDS[FACTS].least_interval_s or 0.0

    def due_at_s(self) -> float | None:
        return self.read_at_s + self.interval_s if self.dirty and self.viewers else None

    @property
    def cursor(self) -> int:
        """The position of the viewer that is furthest behind."""
        return min(viewer.fact_cursors[self.name] for viewer in self.viewers)

    async def publish(self, rows: list[Row], next_seq: int) -> None:
        """Send each viewer the rows after its position."""
        shown = [row for row in rows if row["type"] not in NOT_SHOWN]
        encoded: dict[int, str] = {}
        for viewer in list(self.viewers):
            cursor = viewer.fact_cursors[self.name]
            viewer.fact_cursors[self.name] = max(cursor, next_seq - 1)
            start = next((i for i, row in enumerate(shown) if int(row["seq"]) > cursor), None)
            if start is None:
                continue
            if start not in encoded:
                encoded[start] = frames.facts(self.name, shown[start:])
                self.figures.encoded += 1
            self.figures.facts_sent(frames.size_of(encoded[start]))
            await viewer.send(encoded[start])
