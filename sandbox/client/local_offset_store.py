"""Offset store of a broadcasting member, in a file of its own."""

import json
import logging
from collections.abc import Iterable
from typing import Protocol

from sandbox.client.offset_store import OffsetMemory
from sandbox.journal.events import OffsetCommitted, OffsetsPersisted
from sandbox.journal.journal import Journal
from sandbox.kernel import loose_json
from sandbox.kernel.errors import ClientError
from sandbox.message.queue import MessageQueue

log = logging.getLogger(__name__)


class FileStore(Protocol):
    """Small files by name.  `write` replaces a whole file and keeps the old content as `name.bak`."""

    def read(self, name: str) -> bytes | None: ...
    def write(self, name: str, content: bytes) -> None: ...


class LocalFileOffsetStore(OffsetMemory):
    """Offset store in `<client id>/<group>/offsets.json`; no broker stores these offsets.  RocketMQ: same name.

    Reading accepts fastjson's output, which has raw objects as keys.  Writing produces strict JSON, whose keys are
    the objects' text, which fastjson reads as well.  A missing or empty file holds no offsets.  If the file and its
    backup are both damaged, the member cannot start and overwrites neither.  Removing an offset affects memory only:
    a later read returns the file's value again.
    """

    def __init__(self, group: str, client_id: str, files: FileStore, journal: Journal) -> None:
        super().__init__()
        self._group = group
        self._client_id = client_id
        self._files = files
        self._journal = journal
        self.file = f"{client_id}/{group}/offsets.json"

    async def load(self) -> None:
        """Load the offsets into memory.  Raises ClientError if neither the file nor its backup can be read."""
        self.table.update(self.in_file())

    async def read_stored(self, mq: MessageQueue) -> int | None:
        try:
            return self.in_file().get(mq)
        except ClientError as error:
            log.error("no stored offset: %s", error)
            return None

    async def persist_all(self, queues: Iterable[MessageQueue], *, by: str) -> None:
        """Write the offsets of these queues to the file; it keeps the offsets of other queues."""
        offsets = {mq: self.table[mq] for mq in sorted(queues) if mq in self.table}
        try:
            before = self.in_file()
        except ClientError as error:
            log.error("offsets are not written: %s", error)
            return
        changed = {mq: offset for mq, offset in offsets.items() if before.get(mq) != offset}
        if not changed:
            return
        after = before | changed
        self._files.write(self.file, _encode(after))
        for mq, offset in changed.items():
            self.note_safe(mq, offset)
            if self._journal.tracing:
                self._journal.write(
                    OffsetCommitted(
                        group=self._group,
                        topic=mq.topic,
                        broker=mq.broker,
                        queue_id=mq.queue_id,
                        offset=offset,
                        previous=before.get(mq),
                        by=by,
                        client_id=self._client_id,
                    )
                )
        self._journal.write(OffsetsPersisted(owner=self._client_id, file=self.file, entries=len(after)))

    async def persist(self, mq: MessageQueue, *, by: str) -> None:
        await self.persist_all([mq], by=by)

    async def update_consume_offset_to_broker(self, mq: MessageQueue, offset: int, *, oneway: bool) -> None:
        """Do nothing: brokers store no offsets of broadcasting members."""

    def in_file(self) -> dict[MessageQueue, int]:
        """Return the offsets in the file, or in its backup if the file cannot be read.

        Raises ClientError if the backup cannot be read, either, as RocketMQ's `readLocalOffsetBak` does.
        """
        damage: Exception | None = None
        for name in (self.file, f"{self.file}.bak"):
            damage, content = None, self._files.read(name)
            if not content:
                continue
            try:
                return decode_offsets(content)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                log.warning("skipping offset file %s: %s", name, error)
                damage = error
        if damage is not None:
            raise ClientError(
                f"the offsets in {self.file} and its backup cannot be read: restore the file, or move both "
                "away to start without offsets"
            )
        return {}


def decode_offsets(content: bytes) -> dict[MessageQueue, int]:
    """Return the offset table of a file written by this library or by fastjson.

    Raises ValueError, KeyError or TypeError for any other content.

    >>> decode_offsets(b'{"offsetTable":{{"brokerName":"b","queueId":1,"topic":"t"}:7}}')
    {MessageQueue(topic='t', broker='b', queue_id=1): 7}
    """
    table = loose_json.loads(content)["offsetTable"]
    offsets: dict[MessageQueue, int] = {}
    for key, offset in table.items():
        fields = loose_json.loads(key)
        offsets[MessageQueue(str(fields["topic"]), str(fields["brokerName"]), int(fields["queueId"]))] = int(offset)
    return offsets


def _encode(table: dict[MessageQueue, int]) -> bytes:
    named = {
        loose_json.canonical({"brokerName": mq.broker, "queueId": mq.queue_id, "topic": mq.topic}): table[mq]
        for mq in sorted(table)
    }
    return json.dumps({"offsetTable": named}, indent="\t", ensure_ascii=False).encode()
