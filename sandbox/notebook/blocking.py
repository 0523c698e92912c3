"""Stories of an asyncio loop, for callers that wait: notebooks and scripts."""

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
LISTENERS = 64  # functions of the application at work at once


class LoopThread:
    """A loop in a thread of its own, so that it works beside the loop a notebook already has."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_default_executor(ThreadPoolExecutor(LISTENERS, thread_name_prefix=f"{name}-listener"))
        self._thread = threading.Thread(target=self._live, name=name, daemon=True)
        self._thread.start()

    def run(self, story: Coroutine[Any, Any, T]) -> T:
        """The story's result, or what it raised.  Raises ClientError when called from a listener, which runs in it."""
        if threading.current_thread() is self._thread or not self._thread.is_alive():
            story.close()
            raise ClientError("waiting is not possible here: the loop that would go on is this one, or has ended")
        future = asyncio.run_coroutine_threadsafe(story, self.loop)
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
    """The same object with every method waiting for its result: `producer.send(…)` without `await`.

    Everything runs in the loop's thread.  What is not a method is looked at as it is; `inner` is the object itself.
    """

    def __init__(self, inner: Any, thread: LoopThread) -> None:
        self.inner = inner
        self._thread = thread

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        return self._waiting(found) if callable(found) else found

    def __dir__(self) -> list[str]:
        return [name for name in dir(self.inner) if not name.startswith("_")]

    def _waiting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(*args: Any, **options: Any) -> Any:
            async def story() -> Any:
                result = method(*args, **options)
                return await result if inspect.isawaitable(result) else result

            return self._thread.run(story())

        return call
