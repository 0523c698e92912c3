"""What the broker says of itself, and its files when an administrator asks for cleaning."""

from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.remoting.bodies import KVTable
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.json_body import dumps

VERSION_NAME = "V4_9_8"
NO_QUEUE = ("sendThreadPoolQueueSize", "pullThreadPoolQueueSize", "queryThreadPoolQueueSize", "EndTransactionQueueSize",
            "sendThreadPoolQueueHeadWaitTimeMills", "pullThreadPoolQueueHeadWaitTimeMills",
            "queryThreadPoolQueueHeadWaitTimeMills", "pageCacheLockTimeMills")  # fmt: skip
MESSAGE_TOTALS = ("msgPutTotalYesterdayMorning", "msgPutTotalTodayMorning", "msgGetTotalYesterdayMorning",
                  "msgGetTotalTodayMorning")  # fmt: skip


class RuntimeProcessor:
    """RocketMQ: `AdminBrokerProcessor.getBrokerRuntimeInfo` and its neighbours (spec remoting 3.6)."""

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts

    def handlers(self) -> dict[int, Handler]:
        return {RequestCode.GET_BROKER_RUNTIME_INFO: self.runtime,
                RequestCode.GET_ALL_PRODUCER_INFO: self.producers,
                RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE: self.clean_queues,
                RequestCode.CLEAN_UNUSED_TOPIC: self.clean_unused,
                RequestCode.DELETE_EXPIRED_COMMITLOG: self.delete_expired}  # fmt: skip

    def runtime(self, c: RemotingCommand, _: Channel) -> Answer:
        return c.reply(ResponseCode.SUCCESS, body=KVTable(dict(sorted(self.figures().items()))).encode())

    def figures(self) -> dict[str, str]:
        """All values are texts.  There are no thread pools here, so nothing ever queues in them."""
        parts, store, stats = self._parts, self._parts.store, self._parts.stats
        put, got = f"{stats.put_per_s()}  ", f"{stats.get_per_s()}  "  # means of 10, 60 and 600 s; two are left out
        up_s = (parts.clock.now_ms() - stats.boot_ms) // 1000
        texts = dict.fromkeys(NO_QUEUE + MESSAGE_TOTALS, "0")
        texts.update({
            "brokerVersionDesc": VERSION_NAME, "brokerVersion": "409", "brokerActive": "true",
            "bootTimestamp": str(stats.boot_ms), "runtime": _span(up_s),
            "startAcceptSendRequestTimeStamp": str(parts.config.start_accept_send_ms),
            "putTps": put, "getTransferedTps": got, "getTransferredTps": got, "getFoundTps": got, "getTotalTps": got,
            "getMissTps": "0.0  ", "msgPutTotalTodayNow": str(stats.put_total),
            "msgGetTotalTodayNow": str(stats.get_total), "putMessageTimesTotal": str(stats.put_total),
            "putMessageFailedTimes": str(stats.puts_failed), "commitLogMinOffset": str(store.min_physical_offset),
            "commitLogMaxOffset": str(store.max_physical_offset),
            "dispatchBehindBytes": str(store.max_physical_offset - store.dispatched_offset),
            "remainHowManyDataToFlush": f"{store.max_physical_offset - store.flushed_offset} B",
            "commitLogDiskRatio": "1.0" if store.disk_state == "full" else "0.0",
            "earliestMessageTimeStamp": str(self._earliest_ms())})
        for level, offset in sorted(parts.delay.table.items()):
            newest = store.max_offset("SCHEDULE_TOPIC_XXXX", level - 1)
            texts[f"scheduleMessageOffset_{level}"] = f"{offset},{newest}"
        return texts

    def producers(self, c: RemotingCommand, _: Channel) -> Answer:
        """Every producer by group, in the form of 4.9.8 (which its own client cannot read)."""
        data = {group: [{"clientId": info.client_id, "language": info.language, "version": info.version,
                         "lastUpdateTimestamp": info.last_update_ms, "remoteIP": f"/{info.channel.remote}"}
                        for info in channels.values()]
                for group, channels in sorted(self._parts.producers.groups.items())}
        return c.reply(ResponseCode.SUCCESS, body=dumps({"data": data}))

    def clean_queues(self, c: RemotingCommand, _: Channel) -> Answer:
        """Queue files go together with the log files they point to."""
        self._parts.store.clean(manual=False)
        return c.reply(ResponseCode.SUCCESS)

    def clean_unused(self, c: RemotingCommand, _: Channel) -> Answer:
        """Drop queues of topics that are no topics any more."""
        known = {*self._parts.topics.table, *self._parts.topics.system}
        for topic in sorted({topic for topic, _ in self._parts.store.queues()} - known):
            self._parts.store.delete_topic(topic)
        return c.reply(ResponseCode.SUCCESS)

    def delete_expired(self, c: RemotingCommand, _: Channel) -> Answer:
        self._parts.store.clean(manual=True)
        return c.reply(ResponseCode.SUCCESS)

    def _earliest_ms(self) -> int:
        """Store time of the oldest record; -1: there is none."""
        oldest = self._parts.store.read_message(self._parts.store.min_physical_offset)
        return oldest.store_ms if oldest is not None else -1


def _span(seconds: int) -> str:
    days, rest = divmod(seconds, 86_400)
    return f"[ {days} days, {rest // 3600} hours, {rest // 60 % 60} minutes, {rest % 60} seconds ]"
