"""Offsets on disk and in memory: `consumerOffset.json` of a broker, `offsets.json` of a member.

Rows by queue: file, now (offsets as text; None: missing), state.  The state is `same`, `waits` (for the next write),
or `unknown`: the file is damaged, or too long to be read for a board.
"""

from collections.abc import Mapping
from typing import Any

from sandbox.broker.broker import Broker
from sandbox.client.local_offset_store import LocalFileOffsetStore
from sandbox.kernel.errors import ClientError, TablesDamaged
from sandbox.queries.rows.storage import WrittenOffset
from sandbox.store.table_files import CONSUMER_OFFSETS

ROWS_SHOWN = 256
BYTES_READ = 64 * 1024
"""A longer file is not read for a picture: it is parsed in the engine's turn."""


def broker_offsets(broker: Broker) -> dict[str, WrittenOffset]:
    """Return the rows by `topic@group/queue id`, the keys of the file (spec store-format 10)."""
    file, now = broker.store.config_file(CONSUMER_OFFSETS), _flat(broker.consumer_offsets.to_json()["offsetTable"])
    if (broker.store.disk.size_of(file.path) or 0) > BYTES_READ:
        return _beside(None, now)
    try:
        written = (file.read() or {}).get("offsetTable", {})
    except TablesDamaged:  # since the broker started; its content is unknown
        return _beside(None, now)
    return _beside(_flat(written), now)


def member_offsets(store: object, queues: list[Any]) -> dict[str, WrittenOffset] | None:
    """Return the rows by `topic/broker/id` of a member that stores its offsets in a file.

    None if a broker stores them.
    """
    if not isinstance(store, LocalFileOffsetStore):
        return None
    now = {mq.key: str(offset) for mq in queues if (offset := store.read_memory(mq)) is not None}
    try:
        written = {mq.key: str(offset) for mq, offset in store.in_file().items()}
    except ClientError:  # damaged since the member has started
        return _beside(None, now)
    return _beside(written, {**written, **now})  # memory forgets queues of others, their rows stay in the file


def _flat(table: Mapping[str, Mapping[Any, int]]) -> dict[str, str]:
    return {f"{key}/{queue}": str(offset) for key, queues in table.items() for queue, offset in queues.items()}


def _beside(written: Mapping[str, str] | None, now: Mapping[str, str]) -> dict[str, WrittenOffset]:
    """Return the rows of the offsets in file and memory; `written` is None if the file is unknown."""
    if written is None:
        return {key: {"file": None, "now": now[key], "state": "unknown"} for key in sorted(now)[:ROWS_SHOWN]}
    keys = sorted({*written, *now})[:ROWS_SHOWN]
    return {
        key: {
            "file": written.get(key),
            "now": now.get(key),
            "state": "same" if written.get(key) == now.get(key) else "waits",
        }
        for key in keys
    }
