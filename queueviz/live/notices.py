"""Notices from one web process to all others, through Redis, that rights to a sandbox or cluster changed.

Nothing depends on them.  Every hub checks the rights of its viewers in the database once a second.  A notice only
makes it check at once, and can give or take no right itself.  So a notice that cannot be sent is dropped, Redis
stores nothing, and a Redis that is down does not delay a request.
"""

import asyncio
import logging
import secrets
import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from sandbox.control.limits import HostLimits
from sandbox.kernel import json_bytes
from sandbox.kernel.throttle import Throttle

log = logging.getLogger(__name__)

CHANNEL = "queueviz:rights"
QUIET_S = 5.0  # then Redis is asked whether it is still there, and has as long to answer
CONNECT_S = 2.0
FIRST_PAUSE_S, MOST_PAUSE_S = 0.1, 5.0  # before it is tried again; doubled each time
STOP_WITHIN_S = 2.0
UNREACHED = (RedisError, OSError, TimeoutError)


class Notices:
    """One connection to Redis that listens and one that sends, on a thread and a loop of their own."""

    def __init__(self, url: str, heard: Callable[[str], None], *, limits: HostLimits | None = None) -> None:
        """Prepare the connections.  `heard` is called with slugs from other processes, in this object's thread.

        Raises ValueError if `url` is not a Redis URL.
        """
        self._redis = Redis.from_url(
            url, socket_connect_timeout=CONNECT_S, socket_timeout=CONNECT_S, retry=Retry(NoBackoff(), 0)
        )
        self._where = _place(url)
        self._heard = heard
        self._limits = limits or HostLimits()
        self._from = secrets.token_hex(8)
        per_s = self._limits.notices_per_s
        self._rate = Throttle(per_s, per_s, keys=1)
        self._thread = threading.Thread(target=self._work, name="notices", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._waiting: asyncio.Queue[str] = asyncio.Queue(self._limits.notices_waiting)
        self._lost = False
        self.is_connected = False
        self.sent = self.heard = self.dropped = 0

    def start(self) -> "Notices":
        self._thread.start()
        return self

    def stop(self) -> None:
        loop, task = self._loop, self._task
        if loop is not None and task is not None and not loop.is_closed():
            loop.call_soon_threadsafe(task.cancel)
        self._thread.join(STOP_WITHIN_S)

    def send(self, slug: str) -> None:
        """Send a notice.  Any thread may call this; it returns at once, connected to Redis or not."""
        loop = self._loop
        if loop is None or not self.is_connected:
            self.dropped += 1
            return
        try:
            loop.call_soon_threadsafe(self._put, slug)
        except RuntimeError:  # it has just been stopped
            self.dropped += 1

    def figures(self) -> dict[str, int]:
        return {"connected": int(self.is_connected), "sent": self.sent, "heard": self.heard, "dropped": self.dropped}

    # --- on our own thread -------------------------------------------------------------------------------------------

    def _work(self) -> None:
        with asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            try:
                runner.run(self._run())
            except asyncio.CancelledError:
                log.debug("notices have ended")

    async def _run(self) -> None:
        self._task = asyncio.current_task()
        pause_s = FIRST_PAUSE_S
        try:
            while True:
                try:
                    await self._connected()
                except* UNREACHED as error:
                    self._say_lost(error.exceptions[0])
                except* Exception:
                    log.exception("notices through Redis at %s failed", self._where)
                pause_s = FIRST_PAUSE_S if self.is_connected else min(MOST_PAUSE_S, pause_s * 2)
                self.is_connected = False
                await asyncio.sleep(pause_s)
        finally:
            self.is_connected = False
            await self._redis.aclose()

    async def _connected(self) -> None:
        """Connect, and run both directions until the connection is lost.  Raises the error of the loss."""
        await self._redis.connection_pool.disconnect()  # the one that sends was lost, too, and fails only when used
        async with self._redis.pubsub() as channel:
            await channel.subscribe(CHANNEL)
            if await channel.get_message(timeout=QUIET_S) is None:
                raise TimeoutError("it does not answer")
            self._forget_old()
            self._say_reached()
            async with asyncio.TaskGroup() as both:
                both.create_task(self._listen(channel))
                both.create_task(self._publish())

    async def _listen(self, channel: PubSub) -> None:
        is_asked = False
        while True:
            message = await channel.get_message(timeout=QUIET_S)
            if message is None and is_asked:
                raise TimeoutError("it does not answer")
            is_asked = message is None
            if message is None:
                await channel.ping()
            elif message["type"] == "message":
                self._take(message["data"])

    async def _publish(self) -> None:
        while True:
            slug = await self._waiting.get()
            await self._redis.publish(CHANNEL, json_bytes.dumps({"from": self._from, "slug": slug}))
            self.sent += 1

    def _put(self, slug: str) -> None:
        try:
            self._waiting.put_nowait(slug)
        except asyncio.QueueFull:
            self.dropped += 1

    def _take(self, data: bytes) -> None:
        """Process a received notice.  Drop it if it is too long, malformed or above the limit per second.

        So a client that writes to Redis cannot keep the database busy.
        """
        slug = self._slug_in(data)
        if slug == "":
            return
        if slug is None or not self._rate.take(time.monotonic(), CHANNEL):
            self.dropped += 1
            return
        self.heard += 1
        try:
            self._heard(slug)
        except Exception:
            log.exception("a notice about %s could not be passed on", slug)

    def _slug_in(self, data: bytes) -> str | None:
        """Return the slug in a notice.  Empty: this process sent it; None: the data is no notice."""
        if len(data) > self._limits.notice_bytes:
            return None
        try:
            notice = json_bytes.loads(data)
        except json_bytes.JSONDecodeError:
            return None
        if not isinstance(notice, dict) or not isinstance(notice.get("slug"), str):
            return None
        return "" if notice.get("from") == self._from else str(notice["slug"]) or None

    def _forget_old(self) -> None:
        """Drop the notices queued when the connection was lost: every hub has checked rights by itself since."""
        while not self._waiting.empty():
            self._waiting.get_nowait()
            self.dropped += 1

    def _say_reached(self) -> None:
        self.is_connected = True
        log.info("notices go through Redis at %s%s", self._where, " again" if self._lost else "")
        self._lost = False

    def _say_lost(self, error: BaseException) -> None:
        """Log the lost connection once, however long it lasts."""
        if not self._lost:
            log.warning(
                "no notices: Redis at %s is not reached (%s); rights are read from the database every second "
                "all the same, and it is tried again",
                self._where,
                str(error) or type(error).__name__,
            )
        self._lost = True


def _place(url: str) -> str:
    """Return host and port of the URL, or the path of a socket; never the password."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or 6379}" if parts.hostname else parts.path
