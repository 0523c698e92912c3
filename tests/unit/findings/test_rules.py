"""Every code of the closed list has a rule, with texts that its findings fill and links that exist."""

from sandbox.findings.all_rules import BY_CODE, RULES
from sandbox.labs.catalogue import LABS
from sandbox.labs.incidents import INCIDENTS

CODES = {
    "consumers_too_slow",
    "more_members_than_queues",
    "uneven_assignment",
    "offset_pinned",
    "member_hung",
    "member_gone_not_expelled",
    "lock_held_by_gone_member",
    "subscriptions_differ",
    "same_client_id",
    "queue_without_reader",
    "flow_control",
    "retrying",
    "poison_message",
    "dead_letters_grow",
    "broker_down",
    "slave_serves",
    "lock_table_lost",
    "offset_unknown",
    "behind_min",
    "beyond_max",
    "hot_queue",
    "rebalance_storm",
    "suspended",
    "paused",
    "permission",
    "writes_refused",
    "delay_waiting",
    "half_message_open",
    "table_damaged",
    "clock_behind",
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
