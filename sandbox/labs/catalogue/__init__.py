"""Catalogue of labs, in the order in which they are offered."""

from sandbox.labs.catalogue.broadcasting import BROADCASTING
from sandbox.labs.catalogue.crash_and_stop import CRASH_AND_STOP
from sandbox.labs.catalogue.dead_letter import DEAD_LETTER
from sandbox.labs.catalogue.delay_and_half import DELAY_AND_HALF
from sandbox.labs.catalogue.failed_send import FAILED_SEND
from sandbox.labs.catalogue.flow_control import FLOW_CONTROL
from sandbox.labs.catalogue.flush_and_replicate import FLUSH_AND_REPLICATE
from sandbox.labs.catalogue.hot_queue import HOT_QUEUE
from sandbox.labs.catalogue.idempotent_handler import IDEMPOTENT_HANDLER
from sandbox.labs.catalogue.key_index import KEY_INDEX
from sandbox.labs.catalogue.lag_and_throughput import LAG_AND_THROUGHPUT
from sandbox.labs.catalogue.master_dies import MASTER_DIES
from sandbox.labs.catalogue.members_and_queues import MEMBERS_AND_QUEUES
from sandbox.labs.catalogue.name_server_expiry import NAME_SERVER_EXPIRY
from sandbox.labs.catalogue.orderly_lock import ORDERLY_LOCK
from sandbox.labs.catalogue.pinned_offset import PINNED_OFFSET
from sandbox.labs.catalogue.poison_in_order import POISON_IN_ORDER
from sandbox.labs.catalogue.queue_entry import QUEUE_ENTRY
from sandbox.labs.catalogue.reset_by_time import RESET_BY_TIME
from sandbox.labs.catalogue.retention import RETENTION
from sandbox.labs.catalogue.rolling_restart import ROLLING_RESTART
from sandbox.labs.catalogue.shrink_queues import SHRINK_QUEUES
from sandbox.labs.catalogue.start_offset import START_OFFSET
from sandbox.labs.catalogue.strategies import STRATEGIES
from sandbox.labs.catalogue.two_subscriptions import TWO_SUBSCRIPTIONS
from sandbox.labs.catalogue.write_and_read_counts import WRITE_AND_READ_COUNTS
from sandbox.labs.lab import Lab

LABS: dict[str, Lab] = {
    lab.slug: lab
    for lab in (
        LAG_AND_THROUGHPUT,
        CRASH_AND_STOP,
        PINNED_OFFSET,
        MEMBERS_AND_QUEUES,
        IDEMPOTENT_HANDLER,
        DEAD_LETTER,
        TWO_SUBSCRIPTIONS,
        START_OFFSET,
        RESET_BY_TIME,
        ORDERLY_LOCK,
        POISON_IN_ORDER,
        FAILED_SEND,
        HOT_QUEUE,
        FLOW_CONTROL,
        WRITE_AND_READ_COUNTS,
        SHRINK_QUEUES,
        STRATEGIES,
        QUEUE_ENTRY,
        KEY_INDEX,
        RETENTION,
        DELAY_AND_HALF,
        BROADCASTING,
        FLUSH_AND_REPLICATE,
        MASTER_DIES,
        NAME_SERVER_EXPIRY,
        ROLLING_RESTART,
    )
}


def named(name: str) -> Lab | None:
    """Return the lab with this slug or number."""
    return LABS.get(name) or next((lab for lab in LABS.values() if lab.number.lower() == name.lower()), None)
