"""A player of scripts: it executes the steps at their times, repairs all faults, and waits until idle."""

from collections import Counter
from typing import Any

from sandbox.kernel.errors import ActionRefused
from sandbox.simulation.observed import Played
from sandbox.simulation.script import Script
from sandbox.simulation.setup import TOPIC, setup_actions
from sandbox.simulation.troubles import CALM_RESET, ENDING, KILL_PROCESS, SHRINK_READ, Step
from sandbox.simulation.watcher import Watcher
from sandbox.simulation.world import World

LOOK_EVERY_S = 1.0
REST_LOOK_S = 10.0
FIRST_REST_S = 40.0  # two rebalances, two lock renewals
LONGEST_REST_S = 1_500.0  # a retried message may wait its level's minutes
NO_NEWS = (404, 409, 422)  # not possible in this state: the step is skipped


class Player:
    """The player of one script in one world.  `steps` are those executed."""

    def __init__(self, world: World, script: Script) -> None:
        self.world = world
        self.script = script
        self.watcher = Watcher(world, script.setup)
        self.played: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.steps: list[Played] = []

    def play(self) -> None:
        for action in setup_actions(self.script.setup):
            self.world.act(action)
        for step in self.script.steps:
            self._run_to(step.at_s)
            if step.kind == CALM_RESET and not self._is_calm(step.fields["group"]):
                step = step._replace(kind="reset back")
            self._do(step)
        self._run_to(self.script.ends_s)
        self._heal()
        self._rest()

    def _run_to(self, at_s: float) -> None:
        sim = self.world.environment.sim
        while (left_s := at_s - sim.time()) > 0:
            self.world.run(min(LOOK_EVERY_S, left_s))
            self.watcher.look()

    def _do(self, step: Step) -> None:
        counts = step.kind != ENDING
        try:
            seq = self._carry_out(step)
        except ActionRefused as error:
            if error.status not in NO_NEWS:
                raise
            seq = None
        if seq is None:
            self.refused[step.kind] += counts
            return
        self.played[step.kind] += counts
        self.steps.append(Played(self.world.cluster.clock.now_ms(), step.kind, step.action, step.fields, seq))

    def _carry_out(self, step: Step) -> int | None:
        """Execute the step and return the seq of its ActionTaken, or None if the step is not possible."""
        match step.action:
            case _ if step.action == KILL_PROCESS:
                self._kill_process()
                return self.world.cluster.journal.next_seq
            case _ if step.action == SHRINK_READ:
                return self._shrink(step.fields)
            case "ResetOffsets":
                return self._reset(step.fields)
            case "PowerCut":
                return self._power_cut(step.fields)
            case "StartBroker":
                return self._start_broker(step.fields)
            case _:
                return self.world.act(step.action, **step.fields)

    # Steps that are no actions.

    def _kill_process(self) -> None:
        self.world.kill()
        self.watcher.look()
        for disk in self.world.environment.disks.values():
            disk.write_back(1.0)  # files found by a new process count as on disk (`BrokerNode._note_recovered`)
            for path in disk.image():
                disk.sync(path)
        self.world.wake()  # every node starts again, whatever its state was
        self.watcher.attach()
        for node in self.world.cluster.nodes.brokers:
            self.watcher.started(node.node)

    def _reset(self, fields: dict[str, object]) -> int:
        """Reset the group's offsets: online if it has members, else offline."""
        masters = self.world.cluster.nodes.masters()
        registered = any(fields["group"] in node.running.consumers.groups for node in masters)
        return self.world.act("ResetOffsets", **fields, method="online" if registered else "offline")

    def _shrink(self, fields: dict[str, Any]) -> int | None:
        """Reduce the topic's read queues, if those removed are drained and no longer written.

        Source: spec broker-behaviour 9.  Return the event number, or None if it is not possible.
        """
        fewer = fields["queues"]
        for node in self.world.cluster.nodes.brokers:
            if node.broker is None:
                return None
            config = node.running.topics.table.get(TOPIC)
            if config is None or config.write_queues > fewer:
                return None
        left = self.watcher.unfinished()
        if any(
            f" in {TOPIC}/{node.name}/{queue_id}" in name
            for name in left
            for node in self.world.cluster.nodes.brokers
            for queue_id in range(fewer, 64)
        ):
            return None
        return self.world.act("ChangeTopic", topic=TOPIC, read_queues=fewer)

    def _power_cut(self, fields: dict[str, object]) -> int:
        node = _node_name(fields)
        self.watcher.look()
        broker = self.world.cluster.nodes.find(node)
        if broker is not None and broker.broker is not None:
            self.watcher.before_power_cut(node)
        return self.world.act("PowerCut", **fields)

    def _start_broker(self, fields: dict[str, object]) -> int:
        seq = self.world.act("StartBroker", **fields)
        self.watcher.started(_node_name(fields))
        return seq

    # End of the run.

    def _is_calm(self, group: str) -> bool:
        """Return True if no fault is active, every broker has every member, and each queue has its owner.

        Then a reset reaches all members.  (A broker that is not in the routes yet has no member, and a reset would
        bypass the members.)
        """
        cluster = self.world.cluster
        nodes, actors = cluster.nodes, cluster.actors
        owned = [
            queue
            for actor in actors.consumers(group)
            if actor.consumer is not None
            for queue, held in actor.consumer.process_queues.items()
            if queue.topic == TOPIC and not held.dropped
        ]
        queues = [
            (node.name, queue_id)
            for node in nodes.masters()
            if TOPIC in node.running.topics.table  # otherwise a power cut removed topics.json
            for queue_id in range(node.running.topics.table[TOPIC].read_queues)
        ]
        members = {actor.client_id for actor in actors.consumers(group)}
        known = [
            set(consumers.members) if (consumers := node.running.consumers.groups.get(group)) is not None else set()
            for node in nodes.masters()
        ]
        return (
            all(node.state == "running" and not node.clock.skew_ms for node in nodes.brokers)
            and all(members == theirs for theirs in known)
            and all(actor.state == "running" for actor in actors.consumers())
            and not cluster.links.rows()
            and len(owned) == len(set(owned)) == len(queues)
        )

    def _heal(self) -> None:
        """Repair all faults, start all nodes, and stop new messages."""
        act, cluster = self.world.act, self.world.cluster
        for link in cluster.links.rows():
            act("HealLink", a=link["a"], b=link["b"])
        for server in cluster.nodes.name_servers:
            if server.name_server is None:
                act("StartNameServer", name_server=server.name)
        for node in cluster.nodes.brokers:
            fields = {"broker": node.name, "broker_id": node.record.broker_id}
            if node.broker is None:
                self._start_broker(fields)
            if node.state == "hung":
                act("ResumeBroker", **fields)
            if node.clock.skew_ms:
                self._do(Step(0.0, ENDING, "SkewClock", fields | {"skew_ms": 0}))
            if node.ballast_bytes:
                act("FreeDisk", broker=node.name)
        for producer in cluster.actors.producers():
            act("ChangeActor", actor=producer.label, rate_per_s=0)
        for actor in cluster.actors.consumers():
            act("ChangeActor", actor=actor.label, work_ms=[1], fail_percent=0, slow_key="")
            if actor.state == "hung":
                act("ResumeActor", actor=actor.label)
            elif not actor.lives:
                act("RestartActor", actor=actor.label)

    def _rest(self) -> None:
        """Wait until no message is unfinished, or until the time limit."""
        self._run_to(self.world.environment.sim.time() + FIRST_REST_S)
        waited_s = FIRST_REST_S
        left = self.watcher.unfinished()
        while left and waited_s < LONGEST_REST_S:
            self._run_to(self.world.environment.sim.time() + REST_LOOK_S)
            waited_s += REST_LOOK_S
            left = self.watcher.unfinished()


def _node_name(fields: dict[str, object]) -> str:
    broker_id = fields.get("broker_id", 0)
    return f"{fields['broker']}.{broker_id}" if broker_id else str(fields["broker"])
