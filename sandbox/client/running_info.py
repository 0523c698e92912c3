"""Reports of a consumer about its state, for an administrator (request 307)."""

from sandbox.client.config import PushConsumerConfig
from sandbox.client.owned_queues import OwnedQueues
from sandbox.client.process_queue import ProcessQueue
from sandbox.remoting.bodies import ConsumerData, QueueRunningInfo, RunningInfo
from sandbox.remoting.command import VERSION_4_9_8

MIB = 1024 * 1024


def running_info(
    config: PushConsumerConfig,
    data: ConsumerData,
    queues: OwnedQueues,
    *,
    name_servers: tuple[str, ...],
    since_ms: int | None,
    threshold_for_queue: int,
) -> bytes:
    """Encode the report of a push consumer, without statistics per topic, which this client does not keep."""
    return RunningInfo(
        properties={
            "PROP_CLIENT_VERSION": str(VERSION_4_9_8),
            "PROP_CONSUMEORDERLY": "true" if config.orderly else "false",
            "PROP_CONSUMER_START_TIMESTAMP": str(since_ms or 0),
            "PROP_CONSUME_TYPE": "CONSUME_PASSIVELY",
            "PROP_NAMESERVER_ADDR": ";".join(name_servers),
            "PROP_THREADPOOL_CORE_SIZE": str(config.threads),
            "consumeFromWhere": config.from_where.value,
            "consumeMessageBatchMaxSize": str(config.consume_batch),
            "consumerGroup": config.group,
            "messageModel": config.model.value,
            "pullBatchSize": str(config.pull_batch),
            "pullThresholdForQueue": str(threshold_for_queue),
        },
        queues={mq: _queue_info(pq, queues.offset_store.read_memory(mq)) for mq, pq in queues.items()},
        subscriptions=data.subscriptions,
    ).encode()


def active_running_info(group: str, since_ms: int | None, data: ConsumerData) -> bytes:
    """Encode the report of a pull or lite pull consumer, which lists no queues."""
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
    ).encode()


def _queue_info(pq: ProcessQueue, committed: int | None) -> QueueRunningInfo:
    cached, taken = pq.ends()
    return QueueRunningInfo(
        committed_offset=-1 if committed is None else committed,
        cached_count=pq.cached,
        cached_min_offset=cached[0],
        cached_max_offset=cached[1],
        cached_mib=pq.bytes // MIB,
        taken_count=pq.count - pq.cached,
        taken_min_offset=taken[0],
        taken_max_offset=taken[1],
        locked=pq.locked,
        last_lock_ms=pq.last_lock_ms,
        unlock_tries=pq.unlock_tries,
        dropped=pq.dropped,
        last_pull_ms=pq.last_pull_ms,
        last_consume_ms=pq.last_consume_ms,
    )
