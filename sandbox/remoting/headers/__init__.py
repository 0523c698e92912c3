"""Custom headers: the ext fields of requests and responses as values (spec remoting 2.2 to 2.5).

Each has `from_ext`, which raises Malformed if a required field is missing, and `to_ext`.  Codes that are not listed
have no custom header.
"""

from sandbox.remoting.headers.groups import (
    CloneOffsetsHeader,
    ConsumeStatsHeader,
    DeleteGroupHeader,
    GroupHeader,
    ResetOffsetHeader,
    RunningInfoHeader,
    TopicGroupHeader,
    UnregisterClientHeader,
)
from sandbox.remoting.headers.messages import (
    PullHeader,
    PullResponseHeader,
    QueryMessageHeader,
    QueryMessageResponseHeader,
    SendBackHeader,
    SendHeader,
    SendResponseHeader,
    ViewMessageHeader,
)
from sandbox.remoting.headers.offsets import (
    OffsetResponseHeader,
    QueryOffsetHeader,
    QueueHeader,
    SearchOffsetHeader,
    TimestampResponseHeader,
    UpdateOffsetHeader,
)
from sandbox.remoting.headers.replies import PushReplyHeader
from sandbox.remoting.headers.statistics import (
    AllConsumeStatsHeader,
    CorrectionOffsetHeader,
    QueueEntriesHeader,
    StatsHeader,
)
from sandbox.remoting.headers.topics import (
    BrokerNameHeader,
    CreateTopicHeader,
    DeleteTopicInNamesrvHeader,
    RegisterBrokerHeader,
    RegisterBrokerResponseHeader,
    RouteHeader,
    TopicHeader,
    UnregisterBrokerHeader,
)
from sandbox.remoting.headers.transactions import CheckTransactionHeader, EndTransactionHeader

__all__ = [
    "AllConsumeStatsHeader",
    "BrokerNameHeader",
    "CheckTransactionHeader",
    "CloneOffsetsHeader",
    "ConsumeStatsHeader",
    "CorrectionOffsetHeader",
    "CreateTopicHeader",
    "DeleteGroupHeader",
    "DeleteTopicInNamesrvHeader",
    "EndTransactionHeader",
    "GroupHeader",
    "OffsetResponseHeader",
    "PullHeader",
    "PullResponseHeader",
    "PushReplyHeader",
    "QueryMessageHeader",
    "QueryMessageResponseHeader",
    "QueryOffsetHeader",
    "QueueEntriesHeader",
    "QueueHeader",
    "RegisterBrokerHeader",
    "RegisterBrokerResponseHeader",
    "ResetOffsetHeader",
    "RouteHeader",
    "RunningInfoHeader",
    "SearchOffsetHeader",
    "SendBackHeader",
    "SendHeader",
    "SendResponseHeader",
    "StatsHeader",
    "TimestampResponseHeader",
    "TopicGroupHeader",
    "TopicHeader",
    "UnregisterBrokerHeader",
    "UnregisterClientHeader",
    "UpdateOffsetHeader",
    "ViewMessageHeader",
]
