"""Content written into a store before another broker opens it, and what a broker serves of it, as frames."""

import json
import struct
import time
import zlib
from pathlib import Path
from typing import NamedTuple

from tests.golden.independent_reader import IndependentReader, Record
from tests.interop.servers import PROPERTIES, log_records
from tests.interop.wire_line import Line, loose_json

SLOTS, ENTRIES = 100, 500
# Small files, so that a few hundred messages fill several of each kind; the same on both sides.
SMALL = {
    **PROPERTIES,
    "mappedFileSizeCommitLog": "131072",
    "mappedFileSizeConsumeQueue": "2000",
    "maxHashSlotNum": str(SLOTS),
    "maxIndexNum": str(ENTRIES),
    "maxMessageSize": "65536",
    "flushConsumerOffsetInterval": "1000",
    "diskMaxUsedSpaceRatio": "95",
}
PLAIN, LATER, PAID, GROUP, PAYERS = "plain", "later", "paid", "workers", "payers"
RETRY, DEAD, DELAYED = f"%RETRY%{GROUP}", f"%DLQ%{GROUP}", "SCHEDULE_TOPIC_XXXX"
QUEUES = 3
PER_PART = 240
SOON, NEVER = 2, 18  # delay levels: 5 s, 2 h
COMPRESSED = 0x301
PREPARED, COMMIT, ROLLBACK = 4, 8, 12
PULL_AT_ONCE = 4  # sysFlag: an expression comes along, and the broker does not hold the pull
FOUND = 0
PATIENCE_S = 30.0
LOOK_EVERY_S = 0.1


class Sent(NamedTuple):
    """The position of a message in the broker's response."""

    queue_offset: int
    physical_offset: int


class Writer:
    """A part of a store's content; parts of one store follow each other, perhaps by different brokers."""

    def __init__(self, line: Line, part: str) -> None:
        self._line, self.part = line, part

    def write_all(self) -> None:
        for topic in (PLAIN, LATER, PAID):
            self._ask(
                17,
                topic=topic,
                defaultTopic="TBW102",
                readQueueNums=QUEUES,
                writeQueueNums=QUEUES,
                perm=6,
                topicFilterType="SINGLE_TAG",
                topicSysFlag=0,
                order="false",
            )
        self._heartbeat()
        for number in range(PER_PART):
            body = f"{self.part} {number}".encode() * (200 if number % 8 == 0 else 1)
            self.send(PLAIN, number % QUEUES, body, number=number)
        self.send(PLAIN, 0, zlib.compress(b"press me " * 900), number=PER_PART, sys_flag=COMPRESSED)
        self._batch(5)
        self._delay()
        self._transact()
        self._fail()
        for queue_id in range(QUEUES):
            self._ask(15, consumerGroup=GROUP, topic=PLAIN, queueId=queue_id, commitOffset=20 + queue_id)

    def send(self, topic: str, queue_id: int, body: bytes, *, number: int, sys_flag: int = 0, **more: str) -> Sent:
        pairs = {
            "KEYS": f"{self.part}-{number % 40} all",
            "TAGS": "ABC"[number % 3],
            "UNIQ_KEY": f"{zlib.crc32(f'{self.part} {topic} {number}'.encode()):032X}",
            "WAIT": "true",
            **more,
        }
        answer = self._ask(
            310,
            body,
            a=PAYERS,
            b=topic,
            c="TBW102",
            d=4,
            e=queue_id,
            f=sys_flag,
            g=now_ms(),
            h=number,
            i=text(pairs),
            j=0,
            k="false",
            m="false",
        )
        return Sent(int(answer["queueOffset"]), int(answer["msgId"][16:], 16))

    def _batch(self, count: int) -> None:
        items = b"".join(
            item(f"{self.part} batch {i}".encode(), text({"KEYS": f"{self.part}-batch"}).encode()) for i in range(count)
        )
        self._ask(
            320,
            items,
            a=PAYERS,
            b=PLAIN,
            c="TBW102",
            d=4,
            e=1,
            f=0,
            g=now_ms(),
            h=0,
            i=text({"WAIT": "true"}),
            j=0,
            k="false",
            m="true",
        )

    def _delay(self) -> None:
        """Two that become due after this broker's end, perhaps, and one that does not in these tests."""
        for number, level in enumerate((SOON, SOON, NEVER)):
            self.send(LATER, number, f"{self.part} level {level}".encode(), number=number, DELAY=str(level))

    def _transact(self) -> None:
        """One committed, one rolled back and one open transaction."""
        for number, end in enumerate((COMMIT, ROLLBACK, None)):
            half = self.send(
                PAID,
                number,
                f"{self.part} {end}".encode(),
                number=number,
                sys_flag=PREPARED,
                TRAN_MSG="true",
                PGROUP=PAYERS,
            )
            if end is not None:
                self._ask(
                    37,
                    producerGroup=PAYERS,
                    tranStateTableOffset=half.queue_offset,
                    commitLogOffset=half.physical_offset,
                    commitOrRollback=end,
                    fromTransactionCheck="false",
                    msgId="",
                    transactionId="",
                )

    def _fail(self) -> None:
        """Sent back by a consumer: soon to come again, later, and never (a dead letter)."""
        failed = self.send(PLAIN, 2, f"{self.part} fails".encode(), number=PER_PART + 1)
        for level in (1, SOON, -1):
            self._ask(
                36,
                offset=failed.physical_offset,
                group=GROUP,
                delayLevel=level,
                originMsgId="",
                originTopic=PLAIN,
                unitMode="false",
                maxReconsumeTimes=16,
            )
        before = len(records_of(self._line, RETRY, 0))
        until(lambda: len(records_of(self._line, RETRY, 0)) > before)

    def _heartbeat(self) -> None:
        heartbeat(self._line, f"writer-{self.part}")

    def _ask(self, code: int, body: bytes = b"", **ext: object) -> dict[str, str]:
        answer = self._line.ask(code, ext, body)
        assert answer.code == 0, (code, ext, answer)
        return answer.ext


def heartbeat(line: Line, client_id: str) -> None:
    """A member of the group, which makes the broker know it, and a producer that may be asked about transactions."""
    consumer = {
        "groupName": GROUP,
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET",
        "subscriptionDataSet": [],
        "unitMode": False,
    }
    body = {"clientID": client_id, "producerDataSet": [{"groupName": PAYERS}], "consumerDataSet": [consumer]}
    assert line.ask(34, {}, json.dumps(body).encode()).code == 0


class Served(NamedTuple):
    """A broker's view of a store: ends and records of each queue, positions of each key."""

    ends: dict[tuple[str, int], tuple[int, int]]
    records: dict[tuple[str, int], list[bytes]]
    keys: dict[tuple[str, str], list[int]]
    offsets: dict[str, dict[str, int]]


def served(line: Line, root: Path) -> Served:
    """Everything in the store; the files determine its queues and keys."""
    kept = list(log_records(root / "commitlog"))
    queues = sorted({(record.topic, record.queue_id) for record in kept if record.in_queue and in_the_open(record)})
    keys = sorted({(record.topic, key) for record in kept for key in record.keys})
    offsets = line.ask(43).json()["offsetTable"]
    return Served(
        {queue: ends_of(line, *queue) for queue in queues},
        {queue: records_of(line, *queue) for queue in queues},
        {(topic, key): found(line, topic, key) for topic, key in keys},
        offsets,
    )


def in_the_open(record: Record) -> bool:
    """Half messages and their ends are in queues of system topics, which refuse pulls by name."""
    return not record.topic.startswith("RMQ_SYS")


def ends_of(line: Line, topic: str, queue_id: int) -> tuple[int, int]:
    low, high = (line.ask(code, {"topic": topic, "queueId": queue_id}).ext["offset"] for code in (31, 30))
    return int(low), int(high)


def records_of(line: Line, topic: str, queue_id: int) -> list[bytes]:
    """Return the whole records of the queue, pulled from its beginning to its end."""
    got: list[bytes] = []
    at = 0
    while True:
        answer = line.ask(
            11,
            {
                "consumerGroup": GROUP,
                "topic": topic,
                "queueId": queue_id,
                "queueOffset": at,
                "maxMsgNums": 32,
                "sysFlag": PULL_AT_ONCE,
                "commitOffset": 0,
                "suspendTimeoutMillis": 0,
                "subscription": "*",
                "subVersion": 0,
                "expressionType": "TAG",
            },
        )
        if answer.code != FOUND:
            return got
        at = int(answer.ext["nextBeginOffset"])
        got += cut(answer.body)


def found(line: Line, topic: str, key: str) -> list[int]:
    answer = line.ask(12, {"topic": topic, "key": key, "maxNum": 64, "beginTimestamp": 0, "endTimestamp": 2**63 - 1})
    return [Record(raw, 0).said_at for raw in cut(answer.body)] if answer.code == 0 else []


def cut(data: bytes) -> list[bytes]:
    out = []
    while data:
        (size,) = struct.unpack(">i", data[:4])
        out.append(data[:size])
        data = data[size:]
    return out


def stored_offsets(root: Path) -> dict[str, dict[str, int]]:
    """Return the committed offsets on disk."""
    table: dict[str, dict[str, int]] = loose_json((root / "config/consumerOffset.json").read_text())["offsetTable"]
    return table


def read(root: Path) -> IndependentReader:
    return IndependentReader(root, slots=SLOTS, entries=ENTRIES)


def text(pairs: dict[str, str]) -> str:
    return "\x02".join(f"{name}\x01{value}" for name, value in pairs.items())


def item(body: bytes, properties: bytes) -> bytes:
    """One message of a batch (spec store-format 2.8)."""
    head = struct.pack(">iiiii", 22 + len(body) + len(properties), 0, 0, 0, len(body))
    return head + body + struct.pack(">h", len(properties)) + properties


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def until(condition: object) -> None:
    end_s = time.monotonic() + PATIENCE_S
    assert callable(condition)
    while not condition():
        assert time.monotonic() < end_s, "waited in vain"
        time.sleep(LOOK_EVERY_S)
