"""RocketMQ settings with a fixed value: built in, or off because the function is not implemented here.

Settings of Java's threads, buffers, locks, paths and native libraries have no meaning here and are omitted.  So are
sizes and times of functions that are off.
"""

from sandbox.broker.consumer_filters import KEEP_DEAD_MS
from sandbox.message.topic_names import TRACE_TOPIC
from sandbox.store.ha_wire import TRANSFER_BYTES
from sandbox.store.index_service import MAX_FOUND
from sandbox.transport.tcp_limits import TcpLimits

BUILT_IN = {
    "autoDeleteUnusedStats": "true",  # with their topic or group; RocketMQ keeps them by default
    "brokerTopicEnable": "true",
    "clusterTopicEnable": "true",
    "msgTraceTopicName": TRACE_TOPIC,
    "clientCallbackExecutorThreads": "1",  # a broker has one thread; `exportMetrics` reads it as the CPUs
    "compressedRegister": "false",
    "connectTimeoutMillis": str(int(TcpLimits.connect_s * 1000)),
    "configBlackList": "configBlackList;brokerConfigPath",
    "forceRegister": "true",
    "enableDetailStat": "true",
    "enableScheduleMessageStats": "true",
    "filterDataCleanTimeSpan": str(KEEP_DEAD_MS),
    "filterServerNums": "0",
    "flushCommitLogTimed": "true",
    "haTransferBatchSize": str(TRANSFER_BYTES),
    "maxMsgsNumBatch": str(MAX_FOUND),
    "transferMsgByHeap": "true",
}
OFF = dict.fromkeys(
    (
        "brokerFastFailureEnable",
        "commercialEnable",
        "disableConsumeIfConsumerReadSlowly",
        "diskFallRecorded",
        "duplicationEnable",
        "enableCalcFilterBitMap",
        "enableConsumeQueueExt",
        "enableDLegerCommitLog",
        "enableLmq",
        "enableMultiDispatch",
        "enableScheduleAsyncDeliver",
        "fastFailIfNoBufferInStorePool",
        "fetchNamesrvAddrByAddressServer",
        "filterSupportRetry",
        "isolateLogEnable",
        "transientStorePoolEnable",
        "useTLS",
        "warmMapedFileEnable",
    ),
    "false",
)
FIXED = BUILT_IN | OFF
