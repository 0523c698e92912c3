"""The ASGI handler of pages: each request runs in one thread from its first to its last call, and threads are reused.

Django's own handler starts a thread for each request, and with it a database connection, and changes six times between
this thread and the loop.  Of a class that answers within a second, all threads compete for Python's lock.
"""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakValueDictionary

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.base import BaseHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from queueviz.access import visitor

MOST_REQUESTS = 32  # at once, as some wait for the engine; later ones wait for their turn
MOST_PER_ADDRESS = 16  # of them: one visitor's slow requests must not hold up all others


class RequestThreads:
    """Threads of one request each at a time.  The one used last is taken first."""

    def __init__(self, most: int = MOST_REQUESTS, per_address: int = MOST_PER_ADDRESS) -> None:
        self._turns = asyncio.Semaphore(most)
        self._per_address = per_address
        self._turns_of: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._idle: list[ThreadPoolExecutor] = []

    @asynccontextmanager
    async def one(self, address: str = "") -> AsyncIterator[None]:
        """Run all thread-sensitive calls of the block in one thread, which no other block uses meanwhile.

        `address`: the visitor's, as limits count it.
        """
        turns = self._turns_of.setdefault(address, asyncio.Semaphore(self._per_address))  # gone with its last request
        async with turns, self._turns:
            thread = self._idle.pop() if self._idle else ThreadPoolExecutor(1, thread_name_prefix="request")
            try:
                async with ThreadSensitiveContext(executor=thread):
                    yield
            finally:
                self._idle.append(thread)


class PageHandler(ASGIHandler):
    """Django's handler, with all middleware and the view in one call of the request's thread."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)
        self._threads = RequestThreads()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async with self._threads.one(visitor.of_scope(scope).address):
            await self.handle(scope, receive, send)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = await sync_to_async(self.get_response)(request)
        return response
