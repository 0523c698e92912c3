"""The content of a store directory as plain values for JSON, with the names of RocketMQ's tools."""

import base64
import hashlib
from typing import Any

from sandbox.kernel.errors import CorruptRecord
from sandbox.message import msg_id
from sandbox.message.compression import decompress
from sandbox.message.message import StoredMessage
from sandbox.message.properties import KEYS, TAGS, UNIQ_KEY
from sandbox.message.string_hash import tags_code
from sandbox.store.reader import KeyQueryResult, StoreReader
from sandbox.store.reader_index import IndexFileReader

DIGEST_OVER_BYTES = 20_000  # larger bodies also get their SHA-256, which is easier to compare

Row = dict[str, Any]


def summary_row(store: StoreReader) -> Row:
    """Return a summary of the whole store."""
    queues, lock, checkpoint = [queue_row(store, *name) for name in store.queues()], store.lock(), store.checkpoint()
    files, consumed = store.log.run.files, store.consumer_offsets().items()
    return {
        "path": str(store.root),
        "abort": store.aborted,
        "lock": {"present": lock.present, "holder": lock.holder},
        "commitLog": {
            "files": len(files),
            "fileBytes": files[0].size_bytes if files else 0,
            "minOffset": store.min_physical_offset,
            "maxOffset": store.max_physical_offset(),
        },
        "queues": len(queues),
        "topics": sorted({row["topic"] for row in queues}),
        "messages": sum(row["maxOffset"] - row["minOffset"] for row in queues),
        "index": [index_row(file) for file in store.index_files()],
        "checkpoint": None
        if checkpoint is None
        else {
            "physicMsgTimestamp": checkpoint.log_ms,
            "logicsMsgTimestamp": checkpoint.queues_ms,
            "indexMsgTimestamp": checkpoint.index_ms,
        },
        "configuredTopics": sorted(store.topics()),
        "subscriptionGroups": sorted((store.config("subscriptionGroup") or {}).get("subscriptionGroupTable", {})),
        "consumerOffsets": {f"{topic}@{group}": offsets for (topic, group), offsets in consumed},
        "delayOffsets": store.delay_offsets(),
    }


def queue_row(store: StoreReader, topic: str, queue_id: int) -> Row:
    """Return a queue's minimum and maximum offset, and the store time of its first message.

    The store time is -1 for an empty queue, as a broker returns it.
    """
    min_offset, max_offset = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
    first = next(store.read(topic, queue_id, min_offset, min(min_offset + 1, max_offset)), None)
    return {
        "topic": topic,
        "queueId": queue_id,
        "minOffset": min_offset,
        "maxOffset": max_offset,
        "earliestStoreTime": first.store_ms if first else -1,
    }


def message_row(message: StoredMessage) -> Row:
    """Return one message.  `body` is the body as the application sent it, in base64.

    `body` is null when empty, as in Java, and for an unsupported compression; then `bodyLength` is null too.
    """
    unique, offset_id, body = message.properties.get(UNIQ_KEY), offset_msg_id(message), readable_body(message)
    row: Row = {
        "topic": message.topic,
        "queueId": message.queue_id,
        "queueOffset": message.queue_offset,
        "commitLogOffset": message.physical_offset,
        "storeSize": message.store_bytes,
        "msgId": unique or offset_id,
        "offsetMsgId": offset_id,
        "uniqKey": unique,
        "keys": message.properties.get(KEYS),
        "tags": message.properties.get(TAGS),
        "tagsCode": tags_code(message.properties.get(TAGS, "")),
        "bornTimestamp": message.born_ms,
        "storeTimestamp": message.store_ms,
        "bornHost": message.born_host,
        "storeHost": message.store_host,
        "bodyCRC": message.body_crc,
        "sysFlag": message.sys_flag,
        "flag": message.flag,
        "reconsumeTimes": message.reconsume_times,
        "preparedTransactionOffset": message.prepared_offset,
        "properties": dict(sorted(message.properties.items())),
        "bodyLength": None if body is None else len(body),
    }
    if body is not None and len(body) > DIGEST_OVER_BYTES:
        row["bodySha256"] = hashlib.sha256(body).hexdigest()
    row["body"] = base64.b64encode(body).decode() if body else None
    return row


def readable_body(message: StoredMessage) -> bytes | None:
    """Return the body as the application sent it.  None: an unsupported compression, or broken data."""
    try:
        return decompress(message.body, message.sys_flag)
    except CorruptRecord:
        return None


def offset_msg_id(message: StoredMessage) -> str:
    """Return the offset message id that a broker creates: its own address and the record's position."""
    ip, _, port = message.store_host.rpartition(":")
    return msg_id.encode(msg_id.host_bytes(ip.strip("[]"), int(port)), message.physical_offset)


def index_row(file: IndexFileReader) -> Row:
    header = file.header()
    return {
        "file": file.name,
        "slots": file.slots,
        "slotsUsed": header.slots_used,
        "room": file.entries,
        "entries": header.index_count - 1,
        "beginTimestamp": header.begin_ms,
        "endTimestamp": header.end_ms,
        "beginPhyOffset": header.begin_physical,
        "endPhyOffset": header.end_physical,
    }


def query_row(result: KeyQueryResult) -> Row:
    """Return the content of a QUERY_MESSAGE response for a key."""
    return {
        "indexLastUpdateTimestamp": result.last_update_ms,
        "indexLastUpdatePhyoffset": result.last_update_physical,
        "messages": [message_row(message) for message in result.messages],
    }
