"""A real cluster in the engine: polled while it has viewers, shown like a sandbox, reset on request."""

from sandbox.attached.ask import answer
from sandbox.attached.changes import Changes
from sandbox.attached.channels import read_channel
from sandbox.attached.picture import RUNNING, Picture, ServerSeen
from sandbox.attached.polls import Polls
from sandbox.attached.reach import Reach
from sandbox.attached.resets import Resets
from sandbox.attached.settings import PREFIX, AttachedSettings
from sandbox.attached.snapshot import trouble, whole_cluster
from sandbox.attached.snapshot.findings_view import view_of
from sandbox.attached.watch import Watch
from sandbox.attached.wire import Wires
from sandbox.cluster.journal_files import page_from_memory
from sandbox.commands.reset.undo import UndoPoint
from sandbox.control.actions import Action
from sandbox.control.limits import AttachedLimits
from sandbox.control.questions import Question
from sandbox.control.readings import Bell, Entries, Reading
from sandbox.findings.history import History
from sandbox.findings.watch import FindingWatch
from sandbox.journal.events import Entry
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock
from sandbox.queries.rates import CommitRates, Rates
from sandbox.queries.rows.host import AttachedRow
from sandbox.queries.rows.snapshot import Snapshot

TEMPLATE = "attached"
RATE = 1.0  # the rate of a real cluster's clock


class AttachedCluster:
    """A real cluster.  It runs on the engine's loop, and has connections and tasks between `connect` and `close`.

    Its journal, in memory only, has the actions done here (resets: by which user, with which result) and the
    detected changes: nodes without answers, members that joined and left, lag over the mark.  It is lost when the
    engine stops.
    """

    def __init__(
        self, slug: str, settings: AttachedSettings, clock: Clock, limits: AttachedLimits, wires: Wires
    ) -> None:
        self.slug = slug
        self.settings = settings
        self.clock = clock
        self.limits = limits
        self.journal = Journal(clock, keep=limits.journal_entries, first_seq=1)
        self.watch = Watch(clock, limits.watched_s)
        self.resets = Resets(self.journal, clock)
        self.journal.subscribe(self.watch.ring)
        self._wires = wires
        self._wire = wires(settings)
        self._connects = 0
        self._begin()

    def _begin(self) -> None:
        self.picture = Picture(Rates(self.clock, self.limits.queues), CommitRates(self.clock, self.limits.queues))
        self.picture.servers = {
            address: ServerSeen(f"ns-{number}", address) for number, address in enumerate(self.settings.name_servers, 1)
        }
        self.reach = Reach(self.settings, self._wire.connector, self.clock, self.limits)
        self.findings, self._history = FindingWatch(self.journal), History()
        self._polls = Polls(
            self.reach,
            self.picture,
            self.watch,
            self.clock,
            self.limits,
            name=self.slug,
            changes=Changes(self.journal, self.picture, self.clock, self.limits),
            look=self._look_for_findings,
        )
        self._connects += 1
        self.epoch = f"{self.clock.now_ms():x}.{self._connects}"

    async def connect(self) -> None:
        """Poll all nodes for the first time.

        This does not raise for nodes that do not answer: they are polled again.
        """
        self.watch.look()
        await self._polls.start()

    async def look_again(self) -> None:
        """Poll all nodes, as `connect`, of a known cluster that had no viewer for a while."""
        await self._polls.look_again()
        self.watch.look()

    async def reconnect(self, settings: AttachedSettings) -> None:
        """Connect with other settings.  Known values are dropped, the journal stays."""
        await self._let_go()
        self.settings = settings
        self._wire = self._wires(settings)
        self._begin()
        await self.connect()
        self.watch.ring()

    async def close(self) -> None:
        self.resets.close()
        await self._let_go()
        self.watch.ring()

    async def _let_go(self) -> None:
        await self._polls.close()
        self.reach.close()
        await self._wire.close()

    # Reading.

    def row(self) -> AttachedRow:
        """Return the cluster's row in `status`."""
        states = [server.state for server in self.picture.servers.values()]
        states += [broker.state for broker in self.picture.brokers.values()]
        return {
            "slug": self.slug,
            "template": TEMPLATE,
            "preset": None,
            "state": trouble.state_of(self.picture),
            "watched": self.watch.watched,
            "failed": None,
            "epoch": self.epoch,
            "trouble": trouble.said(self._troubles()),
            "name_servers": list(self.settings.name_servers),
            "seen_ms": self.picture.seen_ms,
            "nodes": len(states),
            "answering": states.count(RUNNING),
        }

    def snapshot(self) -> Snapshot:
        """Return the snapshot of the cluster (catalogue 9).

        `sandbox.seen_ms`: the time of a node's last answer.  `sandbox.troubles`: patterns with their values.
        `asked_at` of a topic: the time when the ends of its queues were reported, in milliseconds.
        """
        self.watch.look()
        drawn = whole_cluster.draw(self.picture, self.limits, self.resets.causes, self.watch.groups)
        troubles = self._troubles()
        now_ms = self.clock.now_ms()
        return {
            "sandbox": {
                "slug": self.slug,
                "name": self.slug.removeprefix(PREFIX),
                "template": TEMPLATE,
                "preset": None,
                "state": trouble.state_of(self.picture),
                "expires_at": None,
                "trouble": trouble.said(troubles),
                "trouble_why": None,
                "seen_ms": self.picture.seen_ms,
                "troubles": [{"pattern": item.pattern, "values": item.values} for item in troubles],
            },
            "epoch": self.epoch,
            "seq": str(self.journal.next_seq - 1),
            "at_ms": now_ms,
            "wall_ms": now_ms,
            "machine_ms": now_ms,
            "rate": RATE,
            "reached_rate": None,
            "rate_pinned": True,
            **drawn,
        }

    def read(self, kind: str, rest: list[str]) -> Reading:
        """Return a reading of a live channel.  Raises ChannelUnknown.

        The read makes the polls refresh the channel's group or topic every second.
        """
        data = read_channel(self, kind, rest)
        return Reading(self.journal.next_seq - 1, self.clock.now_ms(), RATE, self.epoch, data)

    def entries(self, after: int, limit: int, *, facts_only: bool, longs_as_text: bool) -> Entries:
        self.watch.look()
        first = self.journal.first_in_memory
        entries = self.journal.since(max(first, min(after + 1, self.journal.next_seq)))
        return page_from_memory(
            entries, after, limit, first_seq=first, facts_only=facts_only, longs_as_text=longs_as_text
        )

    def tail(self) -> list[Entry]:
        """Return the journal's entries in memory.  A cluster has no journal files."""
        self.watch.look()
        return self.journal.tail()

    def subscribe(self, bell: Bell) -> None:
        self.watch.subscribe(bell)

    def unsubscribe(self, bell: Bell) -> None:
        self.watch.unsubscribe(bell)

    async def _look_for_findings(self) -> bool:
        if self.picture.seen_ms is None:
            return True  # no node has ever answered: nothing is known
        view, follows = view_of(self.picture, self.limits, self.resets.causes, self._history, self.clock.now_ms())
        self.findings.look(view, follows=follows)
        self.watch.ring()
        return True

    # Questions and actions.

    async def ask(self, question: Question) -> dict[str, object]:
        """Return the answer to a question.  Raises ActionRefused, or the errors of `sandbox.client.admin`."""
        self.watch.look()
        return await answer(self, question)

    async def act(self, action: Action, by: str, undo: UndoPoint | None = None) -> int:
        """Execute ResetOffsets, or UndoReset with the offsets in `undo`; return the seq of its ActionTaken.

        Raises as `ask` does.
        """
        self.watch.look()
        return await self.resets.act(self.reach, self.picture, action, by, undo)

    def _troubles(self) -> list[trouble.Trouble]:
        shown = {"brokers": self.limits.brokers, "topics": self.limits.topics, "groups": self.limits.groups}
        return trouble.troubles(self.picture, shown)
