"""The names and the format of a broker's tables on disk, `config/*.json`.

The module uses the standard library only, as readers do.
"""

from typing import Any

from sandbox.kernel import loose_json

TOPICS = "topics"
GROUPS = "subscriptionGroup"
CONSUMER_OFFSETS = "consumerOffset"
DELAY_OFFSETS = "delayOffset"
FILTERS = "consumerFilter"
TABLES = (TOPICS, CONSUMER_OFFSETS, GROUPS, FILTERS, DELAY_OFFSETS)
"""In the order in which RocketMQ reads them (`BrokerController.initialize`, `DefaultMessageStore.load`)."""

DIRECTORY = "config"
BACKUP = ".bak"
BLANKS = b" \t\r\n\f\b"
PADDING = bytes(range(0x20)) + b"\x20\x7f"  # fastjson steps over it: a table may end in zeros that were never written


def path_of(name: str) -> str:
    """Return the path of a table's file, below the store."""
    return f"{DIRECTORY}/{name}.json"


def value_in(data: bytes) -> Any:
    """Return the JSON value as fastjson reads it; None for blanks alone.  Raises ValueError.

    >>> value_in(b'{"offsetTable":{}}' + bytes(60))
    {'offsetTable': {}}
    """
    return loose_json.loads(data.strip(PADDING)) if data.strip(BLANKS) else None
