"""The broker asks producers what became of their transactions.

It has run for 0 s when a test begins, so checks run at 60, 120, … s.
"""

import pytest

from sandbox.journal.events import TopicChanged, TransactionChecked, TransactionEnded
from sandbox.message import msg_id
from sandbox.store.results import PutMessageStatus, PutResult
from tests.unit.broker.stage import Stage, small_store
from tests.unit.broker.transactions import (
    COMMIT,
    GIVEN_UP,
    HALF,
    OP,
    ROLLBACK,
    UNKNOWN,
    Transactor,
    progress,
    stored,
)


def test_a_half_message_is_asked_about_after_a_minute(shop: Transactor, stage: Stage) -> None:
    born_ms = stage.time.clock.now_ms()
    first = shop.prepare(queue=2)
    stage.pass_s(59.9)
    assert shop.asked() == []
    stage.pass_s(0.2)
    [(asked, message)] = shop.asked()
    old, new = stored(stage, HALF)
    assert (asked.half_queue_offset, asked.physical_offset) == (1, new.physical_offset), "where it stands now"
    assert (asked.msg_id, asked.transaction_id) == ("U1", "U1")
    assert msg_id.decode(asked.offset_msg_id or "").physical_offset == new.physical_offset
    assert (message.topic, message.queue_id, message.sys_flag, message.body) == ("orders", 2, 0, b"pay")
    assert (message.queue_offset, message.physical_offset) == (1, new.physical_offset)
    assert (message.born_ms, message.store_ms) == (born_ms, old.store_ms)
    assert message.properties == {**new.properties, "WAIT": "false"}
    assert new.properties == {**old.properties, "TRANSACTION_CHECK_TIMES": "1"}
    assert old.physical_offset == msg_id.decode(first.msg_id).physical_offset
    [fact] = stage.events(TransactionChecked)
    assert fact == TransactionChecked("PG", "U1", 1, "p1")
    [command] = [c for c in shop.client.requests if c.code == 39]
    assert command.is_oneway


def test_the_first_check_makes_the_half_topic_and_notes_how_far_it_went(shop: Transactor, stage: Stage) -> None:
    shop.prepare()
    assert HALF not in stage.broker.topics.table
    stage.pass_s(61)
    made = [event.topic for event in stage.events(TopicChanged) if event.topic.startswith("RMQ_SYS_TRANS")]
    assert made == [HALF], "as in the recorded broker's topics.json"
    assert stage.broker.topics.table[HALF].read_queues == 1
    assert progress(stage) == (1, None)


def test_no_one_is_asked_within_six_seconds_of_the_birth(shop: Transactor, stage: Stage) -> None:
    stage.pass_s(54.5)
    shop.prepare()
    stage.pass_s(6)
    assert (shop.asked(), progress(stage)[0]) == ([], None)
    stage.pass_s(60)
    assert len(shop.asked()) == 1


def test_a_young_half_message_holds_up_those_behind_it(shop: Transactor, stage: Stage) -> None:
    stage.pass_s(30)
    shop.prepare("old")
    stage.pass_s(26)
    shop.prepare("young")
    stage.pass_s(5)
    assert [asked.msg_id for asked, _ in shop.asked()] == ["old"]
    assert progress(stage)[0] == 1


def test_the_producers_answer_ends_it(shop: Transactor, stage: Stage) -> None:
    shop.prepare("yes", queue=1)
    shop.prepare("no", queue=1)
    stage.pass_s(61)
    (yes, _), (no, _) = shop.asked()
    shop.say(yes, COMMIT)
    shop.say(no, ROLLBACK)
    assert [m.properties["UNIQ_KEY"] for m in stored(stage, "orders", 1)] == ["yes"]
    assert [(e.transaction_id, e.outcome, e.by, e.checks) for e in stage.events(TransactionEnded)] == [
        ("yes", "commit", "check", 1),
        ("no", "rollback", "check", 1),
    ]
    stage.pass_s(120)
    assert len(shop.asked()) == 2
    assert progress(stage) == (4, 2)
    assert stage.broker.transactions.table == {}


def test_both_offsets_of_the_question_belong_to_the_answer(shop: Transactor, stage: Stage) -> None:
    first = shop.prepare()
    stage.pass_s(61)
    [(asked, _)] = shop.asked()
    mixed = shop.end(first, COMMIT, physical_offset=asked.physical_offset)
    assert (mixed.code, mixed.remark) == (1, "The transaction state table offset wrong")


def test_the_end_of_an_older_copy_counts_and_the_newer_one_is_asked_about_again(shop: Transactor, stage: Stage) -> None:
    first = shop.prepare()
    stage.pass_s(61)
    assert shop.end(first, COMMIT).code == 0
    assert list(stage.broker.transactions.table) == ["U1"]
    stage.pass_s(60)
    assert len(shop.asked()) == 2
    (_, _), (asked, _) = shop.asked()
    shop.say(asked, COMMIT)
    assert len(stored(stage, "orders", 1)) == 2


def test_a_half_message_is_asked_about_fifteen_times_and_then_put_aside(shop: Transactor, stage: Stage) -> None:
    shop.prepare()
    shop.live(1)
    for _ in range(15):
        shop.live(60)
        shop.say(shop.asked()[-1][0], UNKNOWN)
    assert [m.properties["TRANSACTION_CHECK_TIMES"] for _, m in shop.asked()] == [str(n) for n in range(1, 16)]
    assert stored(stage, GIVEN_UP) == []
    shop.live(60)
    assert len(shop.asked()) == 15
    [kept] = stored(stage, GIVEN_UP)
    assert (kept.body, kept.properties["TRANSACTION_CHECK_TIMES"], kept.properties["REAL_TOPIC"]) == (
        b"pay",
        "15",
        "orders",
    )
    assert stage.broker.topics.table[GIVEN_UP].read_queues == 1
    [fact] = stage.events(TransactionEnded)
    assert (fact.outcome, fact.by, fact.checks) == ("discarded", "check", 15)
    assert (len(stored(stage, HALF)), progress(stage)[0]) == (16, 16)
    assert (stored(stage, "orders", 1), stored(stage, OP), stage.broker.transactions.table) == ([], [], {})


def test_checks_count_also_while_no_producer_is_there(shop: Transactor, stage: Stage) -> None:
    shop.prepare()
    shop.client.close()
    stage.pass_s(121)
    assert [(e.checks, e.client_id) for e in stage.events(TransactionChecked)] == [(1, None), (2, None)]
    assert len(stored(stage, HALF)) == 3


def test_the_question_goes_round_the_group(stage: Stage) -> None:
    members = [Transactor(stage, f"p{n}", f"127.0.1.{n}") for n in range(1, 4)]
    for n in range(6):
        members[0].prepare(f"U{n}")
    stage.pass_s(61)
    assert [len(member.asked()) for member in members] == [2, 2, 2]
    assert [e.client_id for e in stage.events(TransactionChecked)] == ["p2", "p3", "p1", "p2", "p3", "p1"]


def test_a_client_that_left_is_not_asked(stage: Stage) -> None:
    members = [Transactor(stage, f"p{n}", f"127.0.1.{n}") for n in range(1, 4)]
    members[0].prepare("U0")
    members[0].prepare("U1")
    members[1].client.close()
    stage.pass_s(61)
    assert [e.client_id for e in stage.events(TransactionChecked)] == ["p3", "p1"]


def test_ended_ones_are_passed_over_in_any_order(shop: Transactor, stage: Stage) -> None:
    halves = [shop.prepare(f"U{n}") for n in range(100)]
    for n in reversed(range(100)):
        if n % 10:
            shop.end(halves[n], COMMIT)
    stage.pass_s(61)
    assert [asked.msg_id for asked, _ in shop.asked()] == [f"U{n}" for n in range(0, 100, 10)]
    assert progress(stage) == (100, 90)


def test_an_immunity_time_of_its_own_puts_the_question_off_and_counts_as_a_check(
    shop: Transactor, stage: Stage
) -> None:
    shop.prepare(more="\x02CHECK_IMMUNITY_TIME_IN_SECONDS\x01100")
    shop.live(61)
    assert shop.asked() == []
    _, again = stored(stage, HALF)
    assert (again.properties["TRAN_PREPARED_QUEUE_OFFSET"], again.properties["WAIT"]) == ("0", "false")
    assert again.properties["TRANSACTION_CHECK_TIMES"] == "1"
    shop.live(60)
    [(asked, message)] = shop.asked()
    assert (asked.half_queue_offset, message.properties["TRANSACTION_CHECK_TIMES"]) == (2, "2")


def test_a_shorter_immunity_time_has_it_asked_about_sooner(shop: Transactor, stage: Stage) -> None:
    shop.live(58)
    shop.prepare(more="\x02CHECK_IMMUNITY_TIME_IN_SECONDS\x011")
    stage.pass_s(3)
    assert len(shop.asked()) == 1


def test_a_message_ended_after_it_was_put_off_is_asked_about_all_the_same(shop: Transactor, stage: Stage) -> None:
    half = shop.prepare(more="\x02CHECK_IMMUNITY_TIME_IN_SECONDS\x01100")
    shop.live(61)
    assert shop.end(half, COMMIT).code == 0
    shop.live(60)
    assert len(shop.asked()) == 1, "4.9.8 drops op messages of offsets it has passed before it looks at copies"


def test_a_half_message_older_than_the_files_are_kept_is_put_aside_unasked() -> None:
    stage = Stage(store=small_store(file_reserved_hours=1))
    stage.topic("orders")
    shop = Transactor(stage)
    shop.prepare()
    stage.broker.hang()
    stage.pass_s(3_700)
    stage.broker.resume()
    stage.pass_s(61)
    assert len(stored(stage, GIVEN_UP)) == 1
    [fact] = stage.events(TransactionEnded)
    assert (fact.outcome, fact.checks) == ("discarded", 0)


@pytest.mark.parametrize("kill", [True, False], ids=["killed", "stopped"])
def test_checks_go_on_after_a_restart(shop: Transactor, stage: Stage, kill: bool) -> None:
    shop.prepare("U1")
    done = shop.prepare("U2")
    shop.end(done, COMMIT)
    stage.pass_s(66)  # checked once; the progress is in its file
    stage.stop_broker(kill=kill)
    stage.start_broker()
    assert list(stage.broker.transactions.table) == ["U1"]
    assert stage.broker.transactions.table["U1"].half_offset == 2
    again = Transactor(stage)
    stage.pass_s(61)
    [(asked, message)] = again.asked()
    assert (asked.msg_id, message.properties["TRANSACTION_CHECK_TIMES"]) == ("U1", "2")
    again.say(asked, COMMIT)
    assert [m.properties["UNIQ_KEY"] for m in stored(stage, "orders", 1)] == ["U2", "U1"]


def test_a_broker_killed_between_the_halves_knows_the_first_one_still(shop: Transactor, stage: Stage) -> None:
    half = shop.prepare()
    stage.stop_broker(kill=True)
    stage.start_broker()
    again = Transactor(stage)
    assert list(stage.broker.transactions.table) == ["U1"]
    assert again.end(half, COMMIT).code == 0
    assert len(stored(stage, "orders", 1)) == 1
    stage.pass_s(61)
    assert again.asked() == []


def test_a_store_that_takes_nothing_ends_the_run_and_the_next_one_asks(
    shop: Transactor, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.prepare()
    put, refused = stage.broker.store.put_message, PutResult(PutMessageStatus.SERVICE_NOT_AVAILABLE)
    monkeypatch.setattr(stage.broker.store, "put_message", lambda _: refused)
    shop.live(61)
    assert (shop.asked(), progress(stage)[0]) == ([], None)
    monkeypatch.setattr(stage.broker.store, "put_message", put)
    shop.live(60)
    assert len(shop.asked()) == 1


def test_many_open_ones_are_all_asked_about_in_one_run(shop: Transactor, stage: Stage) -> None:
    for n in range(1_200):  # more than are looked at in one turn
        shop.prepare(f"U{n}", body=b"x")
    stage.pass_s(61 - stage.time.clock.monotonic())
    assert len(shop.asked()) == 1_200
    assert progress(stage)[0] == 1_200
    assert len(stored(stage, HALF)) == 2_400


def test_a_slave_checks_nothing_and_ends_nothing() -> None:
    stage = Stage()
    stage.topic("orders")
    shop = Transactor(stage)
    half = shop.prepare()
    stage.stop_broker()
    stage.config = type(stage.config)(name="broker-a", address=stage.config.address, broker_id=1)
    stage.start_broker()
    again = Transactor(stage)
    assert again.end(half, COMMIT).code == 11
    stage.pass_s(121)
    assert (again.asked(), stored(stage, "orders", 1)) == ([], [])
