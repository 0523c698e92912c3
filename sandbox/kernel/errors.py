"""Exceptions that the engine raises deliberately.

SandboxError
├── RemotingError
│   ├── ConnectFailed        nothing listens at the address; try another one
│   ├── SendTimeout          no answer in time; the request may still have been executed
│   ├── TooManyRequests      a named limit of pending requests is reached; slow down
│   └── UnreadableAnswer     an answer whose body does not fit the request
├── BrokerRefused            the other side answered with a code other than success
│   └── NotKnownThere        its release does not know the request
├── ClientError              wrong use of the client library, or it cannot continue
├── StoreError
│   ├── CorruptRecord        bytes on disk are not valid
│   ├── StoreFull            the disk, or the limit that stands for it, is full
│   ├── TablesDamaged        tables of a broker and their backups cannot be read
│   └── Locked               another process holds this directory
├── ProtocolViolation        bytes on the wire are not RocketMQ's protocol; end the connection
│   └── FrameTooLarge        a frame or a header over its limit
├── BadRecording             a file that is no recording, or a damaged one; the message says what to do
├── BadExpression            a filter expression that does not compile; `at` is the position
├── ActionRefused            an action cannot be carried out now; `hint` says what to do
└── EngineBusy               the engine did not answer in time; try again

Expected outcomes are statuses, not exceptions (docs/architecture.md).
"""

from typing import Any


class SandboxError(Exception):
    """Root of the exception tree.  Keeps all its attributes when it is pickled for another process."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[SandboxError], args: tuple[Any, ...], values: dict[str, object]) -> SandboxError:
    """Recreate an error without its constructor, whose arguments are not kept."""
    made = kind.__new__(kind, *args)
    made.__dict__.update(values)
    return made


class RemotingError(SandboxError):
    """Error of an exchange of commands."""


class ConnectFailed(RemotingError):
    """Error: nothing accepts connections at that address.  Try another address, or later."""


class SendTimeout(RemotingError):
    """Error: no answer in time.  The other side may or may not have executed the request."""


class TooManyRequests(RemotingError):
    """Error: the limit of pending requests is reached.  Wait for answers before sending more."""


class UnreadableAnswer(RemotingError):
    """Error: an answer whose header or body does not fit the request.  Repeating the request does not help."""


class BrokerRefused(SandboxError):
    """Error: the other side answered `code` (see `remoting.codes.ResponseCode`) with `remark`."""

    def __init__(self, code: int, remark: str = "") -> None:
        super().__init__(f"code {int(code)}: {remark}")
        self.code = int(code)
        self.remark = remark


class NotKnownThere(BrokerRefused):
    """Error: the server's release does not support the request (code 3).  Continue without its answer."""


class ClientError(SandboxError):
    """Error: wrong use of the client library, or its configuration does not allow the call."""


class StoreError(SandboxError):
    """Error: a store directory cannot be used as requested."""


class CorruptRecord(StoreError):
    """Error: bytes on disk are not a record, queue unit or index entry.  Run `mqstore verify`."""


class StoreFull(StoreError):
    """Error: the disk, or the limit on its size, is full.  Delete files or raise the limit."""


class TablesDamaged(StoreError):
    """Error: tables of a broker and their backups cannot be read.

    Restore the files, or accept the loss of the tables.  `reads`: a `store.json_files.TableRead` for each; the
    message names the files.
    """

    def __init__(self, reads: tuple[Any, ...]) -> None:
        super().__init__("; ".join(map(str, reads)))
        self.reads = reads


class Locked(StoreError):
    """Error: another process uses this directory.  Stop it, or choose another directory."""


class ProtocolViolation(SandboxError):
    """Error: bytes that are no frame.  End the connection: the position of the next frame is unknown.

    `request_code`: from the header, if it can be read.
    """

    request_code: int | None = None


class FrameTooLarge(ProtocolViolation):
    """Error: a frame or its header is longer than the limit allows."""


class BadRecording(SandboxError):
    """Error: a file is no recording, has another version, is damaged, or exceeds a named limit."""


class BadExpression(SandboxError):
    """Error: a filter expression does not compile.  `at`: character position from 0."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(f"{message} (character {at + 1})")
        self.at = at


class ActionRefused(SandboxError):
    """Error: an action cannot be executed.

    `status` is the HTTP status of the catalogue (422 field, 403 right, 404 unknown, 409 state, 429 limit, 503
    asleep).  `message` and `hint` are whole sentences in English with `{names}` in them, filled by `values`, so that
    the web part can translate and join them.
    """

    def __init__(
        self,
        status: int,
        message: str,
        hint: str = "",
        *,
        field: str | None = None,
        details: Any = None,
        **values: object,
    ) -> None:
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
    """Error: the engine did not answer within the time a page may wait.  Try again in a moment."""
