"""An observer of a running world: journal, wire, members' locks, stores."""

from sandbox.client.push_consumer import PushConsumer
from sandbox.journal.events import Entry
from sandbox.message.queue import MessageQueue
from sandbox.simulation.inventory import take_inventory
from sandbox.simulation.observed import Ack, Final, Inventory, PowerLoss, Shared, SlaveStart
from sandbox.simulation.setup import TOPIC, Setup
from sandbox.simulation.wire_watch import WireWatch
from sandbox.simulation.world import World


class Watcher:
    """The collector of the checkers' input.  Call `attach` for every process of the world."""

    def __init__(self, world: World, setup: Setup) -> None:
        self._world = world
        self._setup = setup
        self._seq = 0
        self._before_cut: dict[str, Inventory] = {}
        self._slaves_then: dict[str, tuple[Inventory, ...]] = {}
        self.entries: list[Entry] = []
        self.acks: list[Ack] = []
        self.shared: list[Shared] = []
        self.losses: list[PowerLoss] = []
        self.slave_starts: list[SlaveStart] = []
        self.attach()

    def attach(self) -> None:
        """Start to observe the sandbox that is open now."""
        cluster = self._world.cluster
        self._seq = cluster.journal.first_in_memory
        nodes = {node.record.address: (node.name, node.node) for node in cluster.nodes.brokers}
        watch = WireWatch(cluster.clock, self.acks, nodes)
        watch.before, cluster.network.tap = cluster.network.tap, watch.note

    def look(self) -> None:
        """Read new journal entries, and compare the members' locks.  Called once per second of the world's time."""
        journal = self._world.cluster.journal
        self.entries += journal.since(self._seq)
        self._seq = journal.next_seq
        for group in self._setup.groups:
            if group.kind == "orderly":
                self._compare_trust(group.name)

    def _compare_trust(self, group: str) -> None:
        trusting: dict[MessageQueue, list[str]] = {}
        for actor in self._world.cluster.actors.consumers(group):
            consumer = actor.consumer
            if not isinstance(consumer, PushConsumer) or not actor.lives:
                continue
            for queue, held in consumer.process_queues.items():
                if not held.dropped and consumer.locks.trusts(held):
                    trusting.setdefault(queue, []).append(actor.label)
        now_ms = self._world.cluster.clock.now_ms()
        self.shared += [
            Shared(now_ms, group, queue, tuple(labels)) for queue, labels in sorted(trusting.items()) if len(labels) > 1
        ]

    # Stores.

    def before_power_cut(self, node: str) -> None:
        """Store the inventories of the node and of its slaves, just before the power cut."""
        self._before_cut[node] = self._inventory(node)
        self._slaves_then[node] = tuple(
            self._inventory(other.node)
            for other in self._world.cluster.nodes.brokers
            if other.name == node and not other.is_master and other.broker is not None
        )

    def started(self, node: str) -> None:
        """Record that a broker has started and recovered its files."""
        broker = self._world.cluster.nodes.find(node)
        assert broker is not None
        if not broker.is_master:
            now_ms = self._world.cluster.clock.now_ms()
            self.slave_starts.append(SlaveStart(node, now_ms, broker.running.store.max_physical_offset))
        self._after_power_cut(node)

    def _after_power_cut(self, node: str) -> None:
        """Record what a power cut removed from the node, which has started again.  Do nothing without a power cut."""
        before = self._before_cut.pop(node, None)
        if before is not None:
            after = self._inventory(node)
            self.losses.append(PowerLoss(node, before.at_ms, before, after, self._slaves_then.pop(node)))

    def _inventory(self, node: str) -> Inventory:
        broker = self._world.cluster.nodes.find(node)
        assert broker is not None
        return take_inventory(broker.running.store, node, self._world.cluster.clock.now_ms())

    def final(self) -> Final:
        nodes = self._world.cluster.nodes
        masters = {node.name: node for node in nodes.masters()}
        committed: dict[tuple[str, MessageQueue], int] = {}
        read_queues: dict[tuple[str, str], int] = {}
        for name, node in masters.items():
            for key, queues in node.running.consumer_offsets.table.items():
                for queue_id, offset in queues.items():
                    committed[key.group, MessageQueue(key.topic, name, queue_id)] = offset
            for topic, config in node.running.topics.table.items():
                read_queues[topic, name] = config.read_queues
        slaves = [node.node for node in nodes.brokers if node.broker is not None and node not in masters.values()]
        return Final(
            at_ms=self._world.cluster.clock.now_ms(),
            masters={name: self._inventory(node.node) for name, node in masters.items()},
            slaves={name: self._inventory(name) for name in slaves},
            committed=committed,
            read_queues=read_queues,
            unfinished=tuple(self.unfinished()),
        )

    # End of the run.

    def unfinished(self) -> list[str]:
        """Return as names the queues that a clustering group has not finished, and delay levels not due yet."""
        left: list[str] = []
        now_ms = self._world.cluster.clock.now_ms()
        for node in self._world.cluster.nodes.masters():
            store, table = node.running.store, node.running.topics.table
            for topic, queue_id in store.queues():
                high = store.max_offset(topic, queue_id)
                if topic.startswith("SCHEDULE_TOPIC"):
                    unit = store.unit(topic, queue_id, high - 1)
                    if unit is not None and unit.tags_code + 2_000 > now_ms:
                        left.append(f"delay level {queue_id + 1} of {node.name}")
                    continue
                if topic not in table or queue_id >= table[topic].read_queues:
                    continue
                groups = [group.name for group in self._setup.counting if topic in (TOPIC, f"%RETRY%{group.name}")]
                for group in groups:
                    if high and (node.running.consumer_offsets.get(group, topic, queue_id) or 0) < high:
                        left.append(f"{group} in {topic}/{node.name}/{queue_id}")
        return left
