"""The property string: `name \\x01 value \\x02 name \\x01 value …` (spec store-format 2.4)."""

KEYS = "KEYS"
TAGS = "TAGS"
WAIT = "WAIT"
DELAY = "DELAY"
RETRY_TOPIC = "RETRY_TOPIC"
REAL_TOPIC = "REAL_TOPIC"
REAL_QID = "REAL_QID"
TRAN_MSG = "TRAN_MSG"
PGROUP = "PGROUP"
MIN_OFFSET = "MIN_OFFSET"
MAX_OFFSET = "MAX_OFFSET"
ORIGIN_MESSAGE_ID = "ORIGIN_MESSAGE_ID"
RECONSUME_TIME = "RECONSUME_TIME"
MAX_RECONSUME_TIMES = "MAX_RECONSUME_TIMES"
MSG_REGION = "MSG_REGION"
TRACE_ON = "TRACE_ON"
UNIQ_KEY = "UNIQ_KEY"
CONSUME_START_TIME = "CONSUME_START_TIME"
CLUSTER = "CLUSTER"
TRAN_PREPARED_QUEUE_OFFSET = "TRAN_PREPARED_QUEUE_OFFSET"
TRANSACTION_CHECK_TIMES = "TRANSACTION_CHECK_TIMES"
CHECK_IMMUNITY_TIME_IN_SECONDS = "CHECK_IMMUNITY_TIME_IN_SECONDS"
CORRELATION_ID = "CORRELATION_ID"
REPLY_TO_CLIENT = "REPLY_TO_CLIENT"
TTL = "TTL"
MSG_TYPE = "MSG_TYPE"
PUSH_REPLY_TIME = "PUSH_REPLY_TIME"
ARRIVE_TIME = "ARRIVE_TIME"
DELAYS_BY_TIME = ("TIMER_DELIVER_MS", "TIMER_DELAY_MS", "TIMER_DELAY_SEC")
"""Of clients of RocketMQ 5; a broker of 4.9 does not read them."""

KEY_SEPARATOR = " "

_NAME_END = "\x01"
_PAIR_END = "\x02"


def encode(properties: dict[str, str]) -> str:
    """Return the text as 4.9.8 writes it: no separator after the last pair."""
    return _PAIR_END.join(f"{name}{_NAME_END}{value}" for name, value in properties.items() if value is not None)


def decode(text: str) -> dict[str, str]:
    """Return every pair with a name and a value; of equal names the last value is used."""
    properties: dict[str, str] = {}
    for pair in text.split(_PAIR_END):
        name, mark, value = pair.partition(_NAME_END)
        if mark and name and value:
            properties[name] = value
    return properties


def find(text: bytes, name: bytes) -> bytes | None:
    """Return one value of an encoded text without decoding the rest; the last one that is not empty, or None."""
    return _last(text, b"\x02" + name + b"\x01", name + b"\x01")


def dispatched(text: bytes) -> tuple[bytes | None, bytes | None, bytes | None]:
    """Return tags, unique key and keys: the properties that the dispatch of a record needs."""
    tags = unique = keys = None
    for pair in text.split(b"\x02"):
        start = pair[:5]
        if start == b"KEYS\x01":
            keys = pair[5:] or keys
        elif start == b"TAGS\x01":
            tags = pair[5:] or tags
        elif start == b"UNIQ_" and pair[5:9] == b"KEY\x01":
            unique = pair[9:] or unique
    return tags, unique, keys


def _last(text: bytes, inside: bytes, first: bytes) -> bytes | None:
    at = text.rfind(inside)
    if at >= 0:
        start = at + len(inside)
    elif text.startswith(first):
        start = len(first)
    else:
        return None
    end = text.find(b"\x02", start)
    value = text[start:end] if end >= 0 else text[start:]
    if value or at < 0:
        return value or None
    return _last(text[:at], inside, first)  # an empty value counts as missing: use an earlier one
