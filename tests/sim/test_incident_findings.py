"""Each incident opened without knowledge: the first error or warning names its cause, before its repair."""

import pytest

from sandbox.labs.incidents import INCIDENTS
from tests.sim.incident_stage import played

CAUSES = {
    "lag-after-a-deploy": "consumers_too_slow",
    "duplicates-after-a-restart": "delivered_again",
    "one-queue-stuck": "suspended",
    "lost-subscription": "subscriptions_differ",
    "retention-overtakes-a-slow-group": "consumers_too_slow",
    "reset-gone-wrong": "delivered_again",
    "more-members-than-queues": "consumers_too_slow",
    "hot-queue": "hot_queue",
    "member-holds-back": "flow_control",
    "lost-with-the-master": "broker_down",
    "rebalance-storm": "rebalance_storm",
    "retries-after-a-release": "retrying",
    "one-client-id-twice": "same_client_id",
}
REPAIRS = {
    "lag-after-a-deploy": "Roll back",
    "duplicates-after-a-restart": "A clean stop",
    "one-queue-stuck": "Handler fixed",
    "lost-subscription": "One subscription",
    "retention-overtakes-a-slow-group": "Faster writes",
    "reset-gone-wrong": "The second reset",
    "more-members-than-queues": "More queues",
    "hot-queue": "Another key",
    "member-holds-back": "Fast again",
    "lost-with-the-master": "Failover",
    "rebalance-storm": "Another strategy",
    "retries-after-a-release": "Roll back",
    "one-client-id-twice": "Copy stopped",
}
EVEN_A_NOTE = {"member-holds-back"}  # a limit protects the member: its finding is a note


def test_every_incident_has_a_cause() -> None:
    assert set(CAUSES) == set(REPAIRS) == set(INCIDENTS)


@pytest.mark.parametrize("slug", CAUSES)
def test_the_first_finding_of_an_incident_is_its_cause(slug: str) -> None:
    run = played(slug)
    opened = [
        row for row in run.rows if row["type"] == "FindingOpened" and (row["severity"] != "info" or slug in EVEN_A_NOTE)
    ]
    assert opened[0]["code"] == CAUSES[slug]
    assert opened[0]["at_ms"] < run.at_ms(REPAIRS[slug])
