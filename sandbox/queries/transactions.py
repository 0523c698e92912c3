"""The open transactions of a sandbox."""

from sandbox.broker.transaction.half_messages import HalfMessage
from sandbox.cluster.broker_node import BrokerNode
from sandbox.cluster.cluster import Cluster
from sandbox.kernel.errors import ActionRefused


def open_transactions(cluster: Cluster) -> list[tuple[BrokerNode, HalfMessage]]:
    """Return the open transactions of all running masters, oldest first, each with its broker."""
    pending = [(node, half) for node in cluster.nodes.masters() for half in node.running.transactions.table.values()]
    return sorted(pending, key=lambda pair: (pair[1].born_ms, pair[0].name, pair[1].half_offset))


def open_transaction(cluster: Cluster, transaction_id: str) -> tuple[BrokerNode, HalfMessage]:
    """Return an open transaction and its broker.  Raises ActionRefused: 409 if it has ended, 404 if it is unknown."""
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
