"""The hands of played students: rows with numbers again, and a class that its seed decides."""

from queueviz.demo_class.page_hands import with_numbers
from queueviz.demo_class.parts import IN_ORDER, cast
from sandbox.journal.events import CrashRepeated, Entry, MessagesStored
from sandbox.journal.schema import from_row, to_row

NAMES = [f"n{number}" for number in range(12)]
EVENTS = [
    MessagesStored("orders", "broker-a", 3, 2**60, 2, 77, 500),
    CrashRepeated("7", "12", 3, (("orders/broker-a/0", ((126, 319),)),)),
]


def test_a_row_of_the_api_is_the_entry_it_was() -> None:
    for seq, event in enumerate(EVENTS, start=2**55):
        entry = Entry(seq, 5, seq - 1, event, None)
        assert from_row(with_numbers(to_row(entry, longs_as_text=True))) == entry


def test_the_first_students_have_the_parts_that_a_teacher_looks_for() -> None:
    assert [place.part for place in cast(NAMES, "0")] == [*IN_ORDER, *["works"] * 6]
    assert sorted(place.name for place in cast(NAMES, "0")) == sorted(NAMES)
    assert [place.part for place in cast(NAMES[:2], "0")] == ["works", "is stuck"]


def test_the_seed_decides_who_does_what_and_how_fast() -> None:
    def drawn(seed: str) -> list[tuple[str, str, float]]:
        return [(place.name, place.part, place.chance.random()) for place in cast(NAMES, seed)]

    assert drawn("7") == drawn("7")
    assert drawn("7") != drawn("8")
