"""The store as Arrow columns, without Spark: what a real client read from the recorded stores, and torn stores."""

import base64
import ipaddress
import zlib
from pathlib import Path
from typing import Any

import pytest

from sandbox.message.record import MAGIC
from sandbox.pipeline.sources.records import SCHEMA, batches, rows_of
from sandbox.store_columns.queue_positions import EVERYTHING, Wanted, log_files, places, queues_of
from tests.golden.golden_stores import NAMES, rows, unpack

SAME = {
    "physicalOffset": "commitLogOffset",
    "bornTimestamp": "bornTimestamp",
    "storeTimestamp": "storeTimestamp",
    "bornHost": "bornHost",
    "storeHost": "storeHost",
    "reconsumeTimes": "reconsumeTimes",
    "sysFlag": "sysFlag",
    "keys": "keys",
    "tags": "tags",
}
Row = dict[str, Any]


def read(
    root: Path, wanted: Wanted = EVERYTHING, columns: list[str] = SCHEMA.names, batch_rows: int = 100
) -> list[Row]:
    return [
        row
        for log in log_files(root)
        for batch in batches(log, places(root, wanted, log.start, log.end), columns, rows=batch_rows)
        for row in batch.to_pylist()
    ]


def name_of(row: Row) -> tuple[str, int, int]:
    return row["topic"], row["queueId"], row["queueOffset"]


@pytest.fixture(scope="module", params=NAMES)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(request.param, tmp_path_factory.mktemp("golden"))


@pytest.mark.golden
@pytest.mark.parametrize("batch_rows", [7, 1_000])
def test_every_field_is_what_a_real_client_read(store: Path, batch_rows: int) -> None:
    reported = {name_of(row): row for row in (*rows("messages"), *rows("unpullable_messages"))}
    found = read(store, batch_rows=batch_rows)
    assert [name_of(row) for row in found] != sorted(map(name_of, found)), "in the order of the log"
    later = {name_of(row) for row in found} - reported.keys()
    assert {topic for topic, _, _ in later} <= {"RMQ_SYS_TRANS_HALF_TOPIC"}, "put again after the recovery"
    assert {name_of(row) for row in found} >= reported.keys()
    for row in found:
        if name_of(row) in later:
            continue
        client = reported[name_of(row)]
        for ours, theirs in SAME.items():
            assert (row[ours] or "") == (client[theirs] or ""), (name_of(row), ours)
        assert dict(row["properties"]) == client["properties"]
        if client.get("body") is not None:
            assert row["body"] == base64.b64decode(client["body"])


@pytest.mark.golden
def test_queues_of_a_topic_are_read_without_the_rest(store: Path) -> None:
    some = Wanted(topics=frozenset({"GoldenBasic"}), queue_ids=frozenset({1, 2}))
    assert read(store, some) == [
        row for row in read(store) if row["topic"] == "GoldenBasic" and row["queueId"] in (1, 2)
    ]


@pytest.mark.golden
def test_chosen_columns_come_in_the_order_they_were_asked_for(store: Path) -> None:
    assert [list(row) for row in read(store, columns=["body", "topic"])[:1]] == [["body", "topic"]]


def record(
    *,
    queue_offset: int,
    physical: int,
    body: bytes = b"hello",
    properties: bytes = b"KEYS\x01k\x02",
    sys_flag: int = 0,
    queue_id: int = 0,
) -> bytes:
    """Written from the format alone."""
    born = (ipaddress.ip_address("2001:db8::7") if sys_flag & 0x10 else ipaddress.ip_address("10.1.2.3")).packed
    stored = (ipaddress.ip_address("2001:db8::8") if sys_flag & 0x20 else ipaddress.ip_address("127.0.0.1")).packed
    port = (10_911).to_bytes(4, "big")
    rest = b"".join(
        [
            MAGIC.to_bytes(4, "big", signed=True),
            zlib.crc32(body).to_bytes(4, "big"),
            queue_id.to_bytes(4, "big"),
            bytes(4),
            queue_offset.to_bytes(8, "big"),
            physical.to_bytes(8, "big"),
            sys_flag.to_bytes(4, "big"),
            (1_000).to_bytes(8, "big"),
            born + port,
            (2_000 + queue_offset).to_bytes(8, "big"),
            stored + port,
            (3).to_bytes(4, "big"),
            bytes(8),
            len(body).to_bytes(4, "big"),
            body,
            b"\x06orders",
            len(properties).to_bytes(2, "big"),
            properties,
        ]
    )
    return (4 + len(rest)).to_bytes(4, "big") + rest


def write(root: Path, records: list[bytes], *, log_bytes: int = 4_096, units: int = 50, base: int = 0) -> Path:
    """One log file and the queue of topic `orders`."""
    log, queue = root / "commitlog", root / "consumequeue" / "orders" / "0"
    log.mkdir(parents=True)
    queue.mkdir(parents=True)
    (log / f"{base:020}").write_bytes(b"".join(records).ljust(log_bytes, b"\0"))
    at, entries = base, b""
    for data in records:
        entries += at.to_bytes(8, "big") + len(data).to_bytes(4, "big") + (7).to_bytes(8, "big")
        at += len(data)
    (queue / f"{0:020}").write_bytes(entries.ljust(units * 20, b"\0"))
    return root


def orders(count: int, **fields: Any) -> list[bytes]:
    found: list[bytes] = []
    for n in range(count):
        found.append(record(queue_offset=n, physical=sum(map(len, found)), **fields))
    return found


@pytest.mark.parametrize("sys_flag", [0, 0x10, 0x20, 0x30])
def test_ipv6_hosts_shift_what_stands_behind_them(tmp_path: Path, sys_flag: int) -> None:
    found = read(write(tmp_path, orders(3, sys_flag=sys_flag)))
    assert [(row["body"], row["keys"], row["storeTimestamp"]) for row in found] == [
        (b"hello", "k", 2_000),
        (b"hello", "k", 2_001),
        (b"hello", "k", 2_002),
    ]
    assert {row["bornHost"] for row in found} == {"[2001:db8::7]:10911" if sys_flag & 0x10 else "10.1.2.3:10911"}
    assert {row["storeHost"] for row in found} == {"[2001:db8::8]:10911" if sys_flag & 0x20 else "127.0.0.1:10911"}


def test_packed_bodies_are_unpacked_and_empty_ones_stay_empty(tmp_path: Path) -> None:
    packed = record(queue_offset=0, physical=0, body=zlib.compress(b"long " * 50), sys_flag=1)
    empty = record(queue_offset=1, physical=len(packed), body=b"", properties=b"")
    found = read(write(tmp_path, [packed, empty]))
    assert [row["body"] for row in found] == [b"long " * 50, b""]
    assert [(row["keys"], row["properties"]) for row in found] == [("k", [("KEYS", "k")]), (None, [])]


def test_properties_that_are_no_utf8_lose_no_message(tmp_path: Path) -> None:
    text = b"KEYS\x01\xff\xfe\x02a\x01b\x01c\x02"
    found = read(write(tmp_path, [record(queue_offset=0, physical=0, properties=text)]))
    assert dict(found[0]["properties"]) == {"KEYS": "\ufffd\ufffd", "a": "b\x01c"}


def test_a_torn_end_of_the_log_ends_the_rows_and_nothing_else(tmp_path: Path) -> None:
    root = write(tmp_path, orders(5))
    [log] = log_files(root)
    ends = sum(map(len, orders(5)))
    data = Path(log.path).read_bytes()
    for kept in (ends - 1, ends - 50, ends - 105):
        if kept < ends - 10:  # no checksum covers a record's last bytes, and a broker would serve it too
            Path(log.path).write_bytes(data[:kept].ljust(4_096, b"\0"))
            assert [row["queueOffset"] for row in read(root)] == [0, 1, 2, 3]
        Path(log.path).write_bytes(data[:kept])
        assert [row["queueOffset"] for row in read(root)] == [0, 1, 2, 3], "also when the file is short"


@pytest.mark.parametrize("at", range(88))
def test_a_head_with_wrong_bytes_costs_its_own_row_alone(tmp_path: Path, at: int) -> None:
    damaged = orders(3)
    begin = len(damaged[0])
    root = write(tmp_path, damaged)
    [log] = log_files(root)
    data = bytearray(Path(log.path).read_bytes())
    data[begin + at] ^= 0x80
    Path(log.path).write_bytes(data)
    offsets = [row["queueOffset"] for row in read(root)]
    assert offsets in ([0, 2], [0, 1, 2])
    assert 0 in offsets
    assert 2 in offsets


def test_a_queue_that_began_in_the_middle_has_no_rows_for_its_fillers(tmp_path: Path) -> None:
    root = write(tmp_path, orders(2))
    queue = root / "consumequeue" / "orders" / "0" / f"{0:020}"
    filler = bytes(8) + (0x7FFF_FFFF).to_bytes(4, "big") + bytes(8)
    queue.write_bytes((filler * 2 + queue.read_bytes())[: 50 * 20])
    assert places(root, EVERYTHING, 0, 4_096).queue_offset.tolist() == [2, 3]


def test_a_directory_that_is_no_store_has_no_rows(tmp_path: Path) -> None:
    assert (log_files(tmp_path), queues_of(tmp_path), list(rows_of(tmp_path))) == ([], [], [])
