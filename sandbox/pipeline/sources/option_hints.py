"""Options of Spark's Kafka source that have another name here, or none: the sentence that names ours."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

Hints = Mapping[str, str]
"""Sentences by option in lower case; a name that ends with a dot is the beginning of others."""

_EVERY: Hints = {
    "kafkaconsumer.polltimeoutms": "A broker that does not answer is retried for a minute. Remove the option.",
    "fetchoffset.": "A broker that does not answer is retried for a minute. Remove the option.",
    "groupidprefix": "The source joins no consumer group and commits no offset. Remove the option.",
    "kafka.group.id": "The source joins no consumer group and commits no offset. Remove the option.",
    "group": "The source joins no consumer group and commits no offset. Remove the option.",
    "kafka.auto.offset.reset": "Set startingOffsets to earliest or latest.",
    "maxrecordsperpartition": "Set minPartitions to divide long queues.",
}

OF_CLUSTER: Hints = MappingProxyType(
    {
        **_EVERY,
        "kafka.bootstrap.servers": "Set names to the name servers, such as 127.0.0.1:9876.",
        "bootstrap.servers": "Set names to the name servers, such as 127.0.0.1:9876.",
        "namesrvaddr": "Set names to the name servers, such as 127.0.0.1:9876.",
        "kafka.security.protocol": "Set tls to true for TLS, and accessKey and secretKey for ACL.",
        "kafka.sasl.": "Set accessKey and secretKey for a cluster with ACL.",
        "kafka.ssl.": "Set tls to true; the variable SSL_CERT_FILE names the authority of a cluster.",
        "kafka.": "RocketMQ's clients have no settings of Kafka. Remove the option.",
        "topic": "Set subscribe to topics, separated by commas.",
        "topics": "Set subscribe to topics, separated by commas.",
        "topicpattern": "Set subscribePattern to a regular expression for whole names.",
        "queueid": 'Set assign to queues, as JSON {"orders": ["broker-a:0"]}.',
        "path": "A cluster has no path. The format rocketmq-store reads the store directory of a broker.",
    }
)

_FILES = "A store is read from files: load(DIR). The format rocketmq reads a running cluster."

OF_STORE: Hints = MappingProxyType(
    {
        **_EVERY,
        "kafka.": _FILES,
        "bootstrap.servers": _FILES,
        "names": _FILES,
        "namesrvaddr": _FILES,
        "assign": "Set topic and queueId, comma-separated lists.",
        "topicpattern": "Set subscribePattern to a regular expression for whole names.",
        "partition": "Set queueId to numbers, separated by commas.",
    }
)

_JOURNAL = "A journal has events. Set events to their names, separated by commas."

OF_JOURNAL: Hints = MappingProxyType(
    {
        **_EVERY,
        "kafka.": "A journal is read from files: load(DIR).",
        "names": "A journal is read from files: load(DIR).",
        "subscribe": _JOURNAL,
        "subscribepattern": _JOURNAL,
        "assign": _JOURNAL,
        "topic": _JOURNAL,
        "maxoffsetspertrigger": "Set maxBytesPerTrigger: batches of journals are limited by size.",
        "minoffsetspertrigger": "Batches of journals have no least size. Remove the option.",
        "startingtimestamp": "A journal has no start at a time. Filter by the column timestamp.",
        "endingtimestamp": "A journal has no end at a time. Filter by the column timestamp.",
        "stores": "Set journals, as JSON {sandbox: directory}.",
    }
)

OF_SINK: Hints = MappingProxyType(
    {
        "kafka.bootstrap.servers": OF_CLUSTER["kafka.bootstrap.servers"],
        "kafka.": OF_CLUSTER["kafka."],
        "includeheaders": "The sink sends the columns properties and headers if they exist. Remove the option.",
        "subscribe": "Set topic to the topic of rows without one.",
    }
)

OF_COLUMNS: Hints = MappingProxyType(
    {"key": "keys", "value": "body", "partition": "queueId", "offset": "queueOffset", "timestamptype": "timestamp"}
)
"""Columns of ours by the lower-case name of Kafka's."""


def hint_of(option: str, hints: Hints) -> str | None:
    """Return the sentence about an option, or None.  The longest beginning counts."""
    name = option.lower()
    if name in hints:
        return hints[name]
    beginnings = [begin for begin in hints if begin.endswith(".") and name.startswith(begin)]
    return hints[max(beginnings, key=len)] if beginnings else None


def check_hints(options: Iterable[str], hints: Hints) -> None:
    """Raise ValueError for the first option of Kafka's source or sink."""
    for name in sorted(options):
        if (sentence := hint_of(name, hints)) is not None:
            raise ValueError(f"No option {name}. {sentence}")
