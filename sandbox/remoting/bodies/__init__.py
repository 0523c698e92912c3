"""Bodies of requests and responses as values (spec remoting 3).

`encode` writes strict JSON, which every RocketMQ reads; `decode` also reads fastjson's dialect and the bodies of C++
clients, and raises Malformed for anything else.  A queue is the tuple topic, broker name, queue id.
"""

from sandbox.remoting.bodies.groups import (
    CheckClientBody,
    Connection,
    ConsumerConnection,
    ConsumerData,
    ConsumerList,
    HeartbeatData,
    LockBatchBody,
    LockedQueues,
    ProducerConnection,
    SubscriptionData,
)
from sandbox.remoting.bodies.offsets import (
    ConsumerStatusBody,
    ConsumeStats,
    GroupOffset,
    OffsetWrapper,
    ResetOffsetBody,
    TopicOffset,
    TopicStats,
)
from sandbox.remoting.bodies.routes import BrokerData, ClusterInfo, QueueData, TopicRouteData
from sandbox.remoting.bodies.running import QueueRunningInfo, RunningInfo, TopicRunningStatus
from sandbox.remoting.bodies.settings import Settings
from sandbox.remoting.bodies.statistics import (
    ConsumeStatsList,
    ConsumeTimeSpans,
    CorrectionOffsets,
    QueueEntries,
    QueueEntry,
    QueueTimeSpan,
    StatsData,
    StatsSpan,
)
from sandbox.remoting.bodies.subscription_groups import SubscriptionGroupConfig, SubscriptionGroupTable
from sandbox.remoting.bodies.topics import (
    DataVersion,
    GroupList,
    KVTable,
    RegisterBrokerBody,
    TopicConfig,
    TopicConfigTable,
    TopicList,
)

__all__ = [
    "BrokerData",
    "CheckClientBody",
    "ClusterInfo",
    "Connection",
    "ConsumeStats",
    "ConsumeStatsList",
    "ConsumeTimeSpans",
    "ConsumerConnection",
    "ConsumerData",
    "ConsumerList",
    "ConsumerStatusBody",
    "CorrectionOffsets",
    "DataVersion",
    "GroupList",
    "GroupOffset",
    "HeartbeatData",
    "KVTable",
    "LockBatchBody",
    "LockedQueues",
    "OffsetWrapper",
    "ProducerConnection",
    "QueueData",
    "QueueEntries",
    "QueueEntry",
    "QueueRunningInfo",
    "QueueTimeSpan",
    "RegisterBrokerBody",
    "ResetOffsetBody",
    "RunningInfo",
    "Settings",
    "StatsData",
    "StatsSpan",
    "SubscriptionData",
    "SubscriptionGroupConfig",
    "SubscriptionGroupTable",
    "TopicConfig",
    "TopicConfigTable",
    "TopicList",
    "TopicOffset",
    "TopicRouteData",
    "TopicRunningStatus",
    "TopicStats",
]
