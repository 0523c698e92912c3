"""Rows of a message's life: its copies, and the progress of each group (`life` of a record).

Offsets are text.  Times (`…_ms`) are of the sandbox's clock.  None: not known, unless the field has another meaning.
"""

from typing import TypedDict

from sandbox.queries.rows.message_row import MessageRow


class ChainStep(MessageRow):
    """One record that carries the message."""

    what: str  # stored, half, delayed, retry, dead_letter
    group: str | None  # of a retry or dead letter; None: of no group
    delay_level: int | None  # of a delayed one; likewise the next two
    due_ms: int | None
    delivered: bool | None
    to: str | None  # topic of a delayed or half one
    seq: str | None  # of its MessagesStored; None: no longer in memory


class MessagePull(TypedDict):
    """A pull that returned the message."""

    seq: str
    step: int  # index into the chain
    client_id: str
    actor: str | None  # label; None: external client
    at_ms: int
    what: str  # pulled, filtered (by the client)


class Delivery(TypedDict):
    """A delivery to a listener."""

    seq: str | None  # None: it has no outcome yet
    step: int
    client_id: str
    actor: str | None
    started_ms: int
    ended_ms: int | None  # None: it has no outcome yet; likewise `outcome`
    outcome: str | None
    reconsume_times: int | None
    thread: int | None
    handler: str | None
    batch: int | None  # messages of that call
    once: bool  # an administrator requested it


class CopyProgress(TypedDict):
    """The progress of a group on one record."""

    step: int
    member: str | None  # client id; None: clustering
    state: str
    committed: str | None
    in_memory: str | None
    next_pull: str | None
    owner: str | None  # client id
    since_ms: int | None


class GroupLife(TypedDict):
    """One group that reads the message."""

    group: str
    model: str
    expression: str | None
    subscribed: bool | None  # None: an SQL92 condition, too
    state: str
    given: bool | None  # a listener in this process received it
    places: list[CopyProgress]
    deliveries: list[Delivery] | None  # oldest first; likewise the pulls
    pulls: list[MessagePull] | None


class Life(TypedDict):
    """The life of a message.  For a real cluster everything but `linked` is unknown."""

    chain: list[ChainStep] | None
    linked: bool  # it has a unique key, so copies can be found
    groups: list[GroupLife] | None
    known_from_ms: int | None
    known_from_seq: str | None
    complete: bool  # memory reaches back to before it was stored
    skipped: bool | None  # details of it were left out of the journal
