"""Membership: the viewers of a hub, their channels, and the sandboxes of these channels."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from sandbox.control.limits import SocketLimits
from sandbox.live.channel import Channel
from sandbox.live.fact_channel import FactChannel
from sandbox.live.socket_costs import Figures
from sandbox.live.viewer import Viewer, Watch

AnyChannel = Channel | FactChannel


class Membership:
    """The viewers and their channels.  No method awaits, so the tables agree with each other at each turn.

    `unwatched` is called with the slug of a sandbox whose last viewer has left, while none is joining.
    """

    def __init__(self, limits: SocketLimits, figures: Figures, unwatched: Callable[[str], None]) -> None:
        self._limits = limits
        self._figures = figures
        self._unwatched = unwatched
        self.viewers: dict[Viewer, None] = {}
        self.boards: dict[str, Channel] = {}
        self.facts: dict[str, FactChannel] = {}
        self._by_slug: dict[str, Counter[Viewer]] = {}  # slug -> its viewers -> how many of its channels each watches
        self._joining: Counter[str] = Counter()  # slug -> viewers that are joining

    @property
    def channels(self) -> list[AnyChannel]:
        return [*self.boards.values(), *self.facts.values()]

    def viewers_of(self, slug: str) -> Collection[Viewer]:
        return self._by_slug.get(slug, Counter())

    def sights(self) -> list[tuple[Viewer, str]]:
        """Return each viewer with each sandbox it watches."""
        return [(viewer, slug) for slug, viewers in self._by_slug.items() for viewer in viewers]

    @contextmanager
    def joining(self, slug: str) -> Iterator[None]:
        """Keep the sandbox as watched while a viewer joins one of its channels."""
        self._joining[slug] += 1
        try:
            yield
        finally:
            self._joining[slug] -= 1
            self._drop_unwatched(slug)

    def add_to_board(self, viewer: Viewer, name: str, slug: str) -> None:
        channel = self.boards.get(name)
        if channel is None:
            channel = self.boards[name] = Channel(name, slug, self._limits, self._figures)
        viewer.watches[name] = Watch()
        self._add(viewer, channel)

    def add_to_facts(self, viewer: Viewer, name: str, slug: str, after: int) -> None:
        """Add the viewer to a channel of facts.  Its next row is the one behind `after`, a seq."""
        channel = self.facts.get(name)
        if channel is None:
            channel = self.facts[name] = FactChannel(name, slug, self._figures)
        viewer.fact_cursors[name] = after
        self._add(viewer, channel)

    def _add(self, viewer: Viewer, channel: AnyChannel) -> None:
        if viewer not in channel.viewers:
            channel.viewers[viewer] = None
            self._by_slug.setdefault(channel.slug, Counter())[viewer] += 1
        channel.dirty = True

    def leave(self, viewer: Viewer, name: str) -> None:
        """Remove the viewer from a channel, and the channel with its last viewer."""
        viewer.watches.pop(name, None)
        viewer.fact_cursors.pop(name, None)
        table: dict[str, Channel] | dict[str, FactChannel] = self.facts if name in self.facts else self.boards
        channel = table.get(name)
        if channel is None or viewer not in channel.viewers:
            return
        del channel.viewers[viewer]
        if not channel.viewers:
            del table[name]
        viewers = self._by_slug[channel.slug]
        viewers[viewer] -= 1
        if not viewers[viewer]:
            del viewers[viewer]
        self._drop_unwatched(channel.slug)

    def _drop_unwatched(self, slug: str) -> None:
        if self._joining[slug]:
            return
        del self._joining[slug]
        if not self._by_slug.get(slug):
            self._by_slug.pop(slug, None)
            self._unwatched(slug)
