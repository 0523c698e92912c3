"""Rows of the Groups page: the lag and the members of each group (channel `groups/<slug>`)."""

from typing import TypedDict

from sandbox.queries.rows.board import KnownQueues
from sandbox.queries.rows.findings import FindingMark
from sandbox.queries.rows.member_words import NamedWords


class GroupState(KnownQueues):
    """One group over all its topics.  None: not known, unless the field has another meaning."""

    state: str  # one of `control.group_state.WORST_FIRST`
    topic: str | None  # the one furthest behind; None: it reads none
    topics: list[str]  # without its retry topic
    lag: str | None  # messages stored and not committed, `retrying` included; None: not known
    retrying: str | None  # messages in its retry topic, not consumed yet
    oldest_since_ms: int | None  # store time of the oldest message that waits; None: none does, or not known
    oldest_after_ms: int | None  # the oldest message that waits was stored after this (real cluster)
    members: int | None
    consumed_per_s: float | None  # messages
    delivered_per_s: float | None
    shared_ids: list[str]  # client ids that several connections have
    members_differ: list[str]  # settings in which its members differ (`rows.member_words`)
    member_words: list[NamedWords]  # settings of each member if they differ; else empty
    differs: bool  # more is handed out than consumed
    finding: FindingMark | None  # the worst error or warning about it that nothing else explains


class Groups(TypedDict):
    """All groups, by name."""

    groups: dict[str, GroupState]
