"""Administrative requests to one broker: its state and its tables."""

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
    """Runtime figures of a broker, the answer to request 28: texts by name (spec remoting 3.6).

    A property is None if the broker's release does not report the value.
    """

    texts: dict[str, str]

    @property
    def version(self) -> str | None:
        """Version of the broker, such as `V4_9_7` or `V5_3_3`."""
        return self.texts.get("brokerVersionDesc")

    @property
    def boot_ms(self) -> int | None:
        return _whole(self.texts.get("bootTimestamp"))

    @property
    def put_per_s(self) -> float | None:
        """Messages stored per second, mean of the last 10 s."""
        return _first(self.texts.get("putTps"))

    @property
    def get_per_s(self) -> float | None:
        """Messages delivered per second, mean of the last 10 s.  Release 4.9 spells the key `getTransferedTps`."""
        return _first(self.texts.get("getTransferredTps") or self.texts.get("getTransferedTps"))

    @property
    def log_min_offset(self) -> int | None:
        return _whole(self.texts.get("commitLogMinOffset"))

    @property
    def log_max_offset(self) -> int | None:
        return _whole(self.texts.get("commitLogMaxOffset"))

    @property
    def earliest_store_ms(self) -> int | None:
        """Store time of the oldest message.

        None if the broker has no message; from 4.9 also while its log is under 8 MiB.
        """
        stored_ms = _whole(self.texts.get("earliestMessageTimeStamp"))
        return None if stored_ms is None or stored_ms < 0 else stored_ms

    @property
    def disk_used(self) -> float | None:
        """Share of the commit log's disk that is in use, 0 to 1."""
        return _first(self.texts.get("commitLogDiskRatio"))

    @property
    def behind_bytes(self) -> int | None:
        """Bytes of the commit log that are not dispatched to a consume queue yet.  None if not reported."""
        return _whole(self.texts.get("dispatchBehindBytes"))


class BrokerQuestions:
    """Administrative requests to one broker; each method sends one to the broker at `address`."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def runtime(self, address: str) -> BrokerRuntime:
        """Return the broker's version, rates, log limits and disk use (28)."""
        return await self._requests.read(
            address, RequestCode.GET_BROKER_RUNTIME_INFO, None, lambda c: BrokerRuntime(KVTable.decode(c.body).table)
        )

    async def config(self, address: str) -> dict[str, str]:
        """Return every setting of the broker, by name (26)."""
        return await self._requests.read(
            address, RequestCode.GET_BROKER_CONFIG, None, lambda c: Settings.decode(c.body).values
        )

    async def topic_configs(self, address: str) -> TopicConfigTable:
        """Return the configuration of every topic on the broker (21)."""
        return await self._requests.read(
            address, RequestCode.GET_ALL_TOPIC_CONFIG, None, lambda c: TopicConfigTable.decode(c.body)
        )

    async def subscription_groups(self, address: str) -> SubscriptionGroupTable:
        """Return the configuration of every consumer group on the broker (201)."""
        return await self._requests.read(
            address, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, None, lambda c: SubscriptionGroupTable.decode(c.body)
        )

    async def consumer_offsets(self, address: str) -> OffsetWrapper:
        """Return every committed offset on the broker (43)."""
        return await self._requests.read(
            address, RequestCode.GET_ALL_CONSUMER_OFFSET, None, lambda c: OffsetWrapper.decode(c.body)
        )

    async def consume_stats(self, address: str) -> ConsumeStatsList:
        """Return the offsets of every group in its queues (317).  Expensive on a broker with many groups."""
        return await self._requests.read(
            address,
            RequestCode.GET_BROKER_CONSUME_STATS,
            AllConsumeStatsHeader(),
            lambda c: ConsumeStatsList.decode(c.body),
        )

    async def counter(self, address: str, name: str, key: str) -> StatsData:
        """Return one counter of the broker (315), such as TOPIC_PUT_NUMS of topic `key`.

        Raises BrokerRefused while the broker has counted nothing under this name and key.
        """
        return await self._requests.read(
            address, RequestCode.VIEW_BROKER_STATS_DATA, StatsHeader(name, key), lambda c: StatsData.decode(c.body)
        )

    async def system_topics(self, address: str) -> tuple[str, ...]:
        """Return the names of the broker's system topics (305)."""
        return await self._requests.read(
            address, RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER, None, lambda c: TopicList.decode(c.body).topics
        )


def _whole(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _first(text: str | None) -> float | None:
    """Return the first number of a text with the means over 10, 60 and 600 s; None without one."""
    try:
        return float(text.split()[0]) if text and text.split() else None
    except ValueError:
        return None
