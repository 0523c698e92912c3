"""A warm Spark process that commands share: the one of the worker, or one that a command started and keeps.

It executes runs one after the other.  A kept process ends after `IDLE_S` without orders.
"""

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from socket import socket

from sandbox.kernel import json_bytes
from sandbox.pipeline.runs.launch import ROOT, Launch, Orders, Report
from sandbox.pipeline.runs.session_socket import code_mark, connected_to
from sandbox.pipeline.spark.master_address import Where

IDLE_S = 600.0
STARTED_WITHIN_S = 20.0
LOOK_EVERY_S = 0.05
GREETED_WITHIN_S = 5.0
LOG = "session.log"


class KeptSession(Orders):
    """A connection to a warm process, with the interface of `launch.Child`.  Leaving it cancels its runs."""

    exit_code: int | None = None

    def __init__(self, connection: socket, greeting: Mapping[str, object]) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")
        self.process_id = int(str(greeting["process"]))
        self.log = Path(str(greeting["log"])) if greeting.get("log") else None

    def leave(self) -> None:
        """Ask the process to accept no more clients, and to end after its orders unless it has a parent."""
        self._say({"leave": True})

    def reports(self) -> Iterator[Report]:
        """Yield the reports in order until the process ends."""
        with suppress(ConnectionResetError):  # it ended with an order that it had not read
            for line in self._lines:
                yield json_bytes.loads(line)

    def close(self) -> None:
        self._lines.close()
        self._connection.close()

    def _say(self, value: dict[str, object]) -> None:
        self._connection.sendall(json_bytes.dumps(value, option=json_bytes.OPT_APPEND_NEWLINE))


def session_in(directory: Path) -> KeptSession | None:
    """Return a connection to the warm process of the directory.

    None without such a process, or if it has other code than this one; it is then asked to leave.
    """
    if (connection := connected_to(directory)) is None:
        return None
    connection.settimeout(GREETED_WITHIN_S)
    if (greeting := _greeting(connection)) is None:
        connection.close()
        return None
    connection.settimeout(None)
    session = KeptSession(connection, greeting)
    if greeting.get("code") == code_mark():
        return session
    with session, suppress(ConnectionError):  # it is gone already
        session.leave()
    return None


def kept_in(directory: Path, environment: Mapping[str, str]) -> KeptSession | None:
    """Return a connection to the warm process of the directory; start the process if none runs.

    None if it cannot be started there.  Raises NoJava.
    """
    if (session := session_in(directory)) is not None:
        return session
    directory.mkdir(parents=True, exist_ok=True)
    launch = Launch.of(Where(), directory, environment)
    (directory / LOG).unlink(missing_ok=True)
    with (directory / LOG).open("ab") as log:
        process = subprocess.Popen(
            [*launch.arguments, "--listen", str(directory), "--idle-s", str(IDLE_S)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            env=launch.environment,
            cwd=ROOT,
            start_new_session=True,
        )
    ends_s = time.monotonic() + STARTED_WITHIN_S
    while time.monotonic() < ends_s and process.poll() is None:
        if (session := session_in(directory)) is not None:
            return session
        time.sleep(LOOK_EVERY_S)
    return session_in(directory)


def _greeting(connection: socket) -> dict[str, object] | None:
    """Return the first line that the process sends.  It is short and the only one, so one byte at a time is enough."""
    text = bytearray()
    try:
        while not text.endswith(b"\n"):
            if not (byte := connection.recv(1)):
                return None
            text += byte
        value = json_bytes.loads(text)
    except (OSError, json_bytes.JSONDecodeError):
        return None
    return value if isinstance(value, dict) else None
