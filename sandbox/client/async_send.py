"""Asynchronous sends: the result arrives in a future, and in a callback if one is set."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from sandbox.client.results import SendResult
from sandbox.client.tasks import Tasks
from sandbox.kernel.errors import ClientError, SandboxError

OnSent = Callable[[SendResult | SandboxError], None]
"""Called once with what came of it.  RocketMQ: `SendCallback`."""


class AsyncSends:
    """Asynchronous sends of one producer, at most `limit` at once.  They run as tasks of its process."""

    def __init__(self, group: str, limit: int, tasks: Tasks) -> None:
        self._group = group
        self._limit = limit
        self._tasks = tasks
        self.under_way = 0

    def begin(
        self, send: Callable[[], Coroutine[Any, Any, SendResult]], on_done: OnSent | None
    ) -> "asyncio.Future[SendResult]":
        """Start a send and return the future of its result; later errors are set on the future.

        Raises ClientError at once if `limit` sends are under way: the application is faster than the brokers.
        """
        if self.under_way >= self._limit:
            raise ClientError(f"executor rejected: {self.under_way} asynchronous sends are under way")
        self.under_way += 1
        future: asyncio.Future[SendResult] = asyncio.get_running_loop().create_future()
        future.add_done_callback(partial(self._ended, on_done))
        task = self._tasks.spawn(_run(send, future), "send")
        if task is None:
            future.set_exception(ClientError(f"the client of {self._group} is closed"))
        else:
            task.add_done_callback(lambda _: future.cancel())  # the process ended meanwhile; else it is done already
        return future

    def _ended(self, on_done: OnSent | None, future: "asyncio.Future[SendResult]") -> None:
        self.under_way -= 1
        if future.cancelled():
            return
        error = future.exception()  # the exception counts as retrieved, also if no caller awaits the future
        if on_done is not None:
            on_done(error if isinstance(error, SandboxError) else future.result())


async def _run(send: Callable[[], Coroutine[Any, Any, SendResult]], future: "asyncio.Future[SendResult]") -> None:
    try:
        result = await send()
    except SandboxError as error:
        if not future.done():
            future.set_exception(error)
        return
    if not future.done():
        future.set_result(result)
