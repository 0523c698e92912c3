"""A broker's disk, and the part of it that would survive a power cut (channel `store/<slug>/<node>/disk`)."""

from sandbox.cluster.broker_node import BrokerNode
from sandbox.cluster.cluster import Cluster
from sandbox.queries.rows.storage import Disk, QueueFiles
from sandbox.queries.snapshot.offset_files import broker_offsets
from sandbox.queries.snapshot.storage import log_row
from sandbox.store.message_store import ABORT_FILE, LOCK_FILE, MessageStore

CONFIG = "config"
QUEUES_SHOWN = 256


def read_disk(cluster: Cluster, node: BrokerNode) -> Disk:
    store = node.running.store
    replicated = store.replicated_offset if node.is_master else None
    log = store.max_physical_offset
    return {
        "node": {
            "node": node.node,
            "broker": node.name,
            "broker_id": node.record.broker_id,
            "role": "master" if node.is_master else "slave",
            "state": node.state,
            "flush": cluster.preset.flush,
            "replication": node.replication,
            "disk": store.disk_state,
            "used_percent": round(store.cleaning.used_ratio() * 100),
        },
        "log": {
            **log_row(store),
            "replicated": None if replicated is None else str(replicated),
            "memory": str(max(store.min_physical_offset, log - store.config.in_memory_bytes)),
        },
        "commitlog": {
            file.name: {"bytes": str(file.size), "wrote": str(file.wrote), "flushed": str(file.flushed)}
            for file in store.log.files.files
        },
        "queues": _queues(store),
        "index": {
            file.name: {"bytes": str(store.disk.size_of(f"index/{file.name}") or 0), "count": file.index_count}
            for file in store.index.files
        },
        "config": {
            name: {"bytes": str(store.disk.size_of(f"{CONFIG}/{name}") or 0)} for name in store.disk.names(CONFIG)
        },
        "offsets": broker_offsets(node.running),
        "offset_file": {"due_ms": node.running.offsets_due_ms},
        "checkpoint": {
            "physic_ms": store.checkpoint.physic_ms or None,
            "logics_ms": store.checkpoint.logics_ms or None,
            "index_ms": store.checkpoint.index_ms or None,
        },
        "marks": {name: store.disk.size_of(name) is not None for name in (ABORT_FILE, LOCK_FILE)},
    }


def _queues(store: MessageStore) -> dict[str, QueueFiles]:
    files: dict[str, QueueFiles] = {}
    for topic, queue_id in list(store.queues())[:QUEUES_SHOWN]:
        queue = store.queue(topic, queue_id)
        files[f"{topic}/{queue_id}"] = {
            "files": len(queue.files.files),
            "bytes": str(sum(file.wrote for file in queue.files.files)),
            "min": str(queue.min_offset),
            "max": str(queue.max_offset),
        }
    return files
