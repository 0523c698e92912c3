"""A notice goes from one web process to the others through Redis; nothing waits for it, and nothing rests on it."""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
import redis
from channels.layers import get_channel_layer

from queueviz.live import notices, process_notices
from queueviz.live.notices import CHANNEL, Notices
from sandbox.control.limits import HostLimits
from tests.databases.redis_server import RedisServer
from tests.server.server import until

LIMITS = HostLimits(notices_per_s=5, notice_bytes=200)

Begin = Callable[..., tuple[Notices, list[str]]]


@pytest.fixture
def begin(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    """Makes the notices of one web process, and the list of what it hears."""
    monkeypatch.setattr(notices, "MOST_PAUSE_S", 0.2)
    began: list[Notices] = []

    def make(limits: HostLimits | None = None) -> tuple[Notices, list[str]]:
        heard: list[str] = []
        made = Notices(redis_server.url, heard.append, limits=limits).start()
        began.append(made)
        until(lambda: made.is_connected, what="it is connected")
        return made, heard

    yield make
    for made in began:
        made.stop()


def test_what_one_process_sends_all_others_hear_and_not_itself(begin: Begin) -> None:
    (one, own), (_, second), (_, third) = begin(), begin(), begin()
    one.send("quiet-otter-hqnzrp")
    until(lambda: second and third, what="both hear it")
    one.send("calm-owl-abcdef")
    until(lambda: len(second) == len(third) == 2, what="both hear the next one")
    assert second == third == ["quiet-otter-hqnzrp", "calm-owl-abcdef"]
    assert own == []


def test_nothing_is_kept_in_redis(begin: Begin, redis_server: RedisServer) -> None:
    (one, _), (other, _) = begin(), begin()
    one.send("quiet-otter-hqnzrp")
    until(lambda: other.heard == 1)
    with closing(redis.Redis.from_url(redis_server.url)) as client:
        assert client.dbsize() == 0


def test_without_redis_a_request_waits_for_nothing_and_the_log_says_so_once(
    begin: Begin, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, notices.__name__)
    one, _ = begin()
    redis_server.kill()
    until(lambda: not one.is_connected, what="it has noticed")
    for n in range(1_000):
        one.send(f"calm-owl-{n}")
    assert (one.sent, one.dropped) == (0, 1_000), "no attempt is waited for"
    redis_server.start()
    until(lambda: one.is_connected, what="it is connected again")
    said = [record.getMessage() for record in caplog.records if record.name == notices.__name__]
    where = f"127.0.0.1:{redis_server.port}"
    assert len(said) == 3, said
    assert said[1].startswith(f"no notices: Redis at {where} is not reached (")
    assert said[2] == f"notices go through Redis at {where} again"


def test_after_a_restart_of_redis_notices_go_on_and_old_ones_are_not_sent(
    begin: Begin, redis_server: RedisServer
) -> None:
    (one, _), (other, heard) = begin(), begin()
    one.send("quiet-otter-hqnzrp")  # so that it has a connection to send on, too
    until(lambda: heard)
    redis_server.kill()
    until(lambda: not one.is_connected and not other.is_connected)
    one.send("long-gone-abcdef")
    redis_server.start()
    until(lambda: one.is_connected and other.is_connected)
    one.send("calm-owl-abcdef")
    until(lambda: len(heard) == 2, what="it hears the new one")
    assert heard == ["quiet-otter-hqnzrp", "calm-owl-abcdef"]


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"no json",
        b"[]",
        b"{}",
        b'{"slug": 5}',
        b'{"slug": ""}',
        b"\xff\xfe",
        b"[" * 199,
        b'{"slug": "%b"}' % (b"x" * 200),
    ],
)
def test_what_is_no_notice_is_dropped(begin: Begin, redis_server: RedisServer, said: bytes) -> None:
    other, heard = begin(LIMITS)
    with closing(redis.Redis.from_url(redis_server.url)) as client:
        client.publish(CHANNEL, said)
        client.publish(CHANNEL, b'{"slug": "calm-owl-abcdef"}')
    until(lambda: heard, what="the notice after it")
    assert (heard, other.dropped) == (["calm-owl-abcdef"], 1)


def test_of_a_flood_no_more_is_taken_than_the_limit(begin: Begin, redis_server: RedisServer) -> None:
    other, heard = begin(LIMITS)
    began_s = time.monotonic()
    with closing(redis.Redis.from_url(redis_server.url)) as client, client.pipeline(transaction=False) as flood:
        for _ in range(500):
            flood.publish(CHANNEL, b'{"slug": "calm-owl-abcdef"}')
        flood.execute()
    until(lambda: other.heard + other.dropped == 500)
    assert len(heard) <= LIMITS.notices_per_s * (1 + time.monotonic() - began_s)


def test_a_mistake_with_one_notice_ends_no_other(redis_server: RedisServer, begin: Begin) -> None:
    heard: list[str] = []

    def hear(slug: str) -> None:
        heard.append(slug)
        raise RuntimeError("a loop that is closed")

    one, _ = begin()
    careless = Notices(redis_server.url, hear).start()
    until(lambda: careless.is_connected)
    for slug in ("calm-owl-abcdef", "calm-owl-ghjkmn"):
        one.send(slug)
    until(lambda: len(heard) == 2)
    assert careless.is_connected
    careless.stop()
    assert not careless.is_connected


def test_an_address_that_is_none_of_redis_is_refused() -> None:
    with pytest.raises(ValueError):
        Notices("http://127.0.0.1", lambda slug: None)


def test_the_log_names_the_place_without_the_password() -> None:
    assert notices._place("redis://:secret@cache.example:6380/1") == "cache.example:6380"
    assert notices._place("unix:///run/redis.sock?password=secret") == "/run/redis.sock"


@pytest.mark.parametrize("url", ["http://:secret@127.0.0.1", "redis://:secret@127.0.0.1:port/0"])
def test_a_server_with_such_an_address_says_what_is_wrong_without_the_password(settings: Any, url: str) -> None:
    settings.QUEUEVIZ_REDIS_URL = url
    with pytest.raises(ValueError, match=r"QUEUEVIZ_REDIS_URL is no URL of Redis\.") as refused:
        process_notices.start(lambda slug: None)
    assert "secret" not in str(refused.value)


def test_a_server_without_the_driver_says_where_it_is(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.QUEUEVIZ_REDIS_URL = "redis://127.0.0.1/0"
    monkeypatch.setitem(sys.modules, notices.__name__, None)
    with pytest.raises(ValueError, match="the extra `scale`"):
        process_notices.start(lambda slug: None)


def test_without_an_address_nothing_is_begun_and_nothing_sent(settings: Any) -> None:
    settings.QUEUEVIZ_REDIS_URL = ""
    process_notices.start(lambda slug: None)
    process_notices.send("calm-owl-abcdef")
    assert process_notices.figures() == {}


def test_no_socket_listens_to_a_channel_layer() -> None:
    """It would end with the first error of Redis."""
    assert get_channel_layer() is None
