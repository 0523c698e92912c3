"""Answers of the questions for plans: a reset of offsets (`plan-reset`), a rebalance (`plan-rebalance`)."""

from typing import NotRequired, TypedDict


class PlanNote(TypedDict):
    """A remark on one queue of a reset."""

    code: str
    text: str  # English, filled with `values`
    values: dict[str, int | str]


class PlanRefusal(TypedDict):
    """The reason why a plan cannot be applied, or why another method is used."""

    message: str
    hint: str
    pattern: str  # `message` before `values` fill it
    values: dict[str, object]


class PlannedRow(TypedDict):
    """One queue of a reset.  Offsets are text."""

    queue: str
    broker: str
    queue_id: int
    min: str
    max: str
    committed: str | None  # None: none is stored
    in_memory: str | None
    target: str | None  # None: the offset stays
    change: str | None  # `+12`, `-3`, `0`; None: it stays, or none is stored
    again: int  # messages
    skipped: int
    notes: list[PlanNote]
    owner: str | None
    selected: bool


class ResetBar(TypedDict):
    """A bar of the histogram of store times."""

    at_ms: int  # its begin
    count: int  # messages, estimated


class ResetPlanAnswer(TypedDict):
    """A planned reset."""

    seq: str
    at_ms: int
    group: str
    topic: str
    target: str
    value: str | None
    method: str
    fingerprint: str
    online: bool
    online_members: int
    members: int
    refused: PlanRefusal | None  # None: it can be applied
    instead: NotRequired[PlanRefusal | None]  # real cluster: the reason for another method
    rows: list[PlannedRow]
    delivered_again: int
    skipped: int
    lag_after: int
    warnings: int
    catch_up_ms: int | None
    histogram: list[ResetBar]


class HashRing(TypedDict):
    """The ring of consistent hashing."""

    places: list[tuple[int, str]]  # position and client id
    queues: dict[str, int]  # position by queue


class RoomsPlan(TypedDict):
    """The rooms of the room strategies."""

    brokers: dict[str, str | None]
    members: dict[str, str | None]
    wanted: list[str]  # rooms that are read from


class ComparedStrategy(TypedDict):
    """The result of the same change with another strategy."""

    strategy: str
    moves: int
    switching: int  # queues that move when the group changes to it
    most: int
    least: int
    idle: int


class RebalancePlan(TypedDict):
    """A planned rebalance.  Members are client ids."""

    group: str
    topic: str
    strategy: str
    before: dict[str, list[str]]  # queues by member
    after: dict[str, list[str]]
    moves: int
    of: int
    idle: list[str]
    labels: dict[str, str]
    colours: dict[str, int]
    members: list[str]
    queues: list[str]
    ring: HashRing | None  # None: another strategy, or too many positions
    rooms: RoomsPlan | None  # None: another strategy
    compared: list[ComparedStrategy]
