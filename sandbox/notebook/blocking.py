"""Blocking calls of coroutines, for notebooks and scripts."""

import asyncio
import functools
import inspect
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from sandbox.kernel.errors import ClientError

T = TypeVar("T")

GOODBYE_S = 5.0
LISTENERS = 64  # application functions that run at the same time


class LoopThread:
    """An event loop in a thread of its own, beside the loop that a notebook already has."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_default_executor(ThreadPoolExecutor(LISTENERS, thread_name_prefix=f"{name}-listener"))
        self._thread = threading.Thread(target=self._live, name=name, daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result or raise its exception.

        Raises ClientError if called from a listener, which itself runs in the loop.
        """
        if threading.current_thread() is self._thread or not self._thread.is_alive():
            coroutine.close()
            raise ClientError("cannot wait: the event loop of the sandbox is the current one, or has ended")
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def close(self) -> None:
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(GOODBYE_S)

    def _live(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
        finally:
            self.loop.close()


class Blocking:
    """Wrapper of an object whose methods wait for their result: `producer.send(…)` without `await`.

    Everything runs in the loop's thread.  Attributes that are not methods are read as they are; `inner` is the
    object itself.
    """

    def __init__(self, inner: Any, thread: LoopThread) -> None:
        self.inner = inner
        self._thread = thread

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.inner, name)
        return self._waiting(attribute) if callable(attribute) else attribute

    def __dir__(self) -> list[str]:
        return [name for name in dir(self.inner) if not name.startswith("_")]

    def _waiting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(*args: Any, **options: Any) -> Any:
            async def coroutine() -> Any:
                result = method(*args, **options)
                return await result if inspect.isawaitable(result) else result

            return self._thread.run(coroutine())

        return call
