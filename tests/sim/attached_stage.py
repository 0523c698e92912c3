"""An engine's attached clusters in a world: its brokers and name servers are the real cluster that is looked at."""

from typing import Any

from sandbox.attached.cluster import AttachedCluster
from sandbox.attached.clusters import Clusters
from sandbox.attached.settings import AttachedSettings
from sandbox.attached.wire import Wire
from sandbox.commands.reset.undo import UndoPoint
from sandbox.control.actions import parse_action
from sandbox.control.channel_names import split_channel
from sandbox.control.limits import AttachedLimits
from sandbox.control.questions import parse_question
from sandbox.control.readings import Reading
from sandbox.remoting.command import RemotingCommand
from sandbox.simulation.world import World

SLUG = "k.prod"
IP = "10.0.7.7"  # where the engine's connections come from


class CountingBell:
    def __init__(self) -> None:
        self.rung = 0

    def ring(self) -> None:
        self.rung += 1


class Office:
    """Attaches the world's own nodes, and asks of them what pages ask.  Every verb takes its time."""

    def __init__(self, world: World, *, limits: AttachedLimits | None = None) -> None:
        self.world = world
        self.asked: list[tuple[str, int]] = []  # address and code of every request of the engine
        world.cluster.network.tap = self._note
        self.clusters = Clusters(world.environment.wall, limits, wires=self._wire)

    def _wire(self, settings: AttachedSettings) -> Wire:
        async def closed() -> None:
            return None

        return Wire(self.world.cluster.network.connector(IP), closed)

    def _note(self, sender: str, receiver: str, command: RemotingCommand) -> None:
        if sender.startswith(IP) and not command.is_response:
            self.asked.append((receiver, int(command.code)))

    @property
    def name_servers(self) -> tuple[str, ...]:
        return tuple(node.record.address for node in self.world.cluster.nodes.name_servers)

    @property
    def cluster(self) -> AttachedCluster:
        return self.clusters.get(SLUG)

    def attach(self, *name_servers: str, **more: Any) -> dict[str, Any]:
        settings = AttachedSettings(name_servers or self.name_servers, **more)
        return self._run(self.clusters.attach(SLUG, settings))

    def snapshot(self) -> dict[str, Any]:
        return self.cluster.snapshot()

    def group(self, name: str) -> dict[str, Any]:
        return next(group for group in self.snapshot()["groups"] if group["group"] == name)

    def read(self, channel: str) -> dict[str, Any]:
        """A board without the slug, with what the polls heard within the seconds after it was looked at."""
        self.glance(channel)
        self.world.run(8)
        return self.glance(channel).data

    def glance(self, channel: str) -> Reading:
        """The board as it is known now."""
        kind, _, rest = channel.partition("/")
        _, slug, parts = split_channel(f"{kind}/{SLUG}/{rest}" if rest else f"{kind}/{SLUG}")
        found = self.clusters.read(slug, kind, parts)
        assert isinstance(found, Reading), found
        return found

    def ask(self, name: str, **fields: Any) -> dict[str, Any]:
        return self._run(self.clusters.ask(SLUG, parse_question(name, fields)))

    def act(self, action: str, *, undo: UndoPoint | None = None, **fields: Any) -> int:
        return self._run(self.clusters.act(SLUG, parse_action({"action": action, **fields}), "operator ada", undo))

    def entries(self, kind: str | None = None) -> list[dict[str, Any]]:
        found = self.cluster.entries(0, 1_000, facts_only=True, longs_as_text=False)
        return [row for row in found.rows if kind in (None, row["type"])]

    def close(self) -> None:
        self._run(self.clusters.close())

    def _run(self, coroutine: Any) -> Any:
        return self.world.environment.sim.run(coroutine)
