"""Finding messages by key."""

import pytest

from sandbox.journal.events import IndexFileRolled
from sandbox.message import record
from sandbox.message.string_hash import index_key_hash
from sandbox.store.message_store import MessageStore
from tests.unit.store.stores import Stores, message

FOREVER = 1 << 62


def found(
    store: MessageStore, key: str, *, count: int = 32, begin_ms: int = 0, end_ms: int = FOREVER, topic: str = "orders"
) -> list[int]:
    """Numbers of the messages found."""
    result = store.query(topic, key, count, begin_ms, end_ms)
    return [int(record.decode(raw).body[:4]) for raw in result.records]


def test_a_message_is_found_by_its_unique_key_and_every_word_of_its_keys() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, message(0, KEYS="red  blue", UNIQ_KEY="U0"), message(1, KEYS="blue 键"), message(2, KEYS=""))
    assert [found(store, key) for key in ("red", "blue", "U0", "键", "", "green")] == [[0], [0, 1], [0], [1], [], []]
    assert found(store, "blue", topic="other") == []


def test_the_answer_says_what_the_newest_index_file_says_of_itself() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, message(0), message(1), each_s=5)
    hit = store.query("orders", "k0", 32, 0, FOREVER)
    newest = store.index.files[-1]
    assert (hit.last_update_ms, hit.last_update_physical) == (newest.end_ms, newest.end_physical)
    assert newest.end_physical == store.unit("orders", 0, 1)[0]  # type: ignore[index]
    miss = store.query("orders", "nobody", 32, 0, FOREVER)
    assert (miss.records, miss.last_update_ms, miss.last_update_physical) == ([], 0, 0)


def test_a_full_index_file_is_followed_by_the_next() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *[message(n, KEYS=f"k{n} all") for n in range(35)], each_s=1)
    assert [file.index_count for file in store.index.files] == [20, 20, 20, 14]  # each counts from 1
    assert len(stores.events(IndexFileRolled)) == 3
    assert [found(store, f"k{n}") for n in range(35)] == [[n] for n in range(35)]
    assert found(store, "all", count=100) == list(range(35))
    assert found(store, "all", count=5) == [30, 31, 32, 33, 34]
    assert store.checkpoint.index_ms == store.index.files[2].end_ms


@pytest.mark.seed("3.32", "D28")
def test_at_most_64_messages_are_found() -> None:
    stores = Stores(index_entries=200)
    store = stores.opened()
    stores.put(store, *[message(n, KEYS="all") for n in range(70)])
    assert found(store, "all", count=1000) == list(range(6, 70))


@pytest.mark.seed("3.32", "D28")
def test_times_narrow_the_search_to_whole_seconds() -> None:
    stores = Stores()
    store = stores.opened()
    begin = stores.clock.now_ms()
    stores.put(store, *[message(n, KEYS="all") for n in range(30)], each_s=1.25)
    assert found(store, "all", begin_ms=begin + 10_000, end_ms=begin + 20_000) == list(range(8, 17))
    assert found(store, "all", begin_ms=begin + 500_000, end_ms=begin + 600_000) == []


def test_another_key_with_the_same_hash_comes_along() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, message(0, KEYS="AaAa"), message(1, KEYS="BBBB"))
    assert found(store, "AaAa") == [0, 1]


def test_a_walk_shows_every_station_with_its_verdict() -> None:
    stores = Stores(index_slots=1)
    store = stores.opened()
    begin = stores.clock.now_ms()
    stores.put(store, *[message(n, KEYS=key) for n, key in enumerate(("AaAa", "x", "BBBB", "AaAa"))], each_s=10)
    walk = store.index.walk("orders", "AaAa", begin + 5_000, begin + 25_000)
    (file,) = walk.files
    assert (walk.text, walk.hash, file.slots, file.slot, file.slot_position, file.slot_value) == (
        "orders#AaAa",
        index_key_hash("orders#AaAa"),
        1,
        0,
        40,
        4,
    )
    assert [(step.no, step.previous, step.verdict, step.position) for step in file.chain] == [
        (4, 3, "too_new", 124),
        (3, 2, "other_key", 104),
        (2, 1, "other_hash", 84),
        (1, 0, "too_old", 64),
    ]
    assert [step.time_diff_s for step in file.chain] == [30, 20, 10, 0]
    assert (walk.found, walk.ended) == ((store.unit("orders", 0, 2)[0],), "begin_passed")  # type: ignore[index]


def test_a_walk_says_which_files_it_never_reached() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *[message(n, KEYS=f"k{n} all") for n in range(25)], each_s=1)
    newest = store.index.files[-1]
    walk = store.index.walk("orders", "all", newest.begin_ms + 1, FOREVER)
    assert [file.why for file in walk.files] == ["in_range", "not_reached", "not_reached"]
    assert [file.searched for file in walk.files] == [True, False, False]
    past = store.index.walk("orders", "all", 5, 6)
    assert {file.why for file in past.files} == {"out_of_range"}
    assert past.ended == "no_more_files"
    assert Stores().opened().index.walk("orders", "all", 0, 1).ended == "no_files"


def test_the_first_entry_of_a_new_file_counts_from_the_end_of_the_one_before() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(19)])
    stores.advance(10)
    stores.put(store, message(19), message(20), each_s=2)
    second = store.index.files[1]
    assert [second.entry(no).time_diff_s for no in (1, 2)] == [10, 2]  # type: ignore[union-attr]
    assert second.begin_ms == store.store_time("orders", 0, 19)
    assert second.entry(3) is None


def test_a_circle_in_damaged_links_ends() -> None:
    stores = Stores(index_slots=1)
    store = stores.opened()
    stores.put(store, *[message(n, KEYS="all") for n in range(4)])
    file = store.index.files[0]
    assert file.file.view is not None
    file.file.view[64 + 16 : 64 + 20] = (4).to_bytes(4, "big")  # the oldest entry points to the newest
    assert len(list(file.chain(index_key_hash("orders#all")))) <= file.index_count
    assert set(found(store, "all", count=64)) == {0, 1, 2, 3}


def test_an_index_that_is_switched_off_stays_empty() -> None:
    stores = Stores(index_enable=False)
    store = stores.opened()
    stores.put(store, message(0))
    assert store.index.files == []
    assert found(store, "k0") == []


def test_a_query_falls_back_to_older_messages_when_the_newest_are_gone() -> None:
    stores = Stores(index_entries=400)
    store = stores.opened()
    stores.put(store, *[message(n, KEYS="all") for n in range(60)], each_s=1)
    store.age_files(1000)
    store.clean(manual=True)
    low = store.min_offset("orders", 0)
    assert found(store, "all", count=64) == list(range(low, 60))
