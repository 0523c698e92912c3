"""Errors of the data sources in the form in which Spark shows them: our sentence first, then Python's trace.

Spark prints the trace of a worker's exception and puts a line of its own in front of it.  A trace begins with the
cause, and a cause that was never raised is one line.  So each error that leaves a data source has such a cause: the
line `[ROCKETMQ_…] sentence`.  The session's settings that shorten traces keep the sentence, too.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pyarrow as pa

from sandbox.kernel.errors import BrokerRefused, ClientError, CorruptRecord, RemotingError, SandboxError, StoreError
from sandbox.pipeline.sources.conditions import DataLost, NotForUs, NoTopic, OffsetsOutOfRange

C = TypeVar("C", bound=Callable[..., Any])

CONDITIONS: tuple[tuple[type[Exception], str], ...] = (
    (NoTopic, "ROCKETMQ_UNKNOWN_TOPIC"),
    (OffsetsOutOfRange, "ROCKETMQ_OFFSETS_OUT_OF_RANGE"),
    (DataLost, "ROCKETMQ_DATA_LOSS"),
    (CorruptRecord, "ROCKETMQ_CORRUPT_DATA"),
    (StoreError, "ROCKETMQ_UNREADABLE_FILES"),
    (NotForUs, "ROCKETMQ_REFUSED"),
    (BrokerRefused, "ROCKETMQ_REFUSED"),
    (RemotingError, "ROCKETMQ_UNREACHABLE"),
    (ClientError, "ROCKETMQ_INVALID_OPTION"),
    (ValueError, "ROCKETMQ_INVALID_OPTION"),
    (OSError, "ROCKETMQ_UNREADABLE_FILES"),
    (SandboxError, "ROCKETMQ_ERROR"),
)
"""Names of conditions by class of error; the first class that fits counts."""


class Reported(Exception):
    """Base of reported errors.  `headline` is their cause, also if Spark removes the cause to shorten the trace."""

    headline: BaseException | None = None

    @property
    def __cause__(self) -> BaseException | None:
        return self.headline

    @__cause__.setter
    def __cause__(self, cause: BaseException | None) -> None:
        pass


def condition_of(error: BaseException) -> str | None:
    """Return the name of the condition, or None for an error that is a mistake of ours."""
    if isinstance(error, UnicodeError | pa.ArrowException):
        return None
    return next((condition for kind, condition in CONDITIONS if isinstance(error, kind)), None)


def report_of(error: Exception) -> Exception:
    """Return the error in the form in which it leaves a data source; it stays an instance of its class.

    An error without a condition is returned unchanged.
    """
    condition = condition_of(error)
    if condition is None or isinstance(error, Reported):
        return error
    sentence = _line(_about_file(error) if isinstance(error, OSError) else str(error))
    kind = _kind(_base(error), condition)
    report = kind.__new__(kind, sentence)
    report.args = (sentence,)
    report.__dict__.update(error.__dict__)
    report.headline = _headline(f"[{condition}] {sentence}")
    trace = error.__traceback__  # without the frame of the wrapper, which the next `raise` adds
    return report.with_traceback(None if trace is None else trace.tb_next)


def reports_errors(method: C) -> C:
    """Wrap a method of a data source, reader or writer, so that its errors are reported; also those of its rows."""

    @functools.wraps(method)
    def reporting(*arguments: Any, **named: Any) -> Any:
        try:
            result = method(*arguments, **named)
        except Exception as error:
            if (report := report_of(error)) is error:
                raise
            raise report from None
        return _rows(result) if isinstance(result, Iterator) else result

    return reporting  # type: ignore[return-value]


def _rows(rows: Iterator[Any]) -> Iterator[Any]:
    try:
        yield from rows
    except Exception as error:
        if (report := report_of(error)) is error:
            raise
        raise report from None


def _kind(base: type[Exception], condition: str) -> type[Reported]:
    """Return the class of a reported error, whose name in a trace is the condition."""
    return type(base.__name__, (Reported, base), {"__module__": "builtins", "__qualname__": f"[{condition}]"})


def _base(error: Exception) -> type[Exception]:
    """Return the class that the reported error keeps; those of libraries may need arguments of their own."""
    if isinstance(error, SandboxError):
        return type(error)
    return OSError if isinstance(error, OSError) else ValueError


def _headline(line: str) -> BaseException:
    """Return an exception that a trace shows as this line alone."""
    kind = type("Headline", (Exception,), {"__module__": "builtins", "__qualname__": line})
    headline: BaseException = kind()
    return headline


def _about_file(error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    return f"{error.filename} cannot be used: {reason}." if error.filename else f"System error: {reason}."


def _line(text: str) -> str:
    """Return the text as one line that can be encoded."""
    return " ".join(text.encode("utf-8", "backslashreplace").decode().split())
