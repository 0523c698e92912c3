"""One channel, one name."""

import pytest

from sandbox.control.channel_names import ChannelUnknown, parse_channel

WELL_SPELLED = [
    "board/demo/order-svc/orders",
    "board/demo//orders",
    "board/demo/g/%25RETRY%25g",
    "store/demo/broker-a",
    "store/demo/broker-a/disk",
    "wire/demo",
    "wire/demo/A~broker-a",
    "client/demo/10.0.0.11%404001%231",
    "facts/demo",
    "messages/demo",
    "messages/demo?id=a%26b",
    "messages/demo?topic=orders&queue=broker-a%3A3&tag=T&key=%E6%B6%88",
]
OTHERWISE = [
    "messages/demo?id=a&z=1",
    "messages/demo?z=1",
    "messages/demo?id=a&id=b",
    "messages/demo?id=a&topic=t",
    "messages/demo?key=k&topic=t",
    "messages/demo?topic=t&topic=t",
    "messages/demo?topic=",
    "messages/demo?topic",
    "messages/demo?",
    "messages/demo?id=a?z=1",
    "messages/demo?id=%61",
    "messages/demo?id=a+b",
    "messages/demo?id=%20a",
    "messages/demo?key=" + "k" * 256,
    "messages/demo?key=%ff",
    "messages/demo?key=%e6%b6%88",
    "messages/demo/?id=a",
    "messages/demo?id=a#z",
    "messages/demo/more",
    "board/demo/g/t?z=1",
    "board/demo/g/t/more",
    "board/demo/g",
    "board/d%65mo/g/t",
    "board/demo/%67/t",
    "board/demo/g/t ",
    "board/demo/\u6d88/t",
    "board/demo/\ud800/t",
    "facts/demo/1",
    "facts/demo?after=1",
    "groups",
    "groups/",
    "nonsense/demo",
    "",
    "/",
    "?",
]


@pytest.mark.parametrize("name", WELL_SPELLED)
def test_a_board_has_one_name(name: str) -> None:
    assert parse_channel(name)[:2] == (name.split("/")[0], "demo")


@pytest.mark.parametrize("name", OTHERWISE)
def test_any_other_spelling_is_no_channel(name: str) -> None:
    with pytest.raises(ChannelUnknown):
        parse_channel(name)
