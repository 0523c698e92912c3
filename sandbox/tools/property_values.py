"""Values of a `broker.conf` as RocketMQ reads them: it silently ignores values that its parsers refuse.

RocketMQ: `MixAll.properties2Object` (4.9.8), whose numbers are those of `Integer.parseInt` and `Double.parseDouble`.
"""

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, NamedTuple

from sandbox.broker import config as broker_config
from sandbox.broker.config import BrokerConfig
from sandbox.store import config as store_config
from sandbox.store.config import CONSUME_QUEUE_UNIT_BYTES, MessageStoreConfig

WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
FRACTION = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?[dDfF]?")
OF_A_LIST = ("brokerRole", "flushDiskType")  # names that RocketMQ's enumerations have, without a blank
QUEUE_FILE = "mappedFileSizeConsumeQueue"


class Values(NamedTuple):
    """Values in use, and `notes`: sentences about values that RocketMQ reads in another way."""

    used: dict[str, str]
    notes: tuple[str, ...]


class _Kind(NamedTuple):
    type: Any  # int, float, bool, str
    default: str


def settled(properties: Mapping[str, str]) -> Values:
    """Return the values in use, without blanks around them.  A number that cannot be read is left out."""
    used: dict[str, str] = {}
    notes: list[str] = []
    for key, text in properties.items():
        value, kind = text.strip(), KINDS.get(key)
        number = {int: WHOLE, float: FRACTION}.get(kind.type) if kind is not None else None
        if kind is not None and number is not None and not number.fullmatch(value):
            notes.append(
                f"{key}={text} is not a number. RocketMQ ignores such a value and uses {kind.default}, as does "
                "this broker."
            )
            continue
        used[key] = value
        if value == text:
            continue
        if kind is None or (kind.type is str and key not in OF_A_LIST):
            notes.append(f"{key}={value} has trailing blanks. RocketMQ keeps them; this broker removes them.")
        elif kind.type is not bool:
            notes.append(
                f"{key}={value} has trailing blanks. RocketMQ ignores such a value and uses {kind.default}; "
                f"this broker uses {value}."
            )
        elif value.lower() == "true":
            notes.append(f"{key}={value} has trailing blanks. RocketMQ reads it as false, this broker as true.")
    return Values(used, tuple(notes))


def _kinds(of: Any, keys: Mapping[str, str]) -> dict[str, _Kind]:
    known = {field.name: field for field in fields(of)}
    return {
        key: _Kind(known[name].type, "" if known[name].default is MISSING else str(known[name].default))
        for key, name in keys.items()
    }


KINDS = {
    **_kinds(BrokerConfig, broker_config.PROPERTIES),
    **_kinds(MessageStoreConfig, store_config.PROPERTIES),
    QUEUE_FILE: _Kind(int, str(MessageStoreConfig.consume_queue_file_entries * CONSUME_QUEUE_UNIT_BYTES)),
}
