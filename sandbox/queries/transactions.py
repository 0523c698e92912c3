"""Transactions of a sandbox that have not ended yet."""

from sandbox.broker.transaction.half_messages import HalfMessage
from sandbox.cluster.broker_node import BrokerNode
from sandbox.cluster.cluster import Cluster
from sandbox.kernel.errors import ActionRefused


def open_transactions(cluster: Cluster) -> list[tuple[BrokerNode, HalfMessage]]:
    """Over all running masters, the oldest first."""
    pending = [(node, half) for node in cluster.nodes.masters() for half in node.running.transactions.table.values()]
    return sorted(pending, key=lambda pair: (pair[1].born_ms, pair[0].name, pair[1].half_offset))


def open_transaction(cluster: Cluster, transaction_id: str) -> tuple[BrokerNode, HalfMessage]:
    """Raises ActionRefused: 409 for one that has ended, 404 for an unknown one."""
    for node in cluster.nodes.masters():
        half = node.running.transactions.table.get(transaction_id)
        if half is not None:
            return node, half
    if any(node.running.transactions.was_here(transaction_id) for node in cluster.nodes.masters()):
        raise ActionRefused(
            409,
            "Transaction {transaction} has already ended.",
            "Choose an open transaction.",
            field="transaction_id",
            transaction=transaction_id,
        )
    raise ActionRefused(
        404,
        "Transaction {transaction} does not exist.",
        "Choose an open transaction.",
        field="transaction_id",
        transaction=transaction_id,
    )
