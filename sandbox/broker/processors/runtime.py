"""Processor of administrators' requests for runtime figures and file deletion."""

from math import ceil

from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.remoting.bodies import KVTable
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.json_body import dumps

VERSION_NAME = "V4_9_8"
NO_QUEUE = (
    "sendThreadPoolQueueSize",
    "pullThreadPoolQueueSize",
    "queryThreadPoolQueueSize",
    "EndTransactionQueueSize",
    "sendThreadPoolQueueHeadWaitTimeMills",
    "pullThreadPoolQueueHeadWaitTimeMills",
    "queryThreadPoolQueueHeadWaitTimeMills",
    "pageCacheLockTimeMills",
    "dispatchMaxBuffer",
    "putMessageEntireTimeMax",
    "getMessageEntireTimeMax",
)
# RocketMQ's values in its default configuration; here these are neither limited nor measured.
CONSTANTS = {
    "sendThreadPoolQueueCapacity": "10000",
    "pullThreadPoolQueueCapacity": "100000",
    "queryThreadPoolQueueCapacity": "20000",
    "EndTransactionThreadPoolQueueCapacity": "100000",
    "putLatency99": "0.00",
    "putLatency999": "0.00",
    "remainTransientStoreBufferNumbs": "2147483647",
}
UNITS = "KMGTPE"


class RuntimeProcessor:
    """Handlers of runtime requests: `AdminBrokerProcessor.getBrokerRuntimeInfo` and similar ones (spec remoting
    3.6).
    """

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts

    def handlers(self) -> dict[int, Handler]:
        return {
            RequestCode.GET_BROKER_RUNTIME_INFO: self.runtime,
            RequestCode.GET_ALL_PRODUCER_INFO: self.producers,
            RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE: self.clean_queues,
            RequestCode.CLEAN_UNUSED_TOPIC: self.clean_unused,
            RequestCode.DELETE_EXPIRED_COMMITLOG: self.delete_expired,
        }

    def runtime(self, c: RemotingCommand, _: Channel) -> Answer:
        return c.reply(ResponseCode.SUCCESS, body=KVTable(dict(sorted(self.figures().items()))).encode())

    def figures(self) -> dict[str, str]:
        """Return the runtime figures as texts.

        Thread pool queues are always empty, because this broker has no pools.
        """
        parts, store, stats = self._parts, self._parts.store, self._parts.stats
        at_s, taken = stats.now_s(), store.stats
        put_tps = taken.puts.means(taken.now_s())
        put, got = taken.puts, stats.messages_got
        puts = put.value or 1  # as RocketMQ, which divides by it
        up_s = (parts.clock.now_ms() - taken.boot_ms) // 1000
        ratio = "1.0" if store.disk_state == "full" else str(ceil(store.cleaning.used_ratio() * 100) / 100)
        texts = {**dict.fromkeys(NO_QUEUE, "0"), **CONSTANTS}
        texts.update(
            {
                "brokerVersionDesc": VERSION_NAME,
                "brokerVersion": "409",
                "brokerActive": "true",
                "bootTimestamp": str(taken.boot_ms),
                "runtime": _span(up_s),
                "startAcceptSendRequestTimeStamp": str(parts.config.start_accept_send_ms),
                "putTps": put_tps,
                "getTransferedTps": got.means(at_s),
                "getTransferredTps": got.means(at_s),
                "getFoundTps": stats.pulls_found.means(at_s),
                "getMissTps": stats.pulls_missed.means(at_s),
                "getTotalTps": _sums(stats.pulls_found.means(at_s), stats.pulls_missed.means(at_s)),
                "msgPutTotalYesterdayMorning": str(taken.mornings.yesterday),
                "msgPutTotalTodayMorning": str(taken.mornings.today),
                "msgPutTotalTodayNow": str(put.value),
                "msgGetTotalYesterdayMorning": str(stats.mornings_got.yesterday),
                "msgGetTotalTodayMorning": str(stats.mornings_got.today),
                "msgGetTotalTodayNow": str(got.value),
                "putMessageTimesTotal": str(puts),
                "putMessageFailedTimes": str(stats.puts_failed),
                "putMessageSizeTotal": str(taken.bytes),
                "putMessageAverageSize": str(taken.bytes / puts),
                "putMessageDistributeTime": taken.put_times(),
                "commitLogMinOffset": str(store.min_physical_offset if store.log.files.files else -1),
                "commitLogMaxOffset": str(store.max_physical_offset),
                "dispatchBehindBytes": str(store.max_physical_offset - store.dispatched_offset),
                "remainHowManyDataToFlush": _human(store.max_physical_offset - store.flushed_offset),
                "commitLogDiskRatio": ratio,
                f"commitLogDiskRatio_{self._log_path()}": ratio,
                "totalMemKBytes": str(store.config.memory_bytes // 1024),  # `exportMetrics` reads it; RocketMQ has none
                "consumeQueueDiskRatio": ratio,
                "earliestMessageTimeStamp": str(self._earliest_ms()),
            }
        )
        space = store.cleaning.space()
        if space is not None:
            texts["commitLogDirCapacity"] = f"Total : {_human(space[0])}, Free : {_human(space[1])}."
        for level, offset in sorted(parts.delay.table.items()):
            newest = store.max_offset("SCHEDULE_TOPIC_XXXX", level - 1)
            texts[f"scheduleMessageOffset_{level}"] = f"{offset},{newest}"
        return texts

    def producers(self, c: RemotingCommand, _: Channel) -> Answer:
        """Answer with every producer by group, in the form of 4.9.8 (which its own client cannot read)."""
        data = {
            group: [
                {
                    "clientId": info.client_id,
                    "language": info.language,
                    "version": info.version,
                    "lastUpdateTimestamp": info.last_update_ms,
                    "remoteIP": f"/{info.channel.remote}",
                }
                for info in channels.values()
            ]
            for group, channels in sorted(self._parts.producers.groups.items())
        }
        return c.reply(ResponseCode.SUCCESS, body=dumps({"data": data}))

    def clean_queues(self, c: RemotingCommand, _: Channel) -> Answer:
        """Delete expired files.  Queue files are deleted with the log files that they refer to."""
        self._parts.store.clean(manual=False)
        return c.reply(ResponseCode.SUCCESS)

    def clean_unused(self, c: RemotingCommand, _: Channel) -> Answer:
        """Delete queues of topics that no longer exist."""
        known = {*self._parts.topics.table, *self._parts.topics.system}
        for topic in sorted({topic for topic, _ in self._parts.store.queues()} - known):
            self._parts.store.delete_topic(topic)
        return c.reply(ResponseCode.SUCCESS)

    def delete_expired(self, c: RemotingCommand, _: Channel) -> Answer:
        self._parts.store.clean(manual=True)
        return c.reply(ResponseCode.SUCCESS)

    def _log_path(self) -> str:
        """Return the path of the commit log; if the disk size is a limit of the sandbox, a relative path."""
        store = self._parts.store
        return store.disk.where("commitlog") if store.config.store_limit_bytes is None else "store/commitlog"

    def _earliest_ms(self) -> int:
        """Return the store time of the oldest record in ms, −1 if the log has none."""
        oldest = self._parts.store.read_message(self._parts.store.min_physical_offset)
        return oldest.store_ms if oldest is not None else -1


def _span(seconds: int) -> str:
    days, rest = divmod(seconds, 86_400)
    return f"[ {days} days, {rest // 3600} hours, {rest // 60 % 60} minutes, {rest % 60} seconds ]"


def _human(size: int) -> str:
    """Return a byte count as text with a unit.  RocketMQ: `MixAll.humanReadableByteCount`."""
    power = max(0, (size.bit_length() - 1) // 10)
    return f"{size / 1024**power:.1f} {UNITS[power - 1]}iB" if power else f"{size} B"


def _sums(left: str, right: str) -> str:
    """Add two rows of averages; a missing value counts as 0, as in RocketMQ."""
    pairs = zip(left.split(" "), right.split(" "), strict=True)
    return " ".join(str(float(first or 0) + float(other or 0)) for first, other in pairs)
