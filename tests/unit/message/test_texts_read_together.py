"""When texts are read together, and when they are not."""

import pytest

from sandbox.message.key_pattern import TextReader
from sandbox.message.string_hash import index_key_hash, tags_code

SHAPES = {
    "one_key": b"KEYS\x01order-%04d\x02TAGS\x01TagA",
    "two_keys": b"UNIQ_KEY\x01AC1100%04X\x02WAIT\x01true\x02KEYS\x01order-%04d\x02TAGS\x01TagA",
    "keys_first": b"KEYS\x01order-%04d\x02UNIQ_KEY\x01AC1100%04X",
    "words": b"TAGS\x01TagA\x02KEYS\x01shop-%04d order-%04d\x02",
    "wait_twice": b"KEYS\x01order-%04d\x02WAIT\x01true\x02CLUSTER\x01c\x02WAIT\x01true",
    "an_older_key": b"KEYS\x01old\x02KEYS\x01order-%04d\x02KEYS\x01",
}


def texts_of(shape: str, first: int, count: int = 8) -> list[bytes]:
    pattern = SHAPES[shape]
    return [pattern % ((n,) * pattern.count(b"%")) for n in range(first, first + count)]


def warm(topic: str = "orders") -> TextReader:
    """A reader that has met every ending of 0 to 4095."""
    reader = TextReader(topic)
    for n in range(4096):
        reader.hasher.hash(b"%03d" % (n % 1000))
        reader.hasher.hash(b"%03X" % n)
    return reader


@pytest.mark.parametrize("shape", SHAPES)
def test_texts_that_differ_where_keys_end_are_read_together(shape: str) -> None:
    reader = warm()
    for first in (100, 108, 2000):
        found = reader.read(texts_of(shape, first))
        assert found is not None
        codes, hashes = found
        numbers = range(first, first + 8)
        assert codes == [tags_code("TagA") if b"TagA" in SHAPES[shape] else 0] * 8
        order = [f"order-{n:04}" for n in numbers]
        keys = {
            "two_keys": [[f"AC1100{n:04X}", f"order-{n:04}"] for n in numbers],
            "keys_first": [[f"AC1100{n:04X}", f"order-{n:04}"] for n in numbers],
            "words": [[f"shop-{n:04}", f"order-{n:04}"] for n in numbers],
        }.get(shape, [[key] for key in order])
        assert hashes == [index_key_hash(f"orders#{key}") for row in keys for key in row]


def test_tags_may_differ_when_all_were_met_before() -> None:
    reader = warm()
    tags = (b"scarlet", b"azure", b"scarlet", b"jade")  # no other test meets these: what is known is the process's
    texts = [b"KEYS\x01order-%04d\x02TAGS\x01%s" % (n, tag) for n, tag in enumerate(tags)]
    assert reader.read(texts) is None
    for tag in ("scarlet", "azure", "jade"):
        reader.read([b"TAGS\x01%s\x02KEYS\x01order-0001" % tag.encode()] * 4)
    found = reader.read(texts)
    assert found is not None
    assert found[0] == [tags_code(tag) for tag in ("scarlet", "azure", "scarlet", "jade")]


@pytest.mark.parametrize(
    "odd",
    [
        b"KEYS\x01order-0001\x02TAGS\x01TagB\x02X\x01y",
        b"KEYS\x01order-0001 more\x02TAGS\x01TagA",
        b"TAGS\x01TagA",
        b"",
        b"KEYS\x01order-0001\x00KEYS\x01order-0002\x02TAGS\x01TagA",
        b"KEYS\x01order-00 1\x02TAGS\x01TagA",
        "KEYS\x01order-0键\x02TAGS\x01TagA".encode(),
    ],
)
def test_one_odd_text_and_each_is_read_alone(odd: bytes) -> None:
    reader = warm()
    texts = texts_of("one_key", 100)
    assert reader.read(texts) is not None
    assert reader.read([*texts[:3], odd, *texts[3:]]) is None
    assert reader.read([*texts, odd]) is None
    assert reader.read([odd, *texts]) is None


def test_a_few_texts_are_read_alone() -> None:
    assert warm().read(texts_of("one_key", 0, 3)) is None


def test_attempts_in_vain_become_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = TextReader("orders")
    tried: list[bytes] = []
    of = reader.read.__globals__["KeyPattern"].of

    def noted(text: bytes, *args: object, **options: object) -> object:
        tried.append(text)
        return of(text, *args, **options)

    monkeypatch.setattr("sandbox.message.key_pattern.KeyPattern.of", noted)
    for n in range(1000):
        reader.read([b"KEYS\x01%d" % (n * 7919 + i * 104_729) for i in range(6)])
    assert len(tried) < 60
