"""The Unix socket of a Spark process: commands of the same user find it in the data home and send it orders.

The lines of orders and reports are those of `launch`.  The first line from the process is a greeting,
`{"code": …, "process": pid, "log": path}`; a client with other code does not use the process.
"""

import hashlib
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, flock
from pathlib import Path

SOCKET = "session.sock"
LOCK = "session.lock"
PACKAGE = Path(__file__).parents[2]


def code_mark() -> str:
    """Return a mark of the package's code: it changes with each file that is written, added or removed."""
    mark = hashlib.sha256()
    for file in sorted(PACKAGE.rglob("*.py")):
        with suppress(FileNotFoundError):
            status = file.stat()
            mark.update(f"{file}:{status.st_mtime_ns}:{status.st_size}\n".encode())
    return mark.hexdigest()[:16]


class Listener:
    """A socket that listens in a directory.  `close` removes it, once."""

    def __init__(self, listener: socket.socket, directory: Path) -> None:
        self._socket, self._directory = listener, directory
        self._is_closed = False

    def accept(self) -> socket.socket | None:
        """Return the next client's connection, or None once the listener is closed."""
        try:
            return self._socket.accept()[0]
        except OSError:
            return None

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            with suppress(OSError):
                (self._directory / SOCKET).unlink()
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)  # wakes `accept`
            self._socket.close()


def listening_in(directory: Path) -> Listener | None:
    """Return a listener in the directory, for this user only.  None if another process listens there.

    Raises OSError if the directory cannot have a socket.
    """
    with _locked(directory), _short(directory) as address:
        if (other := _connected(address)) is not None:
            other.close()
            return None
        with suppress(FileNotFoundError):
            os.unlink(address)  # left by a process that was killed
        listener = socket.socket(socket.AF_UNIX)
        try:
            mask = os.umask(0o177)
            try:
                listener.bind(address)
            finally:
                os.umask(mask)
            listener.listen()
        except OSError:
            listener.close()
            raise
        return Listener(listener, directory)


def connected_to(directory: Path) -> socket.socket | None:
    """Return a connection to the process that listens in the directory, or None without one."""
    try:
        with _short(directory) as address:
            return _connected(address)
    except OSError:
        return None


def _connected(address: str) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(address)
    except OSError:  # none, or of a process that was killed
        connection.close()
        return None
    return connection


@contextmanager
def _short(directory: Path) -> Iterator[str]:
    """Yield an address of the socket that is short enough for the system (107 bytes), however long the path is."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    with (directory / LOCK).open("ab") as file:
        flock(file, LOCK_EX)
        yield
