"""Answers of the questions for lookups: a key in the index (`walk-index`), a topic's route (`route`)."""

from typing import NotRequired, TypedDict, final

from sandbox.queries.rows.message_row import MessageRow


class WalkStep(TypedDict):
    """One entry of a slot's chain."""

    no: int
    position: int
    hash: int
    physical: str
    time_diff_s: int
    at_ms: int
    previous: int
    verdict: str  # match, other_key, other_hash, too_old, too_new
    message: MessageRow | None


class WalkedFile(TypedDict):
    """One index file of a lookup."""

    name: str
    begin_ms: int
    end_ms: int
    searched: bool
    why: str  # in_range, out_of_range, not_reached
    slots: int
    slot: int
    slot_position: int
    slot_value: int | None
    chain: list[WalkStep]


class WalkEnd(TypedDict):
    """The end of a lookup: its code, and values for its sentence."""

    code: str
    values: dict[str, int | None]  # slot, entries and files, for the sentence


class IndexWalk(TypedDict):
    """The steps from a key to its messages."""

    broker: str | None
    topic: str
    key: str
    text: str
    hash_signed: int
    hash: int
    from_ms: int | None
    to_ms: int | None
    files: list[WalkedFile]
    told: NotRequired[bool]  # real cluster: False, the files are unknown
    found: list[MessageRow]
    ended: WalkEnd
    scanned_instead: int | None  # messages that a search without the index reads


class QueueData(TypedDict):
    """A broker's queues in a route, with RocketMQ's names."""

    brokerName: str
    readQueueNums: int
    writeQueueNums: int
    perm: int


class BrokerData(TypedDict):
    """A broker's addresses in a route, with RocketMQ's names."""

    brokerName: str
    brokerAddrs: dict[str, str]  # by broker id


class TopicRoute(TypedDict):
    """The body of a route response, with RocketMQ's names."""

    queueDatas: list[QueueData]
    brokerDatas: list[BrokerData]


class ServerRoute(TypedDict):
    """The route that one name server returns."""

    name_server: str
    known: bool | None  # None: it is down
    route: TopicRoute | None  # None: it is down, or it does not know the topic
    code: int | None


@final
class OneRoute(ServerRoute):
    """The route of one name server only."""

    topic: str


@final
class AllRoutes(TypedDict):
    """The routes of all name servers."""

    topic: str
    servers: list[ServerRoute]
