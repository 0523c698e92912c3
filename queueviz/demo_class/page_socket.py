"""The live socket of a simulated student's open page, and a function that reads one channel once."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from queueviz.operations.remote_sandbox import RemoteRefused
from sandbox.kernel import json_bytes

PROTOCOL = Subprotocol("queueviz.live.1")
HERE_EVERY_S = 5.0  # as a page says that it is there
ACK_EVERY_S = 0.25
LOOK_EVERY_S = 1.0
AGAIN_S = 2.0  # after a socket that ended
PICTURE_WITHIN_S = 10.0
FRAME_BYTES = 16 * 1024 * 1024


class PageSocket:
    """A live socket that stays open from `open` to `close` and reconnects after restarts of the server.

    `cookies`: called again for each connection.
    """

    def __init__(self, url: str, cookies: Callable[[], Mapping[str, str]]) -> None:
        self._url, self._cookies = url, cookies
        self._channels: list[str] = []
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="page", daemon=True)

    def open(self, channel: str) -> None:
        self._channels.append(channel)
        if not self._thread.is_alive():
            self._thread.start()

    def close(self) -> None:
        self._closed.set()

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                with _connected(self._url, self._cookies()) as socket:
                    self._stay(socket)
            except (OSError, WebSocketException):
                self._closed.wait(AGAIN_S)

    def _stay(self, socket: ClientConnection) -> None:
        followed: list[str] = []
        painted: dict[str, int] = {}
        here_s = acked_s = 0.0
        while not self._closed.is_set():
            for channel in self._channels[len(followed) :]:
                _send(socket, k="sub", ch=channel)
                followed.append(channel)
            now_s = time.monotonic()
            if now_s - here_s >= HERE_EVERY_S:
                here_s = now_s
                _send(socket, k="ping", t=0)
            if painted and now_s - acked_s >= ACK_EVERY_S:
                acked_s = now_s
                _send(socket, k="ack", n=painted)
                painted = {}
            try:
                frame = json_bytes.loads(socket.recv(timeout=LOOK_EVERY_S))
            except TimeoutError:
                continue
            if "n" in frame:
                painted[frame["ch"]] = frame["n"]


def picture(url: str, cookies: Mapping[str, str], channel: str) -> Any:
    """Return the whole content of a channel once.  Raises RemoteRefused."""
    try:
        with _connected(url, cookies) as socket:
            _send(socket, k="sub", ch=channel)
            until_s = time.monotonic() + PICTURE_WITHIN_S
            while (left_s := until_s - time.monotonic()) > 0:
                frame = json_bytes.loads(socket.recv(timeout=left_s))
                if frame.get("ch") != channel:
                    continue
                if frame["k"] == "snap":
                    return frame["data"]
                if frame["k"] == "end":
                    raise RemoteRefused(f"{channel} cannot be followed: {frame['reason']}.")
    except (OSError, WebSocketException) as error:
        raise RemoteRefused(f"The live socket at {url} was closed: {error or type(error).__name__}.") from error
    raise RemoteRefused(f"{channel} did not arrive.")


def _connected(url: str, cookies: Mapping[str, str]) -> ClientConnection:
    held = "; ".join(f"{name}={value}" for name, value in cookies.items())
    return connect(
        f"{url.replace('http', 'ws', 1)}/ws/live/",
        subprotocols=[PROTOCOL],
        origin=Origin(url),
        additional_headers={"Cookie": held},
        compression=None,
        proxy=None,
        max_size=FRAME_BYTES,
    )


def _send(socket: ClientConnection, **message: Any) -> None:
    socket.send(json_bytes.dumps(message).decode())
