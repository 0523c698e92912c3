"""Action that ends a transaction by hand."""

import logging

from sandbox.broker.transaction.half_messages import HalfMessage
from sandbox.client.client_api import ClientApi
from sandbox.cluster.broker_node import BrokerNode
from sandbox.cluster.cluster import Cluster
from sandbox.commands.executors import executes
from sandbox.commands.outcome import CarryOut
from sandbox.control.actions import EndTransaction
from sandbox.kernel.errors import SandboxError
from sandbox.message.sys_flag import TRANSACTION_COMMIT, TRANSACTION_ROLLBACK
from sandbox.queries.transactions import open_transaction
from sandbox.remoting.headers import EndTransactionHeader

log = logging.getLogger(__name__)

DECISIONS = {"commit": TRANSACTION_COMMIT, "rollback": TRANSACTION_ROLLBACK}


@executes(EndTransaction)
def end(cluster: Cluster, action: EndTransaction) -> CarryOut:
    """Send one END_TRANSACTION for the producer's group: from its own process if it runs, else from another one."""
    node, half = open_transaction(cluster, action.transaction_id)
    header = EndTransactionHeader(
        group=half.producer_group,
        half_queue_offset=half.half_offset,
        physical_offset=half.physical_offset,
        decision=DECISIONS[action.outcome],
        from_check=False,
        msg_id=half.transaction_id,
        broker=node.name,
    )

    def carry_out(seq: int, by: str) -> None:
        cluster.actors.later(_end(cluster, node, half, header), f"end {half.transaction_id}")

    return carry_out


async def _end(cluster: Cluster, node: BrokerNode, half: HalfMessage, header: EndTransactionHeader) -> None:
    try:
        api = _api_of(cluster, half.producer_group) or (await cluster.console.instance()).api
        await api.end_transaction(node.record.address, header, None)
    except SandboxError as error:
        log.info("%s did not get the end of %s: %s", node.node, half.transaction_id, error)


def _api_of(cluster: Cluster, group: str) -> ClientApi | None:
    for actor in cluster.actors.producers():
        if actor.state == "running" and actor.producer is not None and actor.producer.group == group:
            return actor.producer.instance.api
    return None
