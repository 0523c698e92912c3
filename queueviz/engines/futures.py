"""Futures that depend on other futures: their values, errors and cancellation."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


def settle(future: "Future[Any]", value: Any = None, *, why: BaseException | None = None) -> None:
    """End the future with a value, or with the error `why`.  A cancelled future stays as it is."""
    if future.set_running_or_notify_cancel():
        future.set_result(value) if why is None else future.set_exception(why)


def failed(error: BaseException) -> "Future[Any]":
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


def after(first: "Future[Any]", following: Callable[[], "Future[Any]"]) -> "Future[Any]":
    """Return the result of `following`, which begins once `first` has succeeded; else the error of `first`."""
    whole: Future[Any] = Future()

    def go_on(done: "Future[Any]") -> None:
        if (error := done.exception()) is not None:
            settle(whole, why=error)
        else:
            following().add_done_callback(lambda last: _as(last, whole))

    first.add_done_callback(go_on)
    return whole


def unless(first: "Future[Any]", kind: type[Exception], again: Callable[[], "Future[Any]"]) -> "Future[Any]":
    """Return the result of `first`, or that of `again` if `first` failed with `kind`."""
    whole: Future[Any] = Future()

    def go_on(done: "Future[Any]") -> None:
        if isinstance(done.exception(), kind):
            again().add_done_callback(lambda last: _as(last, whole))
        else:
            _as(done, whole)

    first.add_done_callback(go_on)
    return whole


def gathered(futures: "list[Future[Any]]", make: Callable[[list[Any]], Any], *, some: bool = False) -> "Future[Any]":
    """Return the future of `make`, called with all results once the last future has ended, or the first error.

    With `some`, failed futures are left out, and only the failure of all is an error.
    """
    whole: Future[Any] = Future()
    left = set(futures)

    def one_more(done: "Future[Any]") -> None:
        left.discard(done)
        if left:
            return
        wrong = [error for future in futures if (error := future.exception()) is not None]
        if wrong and (not some or len(wrong) == len(futures)):
            settle(whole, why=wrong[0])
        else:
            settle(whole, make([future.result() for future in futures if future.exception() is None]))

    if not futures:
        settle(whole, make([]))
    for future in futures:
        future.add_done_callback(one_more)
    return whole


def _as(done: "Future[Any]", whole: "Future[Any]") -> None:
    error = done.exception()
    settle(whole, None if error is not None else done.result(), why=error)
