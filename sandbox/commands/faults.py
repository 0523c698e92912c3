"""Fault actions on brokers, name servers, clocks and disks."""

from collections.abc import Collection

from sandbox.cluster.broker_node import BrokerNode
from sandbox.cluster.cluster import Cluster
from sandbox.commands.executors import executes
from sandbox.commands.outcome import CarryOut
from sandbox.control.actions import (
    AcceptLoss,
    FillDisk,
    ForceUnlock,
    FreeDisk,
    HangBroker,
    KillBroker,
    PowerCut,
    PromoteSlave,
    ResumeBroker,
    SkewClock,
    StartBroker,
    StartNameServer,
    StopBroker,
    StopNameServer,
)
from sandbox.kernel.errors import ActionRefused, StoreError, TablesDamaged
from sandbox.message.queue import MessageQueue
from sandbox.queries.snapshot_cache import cache_of


@executes(StartBroker)
def start_broker(cluster: Cluster, action: StartBroker) -> CarryOut:
    node = cluster.nodes.broker(action.broker, action.broker_id)
    if node.broker is not None:
        raise ActionRefused(409, "{broker} is already running.", broker=node.node)

    def carry_out(seq: int, by: str) -> None:
        start_node(cluster, node)

    return carry_out


def start_node(cluster: Cluster, node: BrokerNode, *, accepting: Collection[str] = ()) -> None:
    """Start a broker.  Raises ActionRefused (409) if its files cannot be opened.

    `accepting`: tables whose loss is accepted.
    """
    cache_of(cluster).forget_store(node.node)
    try:
        node.start(accepting=accepting)
    except TablesDamaged as error:
        raise ActionRefused(
            409,
            "{broker} cannot start: {why}.",
            "Replace the file with an intact one and start the broker, or accept the loss of the table.",
            broker=node.node,
            why=str(error),
        ) from error
    except StoreError as error:
        raise ActionRefused(409, "{broker} cannot start: {why}.", broker=node.node, why=str(error)) from error


@executes(AcceptLoss)
def accept_loss(cluster: Cluster, action: AcceptLoss) -> CarryOut:
    """Start a broker with an empty table.  RocketMQ has no such command: an operator moves the files away."""
    node = cluster.nodes.broker(action.broker, action.broker_id)
    names = [read.name for read in node.damaged]
    if not names:
        raise ActionRefused(
            409,
            "{broker} has no damaged table.",
            "Only the loss of a table that prevents the broker start can be accepted.",
            broker=node.node,
        )
    if action.table not in names:
        raise ActionRefused(
            422,
            "The table {table} of {broker} is not damaged.",
            "Damaged tables: {known}.",
            field="table",
            table=action.table,
            broker=node.node,
            known=", ".join(names),
        )

    def carry_out(seq: int, by: str) -> None:
        try:
            start_node(cluster, node, accepting=(action.table,))
        except ActionRefused:
            if action.table in (read.name for read in node.damaged):
                raise  # else the decision about another table is still to come

    return carry_out


@executes(StopBroker)
def stop_broker(cluster: Cluster, action: StopBroker) -> CarryOut:
    node = _running(cluster, action.broker, action.broker_id)
    if node.state == "hung":
        raise ActionRefused(
            409, "{broker} is hung and cannot stop cleanly.", "Resume the broker, or kill it.", broker=node.node
        )
    return lambda seq, by: node.stop()


@executes(KillBroker)
def kill_broker(cluster: Cluster, action: KillBroker) -> CarryOut:
    node = _running(cluster, action.broker, action.broker_id)
    return lambda seq, by: node.kill()


@executes(HangBroker)
def hang_broker(cluster: Cluster, action: HangBroker) -> CarryOut:
    node = _running(cluster, action.broker, action.broker_id)
    if node.state == "hung":
        raise ActionRefused(409, "{broker} is already hung.", "Resume the broker first.", broker=node.node)
    return lambda seq, by: node.running.hang()


@executes(ResumeBroker)
def resume_broker(cluster: Cluster, action: ResumeBroker) -> CarryOut:
    node = _running(cluster, action.broker, action.broker_id)
    if node.state != "hung":
        raise ActionRefused(409, "{broker} is not hung.", "Only a hung broker can be resumed.", broker=node.node)
    return lambda seq, by: node.running.resume()


@executes(PowerCut)
def power_cut(cluster: Cluster, action: PowerCut) -> CarryOut:
    node = _running(cluster, action.broker, action.broker_id)
    return lambda seq, by: cluster.nodes.power_cut(node)


@executes(PromoteSlave)
def promote_slave(cluster: Cluster, action: PromoteSlave) -> CarryOut:
    """Restart a slave as master.  The dead master gets the slave's id, so that it restarts as a slave."""
    slave = cluster.nodes.broker(action.broker, action.broker_id)
    if slave.is_master:
        raise ActionRefused(
            409, "{broker} is already a master.", "Choose a slave of this broker.", field="broker_id", broker=slave.node
        )
    master = cluster.nodes.broker(action.broker)
    if master.broker is not None:
        raise ActionRefused(
            409, "The master {broker} is running.", "Stop or kill the master first.", broker=master.node
        )
    if slave.state == "hung":
        raise ActionRefused(
            409, "{broker} is hung and cannot stop cleanly.", "Resume the broker, or kill it.", broker=slave.node
        )

    def carry_out(seq: int, by: str) -> None:
        for name in cluster.promote(slave):
            cache_of(cluster).forget_store(name)
        start_node(cluster, slave)

    return carry_out


@executes(SkewClock)
def skew_clock(cluster: Cluster, action: SkewClock) -> CarryOut:
    node = cluster.nodes.broker(action.broker, action.broker_id)
    if node.clock.skew_ms == action.skew_ms:
        raise ActionRefused(
            409,
            "The clock of {broker} is already wrong by {skew_ms} ms.",
            "Choose another skew.",
            field="skew_ms",
            broker=node.node,
            skew_ms=action.skew_ms,
        )

    def carry_out(seq: int, by: str) -> None:
        node.clock.skew_ms = action.skew_ms
        if node.broker is not None:
            node.broker.delay.look_again()

    return carry_out


@executes(FillDisk)
def fill_disk(cluster: Cluster, action: FillDisk) -> CarryOut:
    node = _running(cluster, action.broker, 0)
    if node.ballast_bytes:
        raise ActionRefused(409, "The disk of {broker} is already full.", broker=node.node)
    return lambda seq, by: node.fill_disk()


@executes(FreeDisk)
def free_disk(cluster: Cluster, action: FreeDisk) -> CarryOut:
    node = _running(cluster, action.broker, 0)
    if not node.ballast_bytes:
        raise ActionRefused(409, "The disk of {broker} is not full.", broker=node.node)
    return lambda seq, by: node.free_disk()


@executes(StartNameServer)
def start_name_server(cluster: Cluster, action: StartNameServer) -> CarryOut:
    node = cluster.nodes.name_server(action.name_server)
    if node.name_server is not None:
        raise ActionRefused(409, "{name_server} is already running.", name_server=node.name)
    return lambda seq, by: node.start()


@executes(StopNameServer)
def stop_name_server(cluster: Cluster, action: StopNameServer) -> CarryOut:
    node = cluster.nodes.name_server(action.name_server)
    if node.name_server is None:
        raise ActionRefused(409, "{name_server} is not running.", name_server=node.name)
    return lambda seq, by: node.stop()


@executes(ForceUnlock)
def force_unlock(cluster: Cluster, action: ForceUnlock) -> CarryOut:
    """Release a queue lock.

    Not in RocketMQ: there a lock ends when it is released, expires, or the broker restarts.
    """
    locks = _running(cluster, action.broker, 0).running.locks
    mq = MessageQueue(action.topic, action.broker, action.queue_id)
    if mq not in locks.table.get(action.group, {}):
        raise ActionRefused(
            409,
            "No member of {group} holds a lock on {queue}.",
            "Choose a locked queue.",
            field="queue_id",
            group=action.group,
            queue=mq.row,
        )

    def carry_out(seq: int, by: str) -> None:
        locks.force_unlock(action.group, mq)

    return carry_out


def _running(cluster: Cluster, broker: str, broker_id: int) -> BrokerNode:
    node = cluster.nodes.broker(broker, broker_id)
    if node.broker is None:
        raise ActionRefused(409, "{broker} is not running.", broker=node.node)
    return node
