"""The list of open transactions (question `transactions`)."""

from sandbox.cluster.cluster import Cluster
from sandbox.control.questions import Transactions
from sandbox.queries.questions.answers import answers
from sandbox.queries.transactions import open_transactions

Row = dict[str, object]

ROWS = 100


@answers(Transactions)
def find(cluster: Cluster, question: Transactions) -> Row:
    """Return the oldest hundred open transactions and the number of all.

    `checks`: how often the broker has asked its producer.
    """
    pending, now_ms = open_transactions(cluster), cluster.clock.now_ms()
    return {
        "rows": [
            {
                "transaction_id": half.transaction_id,
                "producer_group": half.producer_group,
                "broker": node.name,
                "topic": half.topic,
                "queue_id": half.queue_id,
                "half_offset": str(half.half_offset),
                "physical_offset": str(half.physical_offset),
                "checks": half.checks,
                "born_ms": half.born_ms,
                "age_ms": max(0, now_ms - half.born_ms),
            }
            for node, half in pending[:ROWS]
        ],
        "count": len(pending),
    }
