"""Processor of PULL_MESSAGE and LITE_PULL_MESSAGE: answers now or when a message arrives."""

from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.broker.processors.pull_checks import PullChecks
from sandbox.broker.pull_hold import PULL_BYTES, HeldPull
from sandbox.broker.pulls import PullState
from sandbox.broker.stored_text import host_of
from sandbox.journal.events import OffsetMoved, PullAnswered, PullSuspended
from sandbox.kernel.errors import BrokerRefused
from sandbox.message import properties as props
from sandbox.message.filter import MessageFilter
from sandbox.message.message import InboundMessage
from sandbox.message.queue import MessageQueue
from sandbox.message.topic_names import OFFSET_MOVED_TOPIC
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import PullHeader
from sandbox.remoting.json_body import dumps, queue_json
from sandbox.store.results import GetMessageStatus, GetResult

FLAG_COMMIT_OFFSET = 1
FLAG_SUSPEND = 2
FLAG_SUBSCRIPTION = 4

MASTER_ID = 0

MAX_MESSAGES = 1_024  # of one pull; a client asks for 32

_CODES = {
    GetMessageStatus.FOUND: ResponseCode.SUCCESS,
    GetMessageStatus.NO_MATCHED_MESSAGE: ResponseCode.PULL_RETRY_IMMEDIATELY,
    GetMessageStatus.MESSAGE_WAS_REMOVING: ResponseCode.PULL_RETRY_IMMEDIATELY,
    GetMessageStatus.OFFSET_FOUND_NULL: ResponseCode.PULL_NOT_FOUND,
    GetMessageStatus.OFFSET_OVERFLOW_ONE: ResponseCode.PULL_NOT_FOUND,
    GetMessageStatus.OFFSET_OVERFLOW_BADLY: ResponseCode.PULL_OFFSET_MOVED,
    GetMessageStatus.OFFSET_TOO_SMALL: ResponseCode.PULL_OFFSET_MOVED,
}


class PullProcessor:
    """Handler of pulls.  RocketMQ: `PullMessageProcessor` (spec broker-behaviour 3)."""

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts
        self._checks = PullChecks(parts)
        config = parts.config
        self._broker = config.name
        self._corrects = config.is_master or config.offset_check_in_slave

    def handlers(self) -> dict[int, Handler]:
        return {RequestCode.PULL_MESSAGE: self.pull, RequestCode.LITE_PULL_MESSAGE: self.pull}

    def pull(self, c: RemotingCommand, channel: Channel) -> Answer:
        """Handle the first attempt of a pull: commit the offset it carries, then answer or hold it."""
        return self._answer(c, channel, held=None)

    def _answer(self, c: RemotingCommand, channel: Channel, *, held: HeldPull | None) -> Answer:
        try:
            header = PullHeader.from_ext(c.ext)
            group, topic, queue_id = header.group, header.topic, header.queue_id
            config, message_filter = self._checks.wanted(header, channel)
        except BrokerRefused as no:
            return c.reply(no.code, {}, remark=no.remark)
        parts = self._parts
        client_id = parts.consumers.client_id(group, channel)
        count = max(1, min(header.max_messages, MAX_MESSAGES))
        result = parts.store.get_message(topic, queue_id, header.queue_offset, count, message_filter)
        parts.stats.get(group, topic, result.count, len(result.records))
        code = self._code(header, result)
        next_offset = result.next_offset
        uncorrected = code == ResponseCode.PULL_OFFSET_MOVED and not self._corrects
        if uncorrected:
            code, next_offset = ResponseCode.PULL_RETRY_IMMEDIATELY, header.queue_offset
        mq = MessageQueue(topic, self._broker, queue_id)
        if held is None and header.sys_flag & FLAG_COMMIT_OFFSET and parts.config.is_master:
            parts.consumer_offsets.commit(group, topic, queue_id, header.commit_offset, "pull", client_id)
        if (
            code == ResponseCode.PULL_NOT_FOUND
            and header.sys_flag & FLAG_SUSPEND
            and held is None
            and self._suspend(c, channel, header, mq, client_id, message_filter)
        ):
            return None
        self._note(header, channel, mq, client_id, result, code, next_offset, held)
        suggest = config.broker_id if parts.config.slave_read or uncorrected else MASTER_ID
        if result.cold and parts.config.slave_read:
            suggest = config.which_broker_when_slow
        ext = {
            "suggestWhichBrokerId": str(suggest),
            "nextBeginOffset": str(next_offset),
            "minOffset": str(result.min_offset),
            "maxOffset": str(result.max_offset),
        }
        return c.reply(code, ext, result.records or None, remark=result.status.name)

    def _code(self, header: PullHeader, result: GetResult) -> ResponseCode:
        code = _CODES.get(result.status)
        if code is not None:
            return code
        # The queue is empty: a reader at 0 may wait, one that was further must be corrected.
        return ResponseCode.PULL_OFFSET_MOVED if header.queue_offset != 0 else ResponseCode.PULL_NOT_FOUND

    def _suspend(
        self,
        c: RemotingCommand,
        channel: Channel,
        header: PullHeader,
        mq: MessageQueue,
        client_id: str,
        message_filter: MessageFilter,
    ) -> bool:
        """Hold the pull; return False if too many are held, so that it must be answered at once."""
        parts = self._parts
        c.body = None  # not read, and not kept
        patience_ms = header.suspend_timeout_ms if parts.config.long_polling else parts.config.short_polling_ms
        now_ms = parts.clock.now_ms()

        def retry(held: HeldPull) -> None:
            answer = self._answer(c, channel, held=held)
            if answer is not None:
                parts.connections.send(channel, answer)

        pull = HeldPull(
            group=header.group,
            mq=mq,
            client_id=client_id,
            offset=header.queue_offset,
            wanted=message_filter,
            channel=channel,
            since_ms=now_ms,
            due_ms=now_ms + patience_ms,
            retry=retry,
            size_bytes=PULL_BYTES + sum(map(len, (c.ext or {}).values())),
        )
        if not parts.hold.suspend(pull):
            return False
        parts.pulls.note(header.group, mq, PullState(header.queue_offset, client_id, now_ms + patience_ms, now_ms))
        if parts.journal.tracing:
            parts.journal.write(
                PullSuspended(
                    group=header.group,
                    client_id=client_id,
                    topic=mq.topic,
                    broker=mq.broker,
                    queue_id=mq.queue_id,
                    offset=header.queue_offset,
                    patience_ms=patience_ms,
                )
            )
        return True

    def _note(
        self,
        header: PullHeader,
        channel: Channel,
        mq: MessageQueue,
        client_id: str,
        result: GetResult,
        code: ResponseCode,
        next_offset: int,
        held: HeldPull | None,
    ) -> None:
        """Record the answered pull in the table of pulls and the journal."""
        parts = self._parts
        now_ms = parts.clock.now_ms()
        parts.pulls.note(header.group, mq, PullState(next_offset, client_id, None, now_ms))
        if not header.sys_flag & FLAG_SUBSCRIPTION:  # else it is filtered by what the pull says, not by the group's
            parts.consumers.note_sifted(
                header.group, channel, mq.topic, result.skipped + result.refused, result.records
            )
        if parts.journal.tracing:
            parts.journal.write(
                PullAnswered(
                    group=header.group,
                    client_id=client_id,
                    topic=mq.topic,
                    broker=mq.broker,
                    queue_id=mq.queue_id,
                    asked=header.queue_offset,
                    next_offset=next_offset,
                    count=result.count,
                    bytes=len(result.records),
                    code=int(code),
                    held_ms=now_ms - held.since_ms if held else 0,
                    skipped_by_hash=result.skipped,
                    cold=result.cold,
                )
            )
        if code == ResponseCode.PULL_OFFSET_MOVED:
            self._offset_moved(header, mq, client_id, result, next_offset)

    def _offset_moved(
        self, header: PullHeader, mq: MessageQueue, client_id: str, result: GetResult, next_offset: int
    ) -> None:
        """Write the correction to the journal and, as RocketMQ does, to its own topic (tag and key are the group)."""
        parts = self._parts
        parts.journal.write(
            OffsetMoved(
                group=header.group,
                client_id=client_id,
                topic=mq.topic,
                broker=mq.broker,
                queue_id=mq.queue_id,
                asked=header.queue_offset,
                given=next_offset,
                status="PULL_OFFSET_MOVED",
            )
        )
        text = props.encode({props.TAGS: header.group, props.KEYS: header.group})
        body = dumps(
            {
                "consumerGroup": header.group,
                "messageQueue": queue_json(mq),
                "offsetNew": next_offset,
                "offsetRequest": header.queue_offset,
            }
        )
        host = host_of(parts.config.stored_address)
        parts.store.put_quietly(
            InboundMessage(
                OFFSET_MOVED_TOPIC, 0, body, text.encode(), 0, 0, 0, parts.clock.now_ms(), host, wait_store_ok=False
            )
        )
