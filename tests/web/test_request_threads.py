"""Requests in their threads: one thread a request, reused by the next one, and no more at once than there is room."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.core.signals import request_finished, request_started
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import path

from queueviz.operations.request_threads import PageHandler, RequestThreads

Thread = int
seen: list[Thread] = []


def note(*args: Any, **named: Any) -> None:
    seen.append(threading.get_ident())


def page(request: HttpRequest) -> HttpResponse:
    note()
    return HttpResponse("shown")


urlpatterns = [path("shown", page)]


@pytest.fixture
def threads_of_requests() -> Iterator[list[Thread]]:
    """The threads of all parts of a request, in their order: its beginning, its page, its end."""
    seen.clear()
    request_started.connect(note)
    request_finished.connect(note)
    yield seen
    request_started.disconnect(note)
    request_finished.disconnect(note)


async def get(handler: PageHandler, address: str) -> list[dict[str, Any]]:
    """Return what the handler sends to a client that stays until the end."""
    came: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    await came.put({"type": "http.request", "body": b"", "more_body": False})
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": address, "headers": [(b"host", b"testserver")], "root_path": ""}
    await handler({**scope, "query_string": b"", "client": ("127.0.0.1", 1)}, came.get, send)
    return sent


async def thread() -> Thread:
    return await sync_to_async(threading.get_ident)()


@override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=[])
def test_a_request_begins_and_ends_in_the_thread_of_its_page_and_the_next_one_uses_it_again(
    threads_of_requests: list[Thread],
) -> None:
    async def two() -> list[dict[str, Any]]:
        handler = PageHandler()
        return [*await get(handler, "/shown"), *await get(handler, "/shown")]

    sent = async_to_sync(two)()
    assert [message["body"] for message in sent if message.get("body")] == [b"shown", b"shown"]
    assert len(threads_of_requests) == 6
    assert len(set(threads_of_requests)) == 1
    assert threading.get_ident() not in threads_of_requests


def test_two_requests_at_once_have_a_thread_each() -> None:
    async def two() -> tuple[Thread, Thread]:
        threads = RequestThreads()
        async with threads.one():
            first = await thread()
            other = asyncio.create_task(within(threads, thread))
            return first, await other

    first, other = async_to_sync(two)()
    assert first != other


def test_a_request_without_room_waits_until_another_one_has_ended() -> None:
    async def three() -> tuple[list[str], int]:
        threads, order = RequestThreads(most=2), list[str]()
        may_end = asyncio.Event()

        async def request(name: str) -> Thread:
            order.append(f"{name} begins")
            own = await thread()
            if name != "third":
                await may_end.wait()
            order.append(f"{name} ends")
            return own

        tasks = [
            asyncio.create_task(within(threads, lambda name=name: request(name)))  # type: ignore[misc]
            for name in ("first", "second", "third")
        ]
        while len(order) < 2:
            await asyncio.sleep(0)
        may_end.set()
        used = await asyncio.gather(*tasks)
        return order, len(set(used))

    order, used = async_to_sync(three)()
    assert order[:2] == ["first begins", "second begins"]
    assert order.index("third begins") > min(order.index("first ends"), order.index("second ends"))
    assert used == 2, "the third has the thread of one that ended"


def test_the_requests_of_one_address_leave_room_for_those_of_others() -> None:
    async def three() -> list[str]:
        threads, order, may_end = RequestThreads(most=3, per_address=1), list[str](), asyncio.Event()

        async def request(address: str) -> None:
            async with threads.one(address):
                order.append(address)
                await may_end.wait()

        tasks = [asyncio.create_task(request(address)) for address in ("10.0.0.1", "10.0.0.1", "10.0.0.2")]
        while len(order) < 2:
            await asyncio.sleep(0)
        before = list(order)
        may_end.set()
        await asyncio.gather(*tasks)
        return before

    assert async_to_sync(three)() == ["10.0.0.1", "10.0.0.2"]


def test_a_request_that_fails_gives_its_thread_back() -> None:
    used: list[Thread] = []

    async def fails() -> Thread:
        used.append(await thread())
        raise ValueError("bad page")

    async def fails_then_runs() -> None:
        threads = RequestThreads(most=1)
        with pytest.raises(ValueError, match="bad page"):
            await within(threads, fails)
        used.append(await within(threads, thread))

    async_to_sync(fails_then_runs)()
    assert used[0] == used[1]


async def within(threads: RequestThreads, work: Callable[[], Awaitable[Thread]]) -> Thread:
    async with threads.one():
        return await work()
