"""Hashes, ids, names and texts come out as RocketMQ's own classes make them."""

import base64
from typing import Any

import pytest

from sandbox.message import msg_id, properties
from sandbox.message.filter import parse_tags
from sandbox.message.record import body_crc
from sandbox.message.string_hash import KeyHasher, index_key_hash, java_hash, tags_code
from sandbox.store.mapped_file import file_name
from tests.golden.util_vectors import vectors

pytestmark = pytest.mark.golden


@pytest.mark.parametrize("row", vectors("string_hash"), ids=lambda row: repr(row["s"])[:20])
def test_hashes_are_javas(row: dict[str, Any]) -> None:
    text = row["s"]
    assert java_hash(text) == row["javaHashCode"]
    assert tags_code(text) == row["tagsCodeLong"]
    assert index_key_hash(text) == row["indexKeyHash"]
    assert body_crc(base64.b64decode(row["utf8"])) == row["crc32_rocketmq"]


@pytest.mark.parametrize("row", vectors("string_hash"), ids=lambda row: repr(row["s"])[:20])
def test_a_key_hashed_after_its_topic_is_the_hash_of_both(row: dict[str, Any]) -> None:
    hasher = KeyHasher("Topic")
    for _ in range(2):  # the second time from what is remembered
        assert hasher.hash(row["s"].encode("utf-8", "replace")) == index_key_hash(
            "Topic#" + row["s"].encode("utf-8", "replace").decode()
        )


@pytest.mark.parametrize("row", vectors("message_id"), ids=lambda row: row["msgId"])
def test_an_offset_message_id_says_host_and_offset(row: dict[str, Any]) -> None:
    host = msg_id.host_bytes(row["host"], row["port"])
    assert msg_id.encode(host, row["offset"]) == row["msgId"]
    assert msg_id.decode(row["msgId"]) == (host, row["decodedOffset"])


@pytest.mark.parametrize("row", vectors("offset_file_name"), ids=lambda row: str(row["offset"]))
def test_a_file_is_named_by_its_first_byte(row: dict[str, Any]) -> None:
    assert file_name(row["offset"]) == row["fileName"]


@pytest.mark.parametrize("row", vectors("properties_codec"), ids=lambda row: row["encoded_b64"])
def test_property_texts_are_read_and_written_as_java_does(row: dict[str, Any]) -> None:
    text = base64.b64decode(row["encoded_b64"]).decode()
    assert properties.decode(text) == row["decodedBack"]
    if "map" in row:
        assert properties.decode(properties.encode(row["map"])) == row["decodedBack"]
    for name, value in row["decodedBack"].items():
        assert properties.find(text.encode(), name.encode()) == value.encode()


@pytest.mark.parametrize("row", vectors("subscription_parse"), ids=lambda row: str(row["subString"]))
def test_tag_expressions_are_parsed_as_java_does(row: dict[str, Any]) -> None:
    if "error" in row:
        with pytest.raises(ValueError, match=row["error"]):
            parse_tags(row["subString"])
        return
    parsed = parse_tags(row["subString"])
    assert parsed.expression == row["out_subString"]
    assert parsed.tags == set(row["tagsSet"])
    assert (parsed.codes or set()) == set(row["codeSet"])
