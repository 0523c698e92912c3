"""What a member says of itself when an administrator asks (request 307)."""

from typing import TYPE_CHECKING

from sandbox.client.process_queue import ProcessQueue
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import ConsumerData
from sandbox.remoting.command import VERSION_4_9_8
from sandbox.remoting.json_body import dumps, queue_key

if TYPE_CHECKING:
    from sandbox.client.push_consumer import PushConsumer

MIB = 1024 * 1024


def running_info(consumer: "PushConsumer") -> bytes:
    """The body of the answer.  RocketMQ: `ConsumerRunningInfo`; statistics per topic are not kept."""
    config = consumer.config
    return dumps({
        "properties": {
            "PROP_CLIENT_VERSION": str(VERSION_4_9_8),
            "PROP_CONSUMEORDERLY": "true" if config.orderly else "false",
            "PROP_CONSUMER_START_TIMESTAMP": str(consumer.since_ms or 0),
            "PROP_CONSUME_TYPE": "CONSUME_PASSIVELY",
            "PROP_NAMESERVER_ADDR": ";".join(consumer.instance.config.name_servers),
            "PROP_THREADPOOL_CORE_SIZE": str(consumer.service.threads.size),
            "consumeFromWhere": config.from_where.value,
            "consumeMessageBatchMaxSize": str(config.consume_batch),
            "consumerGroup": consumer.group,
            "messageModel": config.model.value,
            "pullBatchSize": str(config.pull_batch),
            "pullThresholdForQueue": str(consumer.threshold_for_queue),
        },
        "mqTable": {
            queue_key(mq): _queue_info(mq, pq, consumer.offset_store.read_memory(mq))
            for mq, pq in sorted(consumer.process_queues.items(), key=lambda item: item[0])
        },
        "statusTable": {},
        "subscriptionSet": [subscription.data().to_json() for subscription in consumer.subscriptions.values()],
    })  # fmt: skip


def active_running_info(group: str, since_ms: int | None, data: ConsumerData) -> bytes:
    """What a pull or lite pull consumer says: it shows no queues."""
    return dumps({
        "properties": {
            "PROP_CLIENT_VERSION": str(VERSION_4_9_8),
            "PROP_CONSUMER_START_TIMESTAMP": str(since_ms or 0),
            "PROP_CONSUME_TYPE": data.consume_type,
            "consumerGroup": group,
            "messageModel": data.message_model,
        },
        "mqTable": {},
        "statusTable": {},
        "subscriptionSet": [subscription.to_json() for subscription in data.subscriptions],
    })  # fmt: skip


def _queue_info(mq: MessageQueue, pq: ProcessQueue, committed: int | None) -> dict[str, object]:
    cached, taken = pq.ends()
    return {
        "cachedMsgCount": pq.cached,
        "cachedMsgMaxOffset": cached[1],
        "cachedMsgMinOffset": cached[0],
        "cachedMsgSizeInMiB": pq.bytes // MIB,
        "commitOffset": -1 if committed is None else committed,
        "droped": pq.dropped,  # spelled so
        "lastConsumeTimestamp": pq.last_consume_ms,
        "lastLockTimestamp": pq.last_lock_ms,
        "lastPullTimestamp": pq.last_pull_ms,
        "locked": pq.locked,
        "transactionMsgCount": pq.count - pq.cached,
        "transactionMsgMaxOffset": taken[1],
        "transactionMsgMinOffset": taken[0],
        "tryUnlockTimes": pq.unlock_tries,
    }
