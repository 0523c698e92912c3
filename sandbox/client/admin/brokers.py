"""Requests to one broker: its state and its tables."""

from typing import NamedTuple

from sandbox.client.requests import Requests
from sandbox.remoting.bodies import (
    ConsumeStatsList,
    KVTable,
    OffsetWrapper,
    Settings,
    StatsData,
    SubscriptionGroupTable,
    TopicConfigTable,
    TopicList,
)
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import AllConsumeStatsHeader, StatsHeader


class BrokerRuntime(NamedTuple):
    """The answer to 28: texts by name (spec remoting 3.6).  The properties are None where a release leaves it out."""

    texts: dict[str, str]

    @property
    def version(self) -> str | None:
        """`V4_9_7`, `V5_3_3`."""
        return self.texts.get("brokerVersionDesc")

    @property
    def boot_ms(self) -> int | None:
        return _whole(self.texts.get("bootTimestamp"))

    @property
    def put_per_s(self) -> float | None:
        """Messages stored a second, over the last 10 s."""
        return _first(self.texts.get("putTps"))

    @property
    def get_per_s(self) -> float | None:
        """Messages given out a second, over the last 10 s; 4.9 spells it its own way."""
        return _first(self.texts.get("getTransferredTps") or self.texts.get("getTransferedTps"))

    @property
    def log_min_offset(self) -> int | None:
        return _whole(self.texts.get("commitLogMinOffset"))

    @property
    def log_max_offset(self) -> int | None:
        return _whole(self.texts.get("commitLogMaxOffset"))

    @property
    def earliest_store_ms(self) -> int | None:
        """Store time of the oldest message; None when there is none, and of 4.9 while its log is under 8 MiB."""
        stored_ms = _whole(self.texts.get("earliestMessageTimeStamp"))
        return None if stored_ms is None or stored_ms < 0 else stored_ms

    @property
    def disk_used(self) -> float | None:
        """Share of the commit log's disk that is in use, 0 to 1."""
        return _first(self.texts.get("commitLogDiskRatio"))

    @property
    def behind_bytes(self) -> int | None:
        """The bytes of the log that no consume queue points to yet; None when not reported."""
        return _whole(self.texts.get("dispatchBehindBytes"))


class BrokerQuestions:
    """Each to the broker at `address`."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def runtime(self, address: str) -> BrokerRuntime:
        """Version, rates, ends of the log, disk (28)."""
        return await self._requests.read(
            address, RequestCode.GET_BROKER_RUNTIME_INFO, None, lambda c: BrokerRuntime(KVTable.decode(c.body).table)
        )

    async def config(self, address: str) -> dict[str, str]:
        """Every setting (26)."""
        return await self._requests.read(
            address, RequestCode.GET_BROKER_CONFIG, None, lambda c: Settings.decode(c.body).values
        )

    async def topic_configs(self, address: str) -> TopicConfigTable:
        """Every topic the broker has (21)."""
        return await self._requests.read(
            address, RequestCode.GET_ALL_TOPIC_CONFIG, None, lambda c: TopicConfigTable.decode(c.body)
        )

    async def subscription_groups(self, address: str) -> SubscriptionGroupTable:
        """Every consumer group the broker has (201)."""
        return await self._requests.read(
            address, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, None, lambda c: SubscriptionGroupTable.decode(c.body)
        )

    async def consumer_offsets(self, address: str) -> OffsetWrapper:
        """Every committed offset (43)."""
        return await self._requests.read(
            address, RequestCode.GET_ALL_CONSUMER_OFFSET, None, lambda c: OffsetWrapper.decode(c.body)
        )

    async def consume_stats(self, address: str) -> ConsumeStatsList:
        """Every group with its queues (317); expensive on a broker with many."""
        return await self._requests.read(
            address,
            RequestCode.GET_BROKER_CONSUME_STATS,
            AllConsumeStatsHeader(),
            lambda c: ConsumeStatsList.decode(c.body),
        )

    async def counter(self, address: str, name: str, key: str) -> StatsData:
        """One counter (315), such as TOPIC_PUT_NUMS of a topic; BrokerRefused while nothing was counted."""
        return await self._requests.read(
            address, RequestCode.VIEW_BROKER_STATS_DATA, StatsHeader(name, key), lambda c: StatsData.decode(c.body)
        )

    async def system_topics(self, address: str) -> tuple[str, ...]:
        """Topics of the broker's own (305)."""
        return await self._requests.read(
            address, RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER, None, lambda c: TopicList.decode(c.body).topics
        )


def _whole(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _first(text: str | None) -> float | None:
    """The first of the means over 10, 60 and 600 s."""
    try:
        return float(text.split()[0]) if text and text.split() else None
    except ValueError:
        return None
