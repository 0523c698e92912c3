"""Metrics of one cluster under the names of Apache's `rocketmq-exporter`, so that its dashboards work.

An unknown value has no sample.  `docs/metrics.md` lists every name of the exporter, including those missing here.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from sandbox.queries.rows.findings import Findings
from sandbox.queries.rows.lag import row_lag
from sandbox.queries.rows.snapshot import BrokerRow, GroupRow, Snapshot, TopicQueueRow, TopicRow

RATE_HELP = "Messages stored a second, over the last ten seconds of the cluster's clock"
SERVED = {
    "rocketmq_broker_tps": RATE_HELP,
    "rocketmq_broker_qps": "Messages handed out a second",
    "rocketmq_broker_commitlog_diff": "Bytes of the commit log that no slave has yet",
    "rocketmq_brokeruntime_commitlog_minoffset": "Where the commit log begins, in bytes",
    "rocketmq_brokeruntime_commitlog_maxoffset": "Where the commit log ends, in bytes",
    "rocketmq_brokeruntime_commitlog_disk_ratio": "Share of the disk that is used",
    "rocketmq_brokeruntime_remain_howmanydata_toflush": "Bytes of the commit log that are not flushed yet",
    "rocketmq_producer_tps": RATE_HELP,
    "rocketmq_producer_offset": "Ends of a topic's queues, added up",
    "rocketmq_topic_retry_offset": "The same of a group's retry topic",
    "rocketmq_topic_dlq_offset": "The same of a group's dead letter topic",
    "rocketmq_consumer_offset": "Committed offsets of a topic's queues, added up",
    "rocketmq_group_diff": "Messages stored and not committed",
    "rocketmq_group_retrydiff": "Messages that wait in the retry topic",
    "rocketmq_group_count": "Members that are online",
}
OFFSET_OF_KIND = {
    "normal": "rocketmq_producer_offset",
    "retry": "rocketmq_topic_retry_offset",
    "dead_letter": "rocketmq_topic_dlq_offset",
}
FINDINGS = {"queueviz_finding": "1 for each open finding (`GET /api/clusters/<name>/findings`)"}
PARTLY = {
    "queueviz_group_diff_at_least": "rocketmq_group_diff of the queues that are known, where not all are",
    "queueviz_group_queues_unknown": "Queues that are left out of queueviz_group_diff_at_least",
}
"""Served instead of `rocketmq_group_diff` while a master is down: the sum of a part would look like the lag."""
CLUSTERING = "1"  # the ordinal of RocketMQ's enum


class Sample(NamedTuple):
    name: str
    labels: dict[str, str]
    value: float


def samples_of(slug: str, drawn: Snapshot) -> Iterator[Sample]:
    """Yield the samples of a snapshot (catalogue 9).  A snapshot without broker data gives none."""
    rates: dict[str, float] = defaultdict(float)
    ends: dict[tuple[str, str, int], int] = {}
    for topic in drawn.get("topics", ()):
        yield from _topic(slug, topic, rates, ends)
    for broker in drawn.get("brokers", ()):
        yield from _broker(slug, broker, rates)
    for group in drawn.get("groups", ()):
        yield from _group(slug, group, ends)


def findings_of(slug: str, findings: Findings) -> Iterator[Sample]:
    """Yield a sample for each open finding."""
    for row in findings["findings"]:
        labels = {"cluster": slug, "code": row["code"], "severity": row["severity"]}
        yield Sample("queueviz_finding", labels | {"group": row["group"], "subject": row["subject"]}, 1)


def _topic(
    slug: str, topic: TopicRow, rates: dict[str, float], ends: dict[tuple[str, str, int], int]
) -> Iterator[Sample]:
    of_broker: dict[str, list[TopicQueueRow]] = defaultdict(list)
    for queue in topic["queues"]:
        of_broker[queue["broker"]].append(queue)
        if queue["max"] is not None:
            ends[topic["topic"], queue["broker"], queue["queue_id"]] = int(queue["max"])
    for broker, queues in of_broker.items():
        labels = {"cluster": slug, "broker": broker, "topic": topic["topic"]}
        if topic["kind"] == "dead_letter":
            labels = {"cluster": slug, "broker": broker, "group": topic["topic"].removeprefix("%DLQ%")}
        known = [int(queue["max"]) for queue in queues if queue["max"] is not None]
        if topic["kind"] in OFFSET_OF_KIND and len(known) == len(queues):
            yield Sample(OFFSET_OF_KIND[topic["kind"]], labels, sum(known))
        per_s = [queue["rate_per_s"] for queue in queues if queue["rate_per_s"] is not None]
        if len(per_s) == len(queues):
            rate = round(sum(per_s), 1)
            rates[broker] += rate
            if topic["kind"] == "normal":
                yield Sample("rocketmq_producer_tps", labels, rate)


def _broker(slug: str, broker: BrokerRow, rates: dict[str, float]) -> Iterator[Sample]:
    name, address = broker["broker"], broker["address"]
    nums = {"cluster": slug, "brokerIP": address, "broker": name}
    runtime = {
        "cluster": slug,
        "brokerIP": address,
        "brokerHost": name,
        "des": "",
        "boottime": "",
        "broker_version": broker.get("version") or "",
    }
    kept = broker["log"]
    log = {part: int(str(at)) for part, at in kept.items() if at is not None} if kept else {}
    stored = broker.get("in_per_s", rates.get(name) if broker["broker_id"] == 0 and log else None)
    figures: list[tuple[str, dict[str, str], float | None]] = [
        ("rocketmq_broker_tps", nums, stored),
        ("rocketmq_broker_qps", nums, broker.get("out_per_s")),
        ("rocketmq_broker_commitlog_diff", nums, _less(log, "replicated")),
        ("rocketmq_brokeruntime_commitlog_minoffset", runtime, log.get("min")),
        ("rocketmq_brokeruntime_commitlog_maxoffset", runtime, log.get("max")),
        ("rocketmq_brokeruntime_remain_howmanydata_toflush", runtime, _less(log, "flushed")),
    ]
    if (used := broker.get("used_percent")) is not None:
        figures.append(("rocketmq_brokeruntime_commitlog_disk_ratio", runtime, used / 100))
    for metric, labels, value in figures:
        if value is not None:
            yield Sample(metric, labels, value)


def _less(log: dict[str, int], part: str) -> int | None:
    """Return the distance in bytes from a position of the log to its end, or None if unknown."""
    return log["max"] - log[part] if "max" in log and part in log else None


def _group(slug: str, group: GroupRow, ends: dict[tuple[str, str, int], int]) -> Iterator[Sample]:
    name = group["group"]
    online = [member for member in group["members"] if member["state"] in ("starting", "running", "stopping")]
    addresses = ",".join(sorted(filter(None, (member.get("address") for member in online))))
    yield Sample(
        "rocketmq_group_count", {"cluster": slug, "caddr": addresses, "localaddr": "", "group": name}, len(online)
    )
    if group["model"] != "CLUSTERING":
        return
    labels = {"cluster": slug, "group": name, "countOfOnlineConsumers": str(len(online)), "msgModel": CLUSTERING}
    if group["counts"]["retrying"] is not None:
        yield Sample("rocketmq_group_retrydiff", labels | {"topic": f"%RETRY%{name}"}, group["counts"]["retrying"])
    committed: dict[tuple[str, str], int] = defaultdict(int)
    lags: dict[str, list[int | None]] = defaultdict(list)
    for queue in group["queues"]:
        if queue["committed"] is not None and queue["down"] is None:
            committed[queue["topic"], queue["broker"]] += int(queue["committed"])
        end = ends.get((queue["topic"], queue["broker"], queue["queue_id"]))
        lags[queue["topic"]].append(
            None if queue["down"] is not None else row_lag({**queue, "max": None if end is None else str(end)})
        )
    for (topic, broker), offset in committed.items():
        yield Sample(
            "rocketmq_consumer_offset", {"cluster": slug, "broker": broker, "topic": topic, "group": name}, offset
        )
    for topic, queue_lags in lags.items():
        known = [max(0, lag) for lag in queue_lags if lag is not None]
        if known and len(known) == len(queue_lags):
            yield Sample("rocketmq_group_diff", labels | {"topic": topic}, sum(known))
        elif known:
            yield Sample("queueviz_group_diff_at_least", labels | {"topic": topic}, sum(known))
            yield Sample("queueviz_group_queues_unknown", labels | {"topic": topic}, len(queue_lags) - len(known))
