"""Every exception the engine raises on purpose.

SandboxError
├── RemotingError
│   ├── ConnectFailed        nobody listens there; try another address
│   ├── SendTimeout          no answer in time; the request may still have been carried out
│   ├── TooManyRequests      a named limit of pending requests is reached; slow down
│   └── UnreadableAnswer     an answer came whose body is not what the request's answers are
├── BrokerRefused            the other side answered with a code other than success
│   └── NotKnownThere        its release does not know the request
├── ClientError              the client library was used wrongly or cannot go on
├── StoreError
│   ├── CorruptRecord        bytes on disk are not what they must be
│   ├── StoreFull            the disk, or the limit that stands for it, is used up
│   └── Locked               another process holds this directory
├── ProtocolViolation        bytes on the wire are not RocketMQ's; end the connection
│   └── FrameTooLarge        a frame or a header over its limit
├── BadExpression            a filter text that does not compile; `at` says where
├── ActionRefused            an action cannot be carried out now; `hint` says what to do
└── EngineBusy               the engine did not answer in time; try again

Expected outcomes are statuses, not exceptions (docs/architecture.md).
"""

from typing import Any


class SandboxError(Exception):
    """The root.  `retriable`: the same call may succeed later without a change."""

    retriable = False


class RemotingError(SandboxError):
    """A command could not be exchanged."""

    retriable = True


class ConnectFailed(RemotingError):
    """Nobody accepts connections at that address.  Try another address, or later."""


class SendTimeout(RemotingError):
    """No answer in time.  The other side may or may not have carried the request out."""


class TooManyRequests(RemotingError):
    """The limit of pending requests is reached.  Wait for answers before sending more."""


class UnreadableAnswer(RemotingError):
    """An answer came, but its header or body is not what answers to that request are.  Asking again will not help."""

    retriable = False


class BrokerRefused(SandboxError):
    """The other side answered `code` (see `remoting.codes.ResponseCode`) with `remark`."""

    def __init__(self, code: int, remark: str = "") -> None:
        super().__init__(f"code {int(code)}: {remark}")
        self.code = int(code)
        self.remark = remark


class NotKnownThere(BrokerRefused):
    """The other side's release does not know the request (code 3).  Do without what it would have said."""


class ClientError(SandboxError):
    """The client library was used wrongly, or its configuration does not allow this."""


class StoreError(SandboxError):
    """A store directory cannot be used as asked."""


class CorruptRecord(StoreError):
    """Bytes on disk are not a record, queue unit or index entry.  Run `mqstore verify`."""


class StoreFull(StoreError):
    """The disk, or the limit that stands for it, is used up.  Delete files or raise the limit."""

    retriable = True


class Locked(StoreError):
    """Another process holds this directory.  Stop it, or choose another directory."""

    retriable = True


class ProtocolViolation(SandboxError):
    """Bytes that are no frame.  End the connection: what follows cannot be trusted.

    `request_code`: what its header says it is, where that much can be read.
    """

    request_code: int | None = None


class FrameTooLarge(ProtocolViolation):
    """A frame, or the header of one, that is longer than the limit allows."""


class BadExpression(SandboxError):
    """A filter text that does not compile.  `at` counts its characters from 0."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(f"{message} (character {at + 1})")
        self.at = at


class ActionRefused(SandboxError):
    """An action cannot be carried out.

    `status` is the HTTP status of the catalogue (422 field, 403 right, 404 unknown, 409 state,
    429 limit, 503 asleep); `message` and `hint` are whole sentences in English with `{names}` in
    them, `values` fill them in, so that the web floor can translate and join.
    """

    def __init__(self, status: int, message: str, hint: str = "", *, field: str | None = None,
                 details: Any = None, **values: object) -> None:
        if field is not None:
            values.setdefault("field", field)
        super().__init__(message.format(**values) if values else message)
        self.status = status
        self.message = message
        self.hint = hint
        self.field = field
        self.details = details
        self.values = values


class EngineBusy(SandboxError):
    """The engine did not answer within the time a page may wait.  Try again in a moment."""

    retriable = True
