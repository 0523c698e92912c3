"""A producer's queue selection, the results of its sends, and the brokers it avoids."""

from sandbox.client.producer import Producer
from sandbox.cluster.actors.actors import Actor
from sandbox.cluster.actors.producer_actor import ProducerActor
from sandbox.cluster.cluster import Cluster
from sandbox.queries.rows.clients import ProducerCounts, ProducerOfClient, ProducerProcess, ProducerTopic
from sandbox.queries.snapshot.calm import rounded

QUEUES_SHOWN = 64


def producer_row(cluster: Cluster, actor: Actor | None, producer: Producer | None) -> ProducerOfClient | None:
    """Return the producer's settings and send results, or None for a client that sends nothing.

    Counts of answers and retries are those of the running process.
    """
    if isinstance(actor, ProducerActor):
        counts: ProducerCounts = {
            "selector": actor.settings.selector,
            "topic": actor.settings.topic,
            "per_s": rounded(actor.per_s),
            "sent": actor.sent,
            "failed": actor.failed,
        }
    elif producer is not None:
        counts = {
            "selector": "round_robin",
            "topic": None,
            "per_s": None,
            "sent": producer.sent,
            "failed": producer.failed,
        }
    else:
        return None
    if producer is None:
        return counts
    return {**counts, **_process(cluster, producer)}


def _process(cluster: Cluster, producer: Producer) -> ProducerProcess:
    config, faults = producer.config, producer.faults
    topics: dict[str, ProducerTopic] = {}
    for topic in producer.topics():
        queues = producer.instance.routes.publish_queues(topic)
        topics[topic] = {
            "queues": [mq.row for mq in queues[:QUEUES_SHOWN]],
            "count": len(queues),
            "next": queues[(faults.turn + 1) % len(queues)].row if queues else None,
        }
    return {
        "turn": str(faults.turn),
        "topics": topics,
        "answers": dict(sorted(producer.answers.items())),
        "retried": producer.retried,
        "retry_times": config.retry_times,
        "avoid_faulty": faults.enabled,
        "brokers": {
            broker: {
                "latency_ms": latency_ms,
                "until_ms": faults.available_from_ms[broker],
                "avoided": faults.available_from_ms[broker] > cluster.clock.now_ms(),
            }
            for broker, latency_ms in sorted(faults.latency_ms.items())
        },
        "compress_over_bytes": config.compress_over_bytes,
        "max_message_bytes": config.max_message_bytes,
        "send_timeout_ms": config.send_timeout_ms,
    }
