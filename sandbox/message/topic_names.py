"""Rules of topic and group names, and names that the broker reserves.  RocketMQ: `TopicValidator`, `MixAll`."""

import re

AUTO_CREATE_TOPIC = "TBW102"
SELF_TEST_TOPIC = "SELF_TEST_TOPIC"
BENCHMARK_TOPIC = "BenchmarkTest"
SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX"
OFFSET_MOVED_TOPIC = "OFFSET_MOVED_EVENT"
HALF_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC"
OP_HALF_TOPIC = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
CHECK_MAX_TIME_TOPIC = "TRANS_CHECK_MAX_TIME_TOPIC"
TRACE_TOPIC = "RMQ_SYS_TRACE_TOPIC"
SYSTEM_PREFIX = "rmq_sys_"
TRANSACTION_GROUP = "CID_RMQ_SYS_TRANS"  # its offsets in the half and the op queue are the progress of the checks

RETRY_PREFIX = "%RETRY%"
DEAD_LETTER_PREFIX = "%DLQ%"
OF_GROUPS = (RETRY_PREFIX, DEAD_LETTER_PREFIX)
REPLY_SUFFIX = "_REPLY_TOPIC"

MAX_TOPIC_LENGTH = 127
MAX_GROUP_LENGTH = 255  # RocketMQ: `Validators.CHARACTER_MAX_LENGTH`, checked by its 4.x clients only

SYSTEM_TOPICS = frozenset(
    (
        AUTO_CREATE_TOPIC,
        SCHEDULE_TOPIC,
        BENCHMARK_TOPIC,
        HALF_TOPIC,
        TRACE_TOPIC,
        OP_HALF_TOPIC,
        CHECK_MAX_TIME_TOPIC,
        SELF_TEST_TOPIC,
        OFFSET_MOVED_TOPIC,
    )
)
NOT_FOR_SENDING = frozenset(
    (SCHEDULE_TOPIC, HALF_TOPIC, OP_HALF_TOPIC, CHECK_MAX_TIME_TOPIC, SELF_TEST_TOPIC, OFFSET_MOVED_TOPIC)
)

ILLEGAL = "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
_LEGAL = re.compile(r"[%|a-zA-Z0-9_-]+")


def complaint(topic: str) -> str | None:
    """Return the reason why this is no topic name, in RocketMQ's words; None if it is valid."""
    if not topic.strip():
        return "The specified topic is blank."
    if not _LEGAL.fullmatch(topic):
        return ILLEGAL
    if len(topic) > MAX_TOPIC_LENGTH:
        return "The specified topic is longer than topic max length."
    return None


def group_complaint(group: str) -> str | None:
    """Return the reason why this is no group name; None if it is valid.

    RocketMQ's clients allow the same as for topics, and its 4.x brokers allow everything.  But the group's retry
    topic is a directory.
    """
    if len(group) > MAX_GROUP_LENGTH:
        return f"a group's name has at most {MAX_GROUP_LENGTH} characters, not {len(group)}"
    if "/" in group or not group.isprintable():
        return "a group's name holds no / and nothing that cannot be printed"
    return None


def is_system(topic: str) -> bool:
    return topic in SYSTEM_TOPICS or topic.startswith(SYSTEM_PREFIX)


def retry_topic(group: str) -> str:
    return RETRY_PREFIX + group


def dead_letter_topic(group: str) -> str:
    return DEAD_LETTER_PREFIX + group


def matches(pattern: "re.Pattern[str]", topic: str) -> bool:
    """Return True if a subscription pattern matches the whole name of the topic.

    Topics of groups (retries, dead letters) match only if the pattern begins with %; system topics never match.
    """
    of_group = topic.startswith(OF_GROUPS) and not pattern.pattern.startswith("%")
    return not of_group and not is_system(topic) and pattern.fullmatch(topic) is not None
