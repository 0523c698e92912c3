"""The line of a made-up student: a browser's requests and its live socket, which can be cut off for a while."""

import asyncio
import contextlib
import random
import time
from collections import Counter
from typing import Any, NamedTuple

import httpx
import orjson
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException
from websockets.typing import Origin, Subprotocol

from sandbox.live.frames import Delta, apply

PATIENCE_S = 60.0
RETRY_S = (0.5, 4.0)  # of sockets and answers; a page's first tries are as close
ACK_EVERY_S = 0.25
PING_EVERY_S = 5.0
PROTOCOL = "queueviz.live.1"


class Unreached(Exception):
    """Nothing came back; whether anything arrived is not known."""


class Cut(NamedTuple):
    """A cut, in seconds of `time.monotonic`."""

    from_s: float
    until_s: float

    def holds(self, now_s: float) -> bool:
        return self.from_s <= now_s < self.until_s


NEVER = Cut(0.0, 0.0)


class Browser:
    """Requests with cookies and the token against forgery.  While cut off, what was under way gets no answer."""

    def __init__(self, url: str, chance: random.Random) -> None:
        self.http = httpx.Client(base_url=url, timeout=PATIENCE_S, follow_redirects=False)
        self.cut = NEVER
        self.unanswered = 0  # requests that arrived, and whose answers did not
        self._chance = chance

    def get(self, path: str) -> httpx.Response:
        return self._carry("GET", path)

    def post(self, path: str, form: dict[str, Any]) -> httpx.Response:
        return self._carry("POST", path, data=form, headers=self._headers())

    def post_json(self, path: str, body: dict[str, Any]) -> httpx.Response:
        return self._carry("POST", path, json=body, headers=self._headers())

    def _headers(self) -> dict[str, str]:
        return {"X-CSRFToken": self.http.cookies.get("csrftoken") or "", "HX-Request": "true"}

    def _carry(self, method: str, path: str, **what: Any) -> httpx.Response:
        """Raises Unreached."""
        is_cut = self.cut.holds(time.monotonic())
        if is_cut and (method == "GET" or self._chance.random() < 0.5):
            raise Unreached
        try:
            answer = self.http.request(method, path, **what)
        except httpx.TransportError as why:
            raise Unreached from why
        if is_cut:
            self.unanswered += 1
            raise Unreached
        return answer


class Tab:
    """The live socket: pictures by channel as a page has them; opened again whenever it ends."""

    def __init__(self, url: str, browser: Browser, channels: list[str]) -> None:
        self.data: dict[str, Any] = {}
        self.rate: dict[str, float] = {}
        self.first_s: list[float] = []  # when the first picture after each opening came
        self.frames_s: list[float] = []  # when each picture came
        self._url = url.replace("http", "ws") + "/ws/live/"
        self._origin = url
        self._browser = browser
        self._wanted = list(channels)
        self._painted: dict[str, int] = {}
        self._socket: Any = None
        self.ended: Counter[str] = Counter()

    async def run(self) -> None:
        wait_s = RETRY_S[0]
        while True:
            if not self._browser.cut.holds(time.monotonic()):
                with contextlib.suppress(OSError, WebSocketException, TimeoutError):
                    if await self._follow():
                        wait_s = RETRY_S[0]
            await asyncio.sleep(random.uniform(0.2, 1) * wait_s)
            wait_s = min(RETRY_S[1], wait_s * 2)

    def add(self, channel: str) -> None:
        """From the loop's thread."""
        self._wanted.append(channel)
        if self._socket is not None:
            asyncio.get_running_loop().create_task(self._ask(channel))

    async def _ask(self, channel: str) -> None:
        with contextlib.suppress(WebSocketException):
            await self._socket.send(orjson.dumps({"k": "sub", "ch": channel}).decode())

    async def _follow(self) -> bool:
        """Until the socket ends or is cut off; whether a picture came."""
        cookies = "; ".join(f"{name}={value}" for name, value in self._browser.http.cookies.items())
        opened = False
        async with connect(
            self._url,
            subprotocols=[Subprotocol(PROTOCOL)],
            origin=Origin(self._origin),
            proxy=None,
            additional_headers={"Cookie": cookies},
            compression=None,
            max_size=None,
            open_timeout=10,
            ping_interval=None,
            close_timeout=1,
        ) as socket:
            self._socket = socket
            for channel in self._wanted:
                await self._ask(channel)
            acked_s, pinged_s = 0.0, 0.0
            while True:
                now_s = time.monotonic()
                if self._browser.cut.holds(now_s):
                    self._socket = None
                    socket.transport.abort()
                    return opened
                if now_s - pinged_s >= PING_EVERY_S:
                    pinged_s = now_s
                    await socket.send('{"k":"ping"}')
                if self._painted and now_s - acked_s >= ACK_EVERY_S:
                    acked_s = now_s
                    await socket.send(orjson.dumps({"k": "ack", "n": self._painted}).decode())
                    self._painted = {}
                try:
                    text = await asyncio.wait_for(socket.recv(), ACK_EVERY_S)
                except TimeoutError:
                    continue
                if self._take(orjson.loads(text)) and not opened:
                    opened = True
                    self.first_s.append(time.monotonic())

    def _take(self, frame: dict[str, Any]) -> bool:
        """Return whether the frame was a picture."""
        kind, channel = frame["k"], frame.get("ch")
        if kind == "end":
            self.ended[frame["reason"]] += 1
            asyncio.get_running_loop().call_later(1.0, self._again, channel)
        if kind not in ("snap", "delta"):
            return False
        if kind == "snap":
            self.data[channel] = frame["data"]
        elif channel in self.data:
            self.data[channel] = apply(self.data[channel], Delta(frame.get("set", {}), frame.get("gone", {})))
        self._painted[channel] = frame["n"]
        if frame.get("rate") is not None:
            self.rate[channel] = frame["rate"]
        self.frames_s.append(time.monotonic())
        return True

    def _again(self, channel: str) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().create_task(self._ask(channel))
