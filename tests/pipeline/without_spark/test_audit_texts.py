"""Hashes of many property texts at once are those of each alone."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sandbox.message import properties
from sandbox.message.string_hash import index_key_hash, java_hash, tags_code_of_bytes
from sandbox.store_columns.property_texts import Texts

names = st.sampled_from(["KEYS", "TAGS", "UNIQ_KEY", "KEYSX", "TAG", "UNIQ_KEYS", "WAIT", ""])
values = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x01\x02"), max_size=12),
    st.sampled_from(["", " ", "a  b", "键 k", "x" * 60]),
)
texts = st.lists(st.tuples(names, values), max_size=6).map(
    lambda pairs: "\x02".join(f"{name}\x01{value}" for name, value in pairs).encode()
)


@given(st.lists(st.one_of(texts, st.binary(max_size=20)), max_size=8))
def test_tags_and_keys_of_all_are_those_of_each(pieces: list[bytes]) -> None:
    found = Texts(pieces)
    dispatched = [properties.dispatched(piece) for piece in pieces]
    assert found.tags_codes().tolist() == [tags_code_of_bytes(tags) if tags else 0 for tags, _, _ in dispatched]
    heads = np.array([java_hash(f"topic-{row}#") & 0xFFFF_FFFF for row in range(len(pieces))], np.uint32)
    keys = [
        (row, index_key_hash(f"topic-{row}#{key.decode('utf-8', 'replace')}"))
        for row, (_, unique, words) in enumerate(dispatched)
        for key in ([unique] if unique else []) + [word for word in (words or b"").split(b" ") if word]
    ]
    assert list(zip(*(column.tolist() for column in found.keys(heads)), strict=True)) == keys
