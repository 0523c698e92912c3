"""All rules, in the order in which a page lists their checks."""

from sandbox.findings.rule import Rule
from sandbox.findings.rules import (
    behind_min,
    beyond_max,
    broker_down,
    clock_behind,
    consumers_too_slow,
    dead_letters_grow,
    delay_waiting,
    flow_control,
    half_message_open,
    hot_queue,
    lock_table_lost,
    member_hung,
    more_members_than_queues,
    offset_pinned,
    offset_unknown,
    poison_message,
    retrying,
    slave_serves,
    table_damaged,
    writes_refused,
)

RULES: tuple[Rule, ...] = tuple(
    module.RULE
    for module in (
        broker_down,
        table_damaged,
        writes_refused,
        slave_serves,
        lock_table_lost,
        member_hung,
        offset_pinned,
        consumers_too_slow,
        flow_control,
        hot_queue,
        more_members_than_queues,
        behind_min,
        beyond_max,
        offset_unknown,
        dead_letters_grow,
        poison_message,
        retrying,
        half_message_open,
        delay_waiting,
        clock_behind,
    )
)
BY_CODE = {rule.code: rule for rule in RULES}
