"""A Redis of the tests' own on a free port of loopback; nothing of it is kept."""

import shutil
import socket
import subprocess
import time
from pathlib import Path

from tests.server.server import free_port

PROGRAM = "redis-server"
NOT_HERE = f"no Redis is installed here ({PROGRAM}): script/setup databases"
START_S = 30.0
LOOK_EVERY_S = 0.02


def is_here() -> bool:
    return shutil.which(PROGRAM) is not None


class RedisServer:
    """Killed and started again, it has the same address."""

    def __init__(self, folder: Path, address: str = "127.0.0.1") -> None:
        self._folder, self._address = folder, address
        self.port = free_port()
        self.url = f"redis://{address}:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> "RedisServer":
        """Returns when it takes connections."""
        with (self._folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    PROGRAM,
                    "--port",
                    str(self.port),
                    "--bind",
                    self._address,
                    "--protected-mode",
                    "no",
                    "--save",
                    "",
                    "--appendonly",
                    "no",
                    "--dir",
                    str(self._folder),
                ],
                stdout=log,
                stderr=log,
            )
        ends_s = time.monotonic() + START_S
        while not self._answers():
            assert self._process.poll() is None, (self._folder / "redis.log").read_text()
            assert time.monotonic() < ends_s, "Redis takes no connection"
            time.sleep(LOOK_EVERY_S)
        return self

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait(START_S)
        self._process = None

    def end(self) -> None:
        if self._process is not None:
            self.kill()

    def _answers(self) -> bool:
        try:
            with socket.create_connection((self._address, self.port), START_S) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False
