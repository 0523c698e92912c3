"""All rules, by code."""

from sandbox.findings.rule import Rule
from sandbox.findings.rules import (
    broker_down,
    consumers_too_slow,
    lock_held_by_gone_member,
    member_gone_not_expelled,
    member_hung,
    more_members_than_queues,
    offset_pinned,
    paused,
    permission,
    queue_without_reader,
    rebalance_storm,
    same_client_id,
    subscriptions_differ,
    suspended,
    uneven_assignment,
)

RULES: tuple[Rule, ...] = (
    consumers_too_slow.RULE,
    more_members_than_queues.RULE,
    uneven_assignment.RULE,
    offset_pinned.RULE,
    member_hung.RULE,
    member_gone_not_expelled.RULE,
    lock_held_by_gone_member.RULE,
    subscriptions_differ.RULE,
    same_client_id.RULE,
    queue_without_reader.RULE,
    broker_down.RULE,
    rebalance_storm.RULE,
    suspended.RULE,
    paused.RULE,
    permission.RULE,
)
BY_CODE = {rule.code: rule for rule in RULES}
