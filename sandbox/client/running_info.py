"""What a member says of itself when an administrator asks (request 307)."""

from typing import TYPE_CHECKING

from sandbox.client.process_queue import ProcessQueue
from sandbox.remoting.bodies import ConsumerData, QueueRunningInfo, RunningInfo
from sandbox.remoting.command import VERSION_4_9_8

if TYPE_CHECKING:
    from sandbox.client.push_consumer import PushConsumer

MIB = 1024 * 1024


def running_info(consumer: "PushConsumer") -> bytes:
    """The body of the answer; statistics per topic are not kept."""
    config = consumer.config
    return RunningInfo(
        properties={
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
        queues={mq: _queue_info(pq, consumer.offset_store.read_memory(mq))
                for mq, pq in sorted(consumer.process_queues.items(), key=lambda item: item[0])},
        subscriptions=tuple(subscription.data() for subscription in consumer.subscriptions.values()),
    ).encode()  # fmt: skip


def active_running_info(group: str, since_ms: int | None, data: ConsumerData) -> bytes:
    """What a pull or lite pull consumer says: it shows no queues."""
    return RunningInfo(
        properties={
            "PROP_CLIENT_VERSION": str(VERSION_4_9_8),
            "PROP_CONSUMER_START_TIMESTAMP": str(since_ms or 0),
            "PROP_CONSUME_TYPE": data.consume_type,
            "consumerGroup": group,
            "messageModel": data.message_model,
        },
        queues={},
        subscriptions=data.subscriptions,
    ).encode()  # fmt: skip


def _queue_info(pq: ProcessQueue, committed: int | None) -> QueueRunningInfo:
    cached, taken = pq.ends()
    return QueueRunningInfo(
        committed_offset=-1 if committed is None else committed,
        cached_count=pq.cached, cached_min_offset=cached[0], cached_max_offset=cached[1], cached_mib=pq.bytes // MIB,
        taken_count=pq.count - pq.cached, taken_min_offset=taken[0], taken_max_offset=taken[1],
        locked=pq.locked, last_lock_ms=pq.last_lock_ms, unlock_tries=pq.unlock_tries, dropped=pq.dropped,
        last_pull_ms=pq.last_pull_ms, last_consume_ms=pq.last_consume_ms,
    )  # fmt: skip
