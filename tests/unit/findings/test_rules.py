"""Every code of the closed list has a rule, with texts that its findings fill and links that exist."""

from sandbox.findings.all_rules import BY_CODE, RULES
from sandbox.labs.catalogue import LABS
from sandbox.labs.incidents import INCIDENTS

CODES = {
    "behind_min",
    "beyond_max",
    "broker_down",
    "clock_behind",
    "consumers_too_slow",
    "dead_letters_grow",
    "delay_waiting",
    "delivered_again",
    "flow_control",
    "half_message_open",
    "hot_queue",
    "lock_held_by_gone_member",
    "lock_table_lost",
    "member_gone_not_expelled",
    "member_hung",
    "more_members_than_queues",
    "offset_pinned",
    "offset_unknown",
    "paused",
    "permission",
    "poison_message",
    "queue_without_reader",
    "rebalance_storm",
    "retrying",
    "same_client_id",
    "slave_serves",
    "subscriptions_differ",
    "suspended",
    "table_damaged",
    "uneven_assignment",
    "writes_refused",
}


def test_the_list_of_codes_is_closed() -> None:
    assert set(BY_CODE) == CODES
    assert len(RULES) == len(CODES)


def test_causes_labs_and_incidents_exist() -> None:
    for rule in RULES:
        assert set(rule.because_of) <= CODES, rule.code
        assert not rule.lab or rule.lab in LABS, rule.code
        assert not rule.incident or rule.incident in INCIDENTS, rule.code
        assert "{" not in rule.title, "a title stands after the name of its subject"
