"""Puts: invalid messages are refused, the others get queue offsets."""

import logging

from sandbox.kernel.errors import StoreFull
from sandbox.message import record
from sandbox.message.message import InboundBatch, InboundMessage
from sandbox.message.sys_flag import HOSTS_V6, OUT_OF_QUEUE
from sandbox.store.cleaning import CleaningService
from sandbox.store.commit_log import CommitLog
from sandbox.store.config import MessageStoreConfig
from sandbox.store.consume_queue import has_a_place
from sandbox.store.reput import ReputMessageService
from sandbox.store.results import PutMessageStatus, PutResult
from sandbox.store.stats import StoreStats

log = logging.getLogger(__name__)

_TOPICS_REMEMBERED = 4096
_FIXED = record.FIXED_BYTES - 1  # without the topic's length byte, which is in its part

_PUT_OK = PutMessageStatus.PUT_OK
_result = tuple.__new__  # a third of the cost of the NamedTuple's own constructor, in the hottest place


class MessageWriter:
    """The write side of a store, with the `topicQueueTable`.

    RocketMQ: the put part of `DefaultMessageStore` and `CommitLog`.  Limits are those of spec store-format 2.6; a
    record, or a batch, must also fit into one file with its blank.
    """

    def __init__(
        self,
        config: MessageStoreConfig,
        commit_log: CommitLog,
        reput: ReputMessageService,
        cleaning: CleaningService,
        stats: StoreStats,
        *,
        refuses: bool,
    ) -> None:
        self._max_message_bytes = config.max_message_bytes
        self._max_record_bytes = config.commit_log_file_bytes - record.BLANK_BYTES
        self._log = commit_log
        self._reput = reput
        self._cleaning = cleaning
        self._stats = stats
        self._topic_parts: dict[str, bytes] = {}
        self.next_offset: dict[tuple[str, int], int] = {}
        self._refuses = refuses  # a slave: its log comes from the master only
        self.opened = False
        self.failing = False  # a flush failed, or there was no room for a queue file

    @property
    def writable(self) -> bool:
        return self.opened and not self.failing and not self._cleaning.full

    def put(self, m: InboundMessage) -> PutResult:
        """Append one message, or return the status that refuses it."""
        if not self.opened or self.failing or self._cleaning.full or self._refuses:
            return PutResult(PutMessageStatus.SERVICE_NOT_AVAILABLE)
        topic, queue_id, body, text, _, sys_flag, _, _, _, _, _, _ = m
        part = self._topic_parts.get(topic) or self._topic_part(topic)
        body_bytes, text_bytes = len(body), len(text)
        if part is None or body_bytes > self._max_message_bytes:
            return PutResult(PutMessageStatus.MESSAGE_ILLEGAL)
        if text_bytes > record.MAX_PROPERTIES_BYTES:
            return PutResult(PutMessageStatus.PROPERTIES_SIZE_EXCEEDED)
        size = _FIXED + len(part) + body_bytes + text_bytes  # as `size_of`, without the call
        if sys_flag & HOSTS_V6:
            size = record.size_of(body_bytes, len(part) - 1, text_bytes, sys_flag)
        if size > self._max_record_bytes:
            return PutResult(PutMessageStatus.MESSAGE_ILLEGAL)
        key = (topic, queue_id)
        counted = not sys_flag & OUT_OF_QUEUE
        queue_offset = self.next_offset.get(key, 0) if counted else 0
        try:
            physical, now_ms = self._log.append(m, size, part, queue_offset)
        except StoreFull as error:
            log.warning("cannot append: %s", error)
            return PutResult(PutMessageStatus.CREATE_MAPEDFILE_FAILED)
        if counted:
            self.next_offset[key] = queue_offset + 1
        self._reput.add(key, queue_offset, sys_flag, now_ms, physical, size, text)
        self._stats.calls += 1
        return _result(PutResult, (_PUT_OK, physical, size, now_ms, queue_offset, 1, ()))

    def put_batch(self, batch: InboundBatch) -> PutResult:
        """Append a batch for one queue: consecutive offsets, one file, all or nothing."""
        if not self.writable or self._refuses or not batch.bodies:
            return PutResult(PutMessageStatus.SERVICE_NOT_AVAILABLE)
        topic, queue_id, bodies, texts, _, sys_flag, _, _, _, _ = batch
        part = self._topic_parts.get(topic) or self._topic_part(topic)
        body_sizes, text_sizes = list(map(len, bodies)), list(map(len, texts))
        if part is None or sum(body_sizes) > self._max_message_bytes:
            return PutResult(PutMessageStatus.MESSAGE_ILLEGAL)
        if max(text_sizes) > record.MAX_PROPERTIES_BYTES:
            return PutResult(PutMessageStatus.PROPERTIES_SIZE_EXCEEDED)
        fixed = record.size_of(0, len(part) - 1, 0, sys_flag)
        sizes = [fixed + body + text for body, text in zip(body_sizes, text_sizes, strict=True)]
        total = sum(sizes)
        if total > self._max_record_bytes:
            return PutResult(PutMessageStatus.MESSAGE_ILLEGAL)
        key = (topic, queue_id)
        queue_offset = self.next_offset.get(key, 0)
        try:
            physicals, now_ms = self._log.append_batch(batch, sizes, part, queue_offset)
        except StoreFull as error:
            log.warning("cannot append a batch: %s", error)
            return PutResult(PutMessageStatus.CREATE_MAPEDFILE_FAILED)
        self.next_offset[key] = queue_offset + len(sizes)
        self._reput.add_batch(key, queue_offset, sys_flag, now_ms, physicals, sizes, texts)
        self._stats.calls += 1
        return _result(PutResult, (_PUT_OK, physicals[0], total, now_ms, queue_offset, len(sizes), tuple(physicals)))

    def _topic_part(self, topic: str) -> bytes | None:
        """Return the topic in the format of records; None if its name is too long, or invalid for a directory."""
        try:
            part = record.topic_part(topic)
        except ValueError:
            return None
        if not has_a_place(topic):
            return None
        if len(self._topic_parts) >= _TOPICS_REMEMBERED:
            self._topic_parts.clear()
        self._topic_parts[topic] = part
        return part
