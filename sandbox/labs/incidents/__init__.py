"""Gallery of incidents, in the order of the page."""

from sandbox.labs.incidents.flow_control import FLOW_CONTROL
from sandbox.labs.incidents.hot_queue import HOT_QUEUE
from sandbox.labs.incidents.incident import Incident
from sandbox.labs.incidents.killed_member import KILLED_MEMBER
from sandbox.labs.incidents.lost_subscription import LOST_SUBSCRIPTION
from sandbox.labs.incidents.lost_with_the_master import LOST_WITH_THE_MASTER
from sandbox.labs.incidents.more_members_than_queues import MORE_MEMBERS_THAN_QUEUES
from sandbox.labs.incidents.one_client_id_twice import ONE_CLIENT_ID_TWICE
from sandbox.labs.incidents.overtaken_by_retention import OVERTAKEN_BY_RETENTION
from sandbox.labs.incidents.rebalance_storm import REBALANCE_STORM
from sandbox.labs.incidents.retries_pile_up import RETRIES_PILE_UP
from sandbox.labs.incidents.slower_handler import SLOWER_HANDLER
from sandbox.labs.incidents.stuck_order import STUCK_ORDER
from sandbox.labs.incidents.wrong_reset import WRONG_RESET

INCIDENTS: dict[str, Incident] = {
    incident.slug: incident
    for incident in (
        SLOWER_HANDLER,
        KILLED_MEMBER,
        STUCK_ORDER,
        LOST_SUBSCRIPTION,
        OVERTAKEN_BY_RETENTION,
        WRONG_RESET,
        MORE_MEMBERS_THAN_QUEUES,
        HOT_QUEUE,
        FLOW_CONTROL,
        LOST_WITH_THE_MASTER,
        REBALANCE_STORM,
        RETRIES_PILE_UP,
        ONE_CLIENT_ID_TWICE,
    )
}


def with_seed(seed: str) -> Incident | None:
    """Return the incident whose runs have this seed, or None."""
    return next((incident for incident in INCIDENTS.values() if incident.seed == seed), None)
