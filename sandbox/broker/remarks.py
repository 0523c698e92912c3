"""RocketMQ's remarks of refused requests, word for word, so that users can search for them."""

_SEE = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."

NOT_SET = "not set any response code"
SUBSCRIPTION_PARSE_FAILED = "parse the consumer's subscription failed"
GROUP_INFO_MISSING = f"the consumer's group info not exist{_SEE}"
SUBSCRIPTION_MISSING = f"the consumer's subscription not exist{_SEE}"
SUBSCRIPTION_NOT_LATEST = "the consumer's subscription not latest"
OFFSET_NOT_FOUND = "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"
NO_SUCH_MESSAGE = "can not find message, maybe time range not correct"
FILTER_DATA_MISSING = "The broker's consumer filter data is not exist!Your expression may be wrong!"
FILTER_DATA_NOT_LATEST = "the consumer's consumer filter data not latest"
SQL_OFF = "The broker does not support consumer to filter message by "
ON_A_SLAVE = "Can't modify topic or subscription group from slave broker, please execute it from master broker."
CREATE_FILE_FAILED = "create mapped file failed, server is busy or broken."
PAGE_CACHE_BUSY = "[PC_SYNCHRONIZED]broker busy, start flow control for a while"


def apply_topic_first(topic: str) -> str:
    return f"topic[{topic}] not exist, apply first please!{_SEE}"


def pull_topic_missing(topic: str) -> str:
    return f"topic[{topic}] not exist, apply first please! {_SEE}"


def group_missing(group: str) -> str:
    return f"subscription group [{group}] does not exist, {_SEE}"


def send_group_missing(group: str) -> str:
    return f"subscription group not exist, {group} {_SEE}"


def message_illegal(max_message_bytes: int) -> str:
    return (
        "the message is illegal, maybe msg body or properties length not matched. "
        f"msg body length limit {max_message_bytes}B, msg properties length limit 32KB."
    )


def store_unavailable(disk: str) -> str:
    return (
        "service not available now. It may be caused by one of the following reasons: the broker's disk is full "
        f"[{disk}], messages are put to the slave, message store has been shut down, etc."
    )
