"""Texts read together say what each says alone."""

from hypothesis import given
from hypothesis import strategies as st

from sandbox.message import properties
from sandbox.message.key_pattern import TextReader
from sandbox.message.string_hash import index_key_hash, java_hash

TOPIC = "orders"
KEYED = ("KEYS", "UNIQ_KEY")
names = st.sampled_from(["KEYS", "TAGS", "UNIQ_KEY", "X", "", "MYKEYS"])
values = st.sampled_from(
    ["", "abc", "abd", "red-abc", "red-abd blue-abc", "a", "x\0y", "k\x01abc", "键abc", " abc", "TagA"]
)
tails = st.sampled_from(["abc", "abd", "abe"])
ends = st.sampled_from(["", "\x02", "\x00KEYS\x01abc", "\x02\x02"])


def alone(text: bytes) -> tuple[int, list[int]]:
    tags, unique, words = properties.dispatched(text)
    keys = [key for key in (unique or b"", *(words or b"").split(b" ")) if key]
    return java_hash(tags.decode()) if tags else 0, [index_key_hash(f"{TOPIC}#{key.decode()}") for key in keys]


def learned(reader: TextReader, texts: list[bytes]) -> None:
    """Every key and every tag has been met."""
    reader.read(texts)
    for text in texts:
        _, unique, words = properties.dispatched(text)
        for key in (unique or b"", *(words or b"").split(b" ")):
            reader.hasher.hash(key)


@st.composite
def shaped(draw: st.DrawFn) -> list[bytes]:
    """Texts with the same names and beginnings of values; now and then one that is not quite so."""
    shape = [(name, draw(values)) for name in draw(st.lists(names, min_size=1, max_size=4))]
    texts = []
    for _ in range(draw(st.integers(4, 7))):
        pairs = [f"{name}\x01{head}{draw(tails) if name in KEYED else ''}" for name, head in shape]
        odd = draw(st.integers(0, 40))
        if odd == 0:
            pairs.append(f"{draw(names)}\x01{draw(values)}")
        texts.append(("\x02".join(pairs) + (draw(ends) if odd == 1 else "")).encode())
    return texts


@given(st.lists(shaped(), min_size=1, max_size=4))
def test_what_is_read_together_is_what_each_text_says(turns: list[list[bytes]]) -> None:
    reader = TextReader(TOPIC)
    for texts in (*turns, *turns):
        learned(reader, texts)
        found = reader.read(texts)
        if found is not None:
            expected = [alone(text) for text in texts]
            assert found == ([code for code, _ in expected], [h for _, hashes in expected for h in hashes])
