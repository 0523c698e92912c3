"""All rules, by code."""

from sandbox.findings.rule import Rule
from sandbox.findings.rules import broker_down, consumers_too_slow, member_hung, more_members_than_queues, offset_pinned

RULES: tuple[Rule, ...] = (
    broker_down.RULE,
    member_hung.RULE,
    offset_pinned.RULE,
    consumers_too_slow.RULE,
    more_members_than_queues.RULE,
)
BY_CODE = {rule.code: rule for rule in RULES}
