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

KEY_SEPARATOR = " "

_NAME_END = "\x01"
_PAIR_END = "\x02"


def encode(properties: dict[str, str]) -> str:
    """The text as 4.9.8 writes it: no separator after the last pair."""
    return _PAIR_END.join(f"{name}{_NAME_END}{value}" for name, value in properties.items() if value is not None)


def decode(text: str) -> dict[str, str]:
    """Every pair with a name and a value; a name met twice keeps its last value."""
    properties: dict[str, str] = {}
    for pair in text.split(_PAIR_END):
        name, mark, value = pair.partition(_NAME_END)
        if mark and name and value:
            properties[name] = value
    return properties


def find(text: bytes, name: bytes) -> bytes | None:
    """One value of an encoded text without decoding the rest; the last one that is not empty counts."""
    mark = name + b"\x01"
    at = text.rfind(mark)
    while at >= 0:
        if at == 0 or text[at - 1] == 2:
            start = at + len(mark)
            end = text.find(b"\x02", start)
            value = text[start:] if end < 0 else text[start:end]
            if value:
                return value
        at = text.rfind(mark, 0, at)
    return None
