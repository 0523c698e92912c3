"""Subscriptions of members that differ from the group's, and the broker's counts of them."""

import pytest

from sandbox.broker import consumers
from sandbox.remoting.exchange import End
from tests.unit.broker.stage import Client, Stage


def join(client: Client, name: str, expression: str, version: int) -> None:
    assert client.heartbeat(name, "g", "orders", expression=expression, version=version).code == 0


def members(stage: Stage) -> dict[str, consumers.MemberInfo]:
    return stage.broker.consumers.groups["g"].members


def test_each_connection_keeps_its_own_words_beside_the_group_s(stage: Stage) -> None:
    one, other = stage.client(), stage.client()
    join(one, "A", "a", 1)
    join(other, "B", "*", 2)
    own = {
        name: info.words.subscriptions[0].sub_string for name, info in members(stage).items() if info.words is not None
    }
    assert own == {"A": "a", "B": "*"}
    assert stage.broker.consumers.groups["g"].subscriptions["orders"].sub_string == "*", "the newest counts for all"


def test_what_a_client_of_other_people_drops_is_counted_by_the_tags_handed_out(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(End, "transport_kind", "tcp")
    one, other = stage.client(), stage.client()
    for tag in ("a", "abc", "abc", ""):
        one.send("orders", properties=f"TAGS\x01{tag}" if tag else "")
    join(one, "A", "a", 1)
    join(other, "B", "*", 2)
    for client in (one, other):
        client.pull("g", "orders", 0, flags=0, subscription=None, sub_version=1)
    assert {name: (info.sifted.dropped, info.sifted.passed_over) for name, info in members(stage).items()} == {
        "A": ({"orders": 3}, {}),
        "B": ({}, {}),
    }
    join(one, "A", "a", 3)
    other.pull("g", "orders", 0, flags=0, subscription=None, sub_version=1)
    assert members(stage)["B"].sifted.passed_over == {"orders": 3}, "the broker left them out for B, too"


def test_words_have_a_limit_beyond_which_the_group_s_alone_are_known(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "MAX_WORDS_BYTES", 1_500)
    clients = [stage.client() for _ in range(3)]
    for number, client in enumerate(clients):
        join(client, f"c{number}", "*", 1)
    assert [info.words is not None for info in members(stage).values()] == [True, True, False]
    clients[0].close()
    join(clients[2], "c2", "*", 1)
    assert [info.words is not None for info in members(stage).values()] == [True, True]
