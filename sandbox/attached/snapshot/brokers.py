"""Brokers of an attached cluster, from their own reports (28)."""

from sandbox.attached.picture import MASTER, BrokerSeen
from sandbox.attached.snapshot.queues import text
from sandbox.queries.rows.snapshot import BrokerRow

FULL_RATIO = 0.90  # RocketMQ: diskSpaceWarningLevelRatio; a broker takes nothing more from there on


def broker_row(broker: BrokerSeen) -> BrokerRow:
    """Return a broker's row (catalogue 9).

    Additional fields: `answered_ms` (its last answer), `version`, `used_percent`, `in_per_s`, `out_per_s`.
    """
    runtime = broker.runtime
    used = runtime.disk_used
    return {
        "broker": broker.name,
        "broker_id": broker.broker_id,
        "role": "master" if broker.broker_id == MASTER else "slave",
        "state": broker.state,
        "answered_ms": broker.answered_ms,
        "address": broker.address,
        "listening": None,
        "flush": None,
        "replication": None,
        "property_filter": None,
        "skew_ms": None,
        "version": version_of(broker),
        "disk": None if used is None else "full" if used >= FULL_RATIO else "ok",
        "used_percent": None if used is None else round(used * 100),
        "in_per_s": runtime.put_per_s,
        "out_per_s": runtime.get_per_s,
        "trouble": broker.trouble,
        "log": {
            "min": text(runtime.log_min_offset),
            "max": text(runtime.log_max_offset),
            "flushed": None,
            "replicated": None,
            "file_bytes": None,
        },
    }


def version_of(broker: BrokerSeen) -> str | None:
    """Return the broker's version, such as `4.9.7` for the reported `V4_9_7`."""
    runtime = broker.runtime.version
    return runtime.removeprefix("V").replace("_", ".") if runtime else None
