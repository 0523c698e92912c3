"""Any message becomes a record that reads back, and no damage goes unnoticed where it matters."""

from hypothesis import given
from hypothesis import strategies as st

from sandbox.message import batch, properties, record, sys_flag
from sandbox.message.batch import BatchItem
from sandbox.message.message import InboundMessage
from sandbox.message.string_hash import KeyHasher, index_key_hash

ints = st.integers(-(1 << 31), (1 << 31) - 1)
longs = st.integers(-(1 << 63), (1 << 63) - 1)
times = st.integers(0, (1 << 62))
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x01\x02"), min_size=1, max_size=12)
pairs = st.dictionaries(names, names, max_size=5)
topics = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


@st.composite
def messages(draw: st.DrawFn) -> tuple[InboundMessage, bytes]:
    """A message and a store host, each with IPv4 or IPv6."""
    flags = draw(st.sampled_from([0, 0x10, 0x20, 0x30])) | draw(st.integers(0, 15))
    born = draw(st.binary(min_size=20 if flags & 0x10 else 8, max_size=20 if flags & 0x10 else 8))
    store = draw(st.binary(min_size=20 if flags & 0x20 else 8, max_size=20 if flags & 0x20 else 8))
    text = properties.encode(draw(pairs)).encode()
    inbound = InboundMessage(
        draw(topics),
        draw(ints),
        draw(st.binary(max_size=200)),
        text,
        0,
        flags,
        draw(ints),
        draw(longs),
        born,
        draw(ints),
        draw(longs),
    )
    return inbound, store


@given(messages(), longs, st.integers(0, (1 << 63) - 1), times)
def test_any_message_reads_back_from_its_record(
    given_: tuple[InboundMessage, bytes], queue_offset: int, physical: int, store_ms: int
) -> None:
    m, host = given_
    raw = record.encode(m, queue_offset, physical, store_ms, host)
    found = record.decode(b"before" + raw + b"after", 6, check_crc=True)
    assert (found.topic, found.queue_id, found.queue_offset, found.physical_offset, found.store_bytes) == (
        m.topic,
        m.queue_id,
        queue_offset,
        physical,
        len(raw),
    )
    assert (found.body, found.flag, found.sys_flag, found.born_ms, found.store_ms) == (
        m.body,
        m.flag,
        m.sys_flag,
        m.born_ms,
        store_ms,
    )
    assert (found.reconsume_times, found.prepared_offset) == (m.reconsume_times, m.prepared_offset)
    assert found.properties == properties.decode(m.properties.decode())
    assert len(raw) == record.size_of(len(m.body), len(m.topic.encode()), len(m.properties), m.sys_flag)


@given(messages(), st.data())
def test_a_damaged_body_or_length_is_always_noticed(given_: tuple[InboundMessage, bytes], data: st.DataObject) -> None:
    m, host = given_
    raw = bytearray(record.encode(m, 0, 0, 1, host))
    spans = {span.name: span for span in record.fields(bytes(raw))}
    name = data.draw(st.sampled_from(["TOTALSIZE", "MAGICCODE", "BODY", "BODYLEN", "TOPICLEN", "PROPLEN"]))
    span = spans[name]
    if span.length == 0:
        return
    raw[span.at + data.draw(st.integers(0, span.length - 1))] ^= data.draw(st.integers(1, 255))
    found = record.examine(bytes(raw), 0, len(raw), check_crc=True)
    unnoticed = isinstance(found, record.Layout) and not _says_the_same(found, raw, m)
    assert not unnoticed


def _says_the_same(found: record.Layout, raw: bytearray, m: InboundMessage) -> bool:
    """A changed magic may still be a record's, and an empty body has no checksum to fail."""
    body = bytes(raw[found.body_at : found.body_at + found.body_bytes])
    return body == m.body or found.magic != record.MAGIC or not found.body_bytes


@given(st.lists(st.builds(BatchItem, ints, st.binary(max_size=50), st.binary(max_size=50)), max_size=8))
def test_any_batch_reads_back(items: list[BatchItem]) -> None:
    assert batch.decode(batch.encode(items), len(items)) == items


@given(pairs)
def test_properties_are_found_as_they_are_decoded(given_: dict[str, str]) -> None:
    text = properties.encode(given_)
    decoded = properties.decode(text)
    assert decoded == given_
    for name in (*given_, "KEYS", "TAGS", "UNIQ_KEY"):
        assert properties.find(text.encode(), name.encode()) == (decoded[name].encode() if name in decoded else None)


@given(
    st.lists(
        st.tuples(st.sampled_from(["KEYS", "TAGS", "UNIQ_KEY", "UNIQ_", "X"]), st.sampled_from(["", "a", "b"])),
        max_size=8,
    )
)
def test_what_dispatch_looks_for_is_what_decoding_finds(given_: list[tuple[str, str]]) -> None:
    text = "\x02".join(f"{name}\x01{value}" for name, value in given_)
    decoded = properties.decode(text)
    expected = tuple(decoded[name].encode() if name in decoded else None for name in ("TAGS", "UNIQ_KEY", "KEYS"))
    assert properties.dispatched(text.encode()) == expected


@given(topics, st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=10))
def test_a_key_hash_does_not_depend_on_what_was_hashed_before(topic: str, keys: list[str]) -> None:
    hasher = KeyHasher(topic)
    for key in (*keys, *keys):
        assert hasher.hash(key.encode()) == index_key_hash(f"{topic}#{key}")


def test_the_flag_that_keeps_records_out_of_queues_means_prepared_or_rolled_back() -> None:
    kinds = {kind for kind in range(0, 16, 4) if kind & sys_flag.OUT_OF_QUEUE}
    assert kinds == {sys_flag.TRANSACTION_PREPARED, sys_flag.TRANSACTION_ROLLBACK}
