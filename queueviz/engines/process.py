"""An engine process: `python -m queueviz.engines.process FD`.  No Django, no database, no address that listens.

The engine's loop also carries the hub of its sandboxes, which reads, compares and encodes where they are; the web
process passes bytes on.  Where the web process ends without a word this one ends at once, as in a power cut: the
sandboxes recover at their next wake, as those of a server killed as one process do.
"""

import asyncio
import logging
import logging.config
import os
import signal
import socket
import sys
import threading
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from queueviz.engines import wire
from queueviz.live.hub import Hub
from queueviz.live.viewer import Viewer
from sandbox.hosting.engine import Engine

if TYPE_CHECKING:
    from sandbox.hosting.port import EnginePort

log = logging.getLogger(__name__)

STOP_WITHIN_S = 5.0
WEB_WITHIN_S = 5.0  # for its answer about rights
BEAT = '{"k":"beat"'


class Side:
    """The engine's end of the wire: calls of the port's verbs, and the viewers whose channels are here."""

    def __init__(self, end: socket.socket, stop: threading.Event) -> None:
        self._end, self._stop = end, stop
        self._viewers: dict[int, Viewer] = {}
        self._frames: list[tuple[list[int], str]] = []
        self._questions: dict[int, asyncio.Future[Any]] = {}
        self._numbers = count()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, port: "EnginePort") -> None:
        """Until the web process asks to stop, or is no more."""
        self._loop = asyncio.get_running_loop()
        self._port = port
        self._hub = Hub(port, still_see=self._still_see)
        reader, self._writer = await asyncio.open_connection(sock=self._end)
        self._send(wire.pack(("ready",)))
        async for kind, *rest in wire.messages_of(reader):
            if kind == "stop":
                return self._stop.set()
            try:
                getattr(self, f"_on_{kind}")(*rest)
            except Exception:
                log.exception("a message of the web process was not carried out: %s", kind)
        os._exit(1)

    # --- calls -------------------------------------------------------------------------------------------------------

    def _on_call(self, number: int, verb: str, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        future: Future[Any]
        try:
            future = getattr(self._port, verb)(*given, **named)
        except Exception as why:
            self._send(wire.pack_failure(number, why))
        else:
            future.add_done_callback(partial(self._answer, number))

    def _on_figures(self, number: int) -> None:
        self._done(number, self._hub.counted())

    def _answer(self, number: int, done: "Future[Any]") -> None:
        why = done.exception()
        if why is not None:
            return self._send(wire.pack_failure(number, why))
        return self._done(number, done.result())

    def _done(self, number: int, value: Any) -> None:
        try:
            answer = wire.pack(("done", number, value))
        except Exception as failed:
            log.exception("an answer does not travel")
            answer = wire.pack_failure(number, failed)
        self._send(answer)

    # --- viewers -----------------------------------------------------------------------------------------------------

    def _on_enter(self, number: int, address: str, hears_beats: bool) -> None:
        """`hears_beats`: no other engine sends it any."""
        viewer = Viewer(partial(self._show, number, hears_beats), partial(self._close, number),
                        lambda slug: self._ask_web("may_see", number, slug), address, self._hub.limits, who=number)
        self._viewers[number] = viewer
        self._hub.enter(viewer)

    def _on_forget(self, number: int) -> None:
        if (viewer := self._viewers.pop(number, None)) is not None:
            self._hub.forget(viewer)

    def _on_join(self, call: int, number: int, name: str, after: int | None) -> None:
        self._begin(self._join(call, number, name, after))

    async def _join(self, call: int, number: int, name: str, after: int | None) -> None:
        """A refusal goes to the viewer; the answer says only that it was carried out."""
        try:
            if (viewer := self._viewers.get(number)) is not None:
                await self._hub.join(viewer, name, after)
        except Exception as why:
            log.exception("opening a channel failed")
            return self._send(wire.pack_failure(call, why))
        return self._done(call, None)

    def _on_viewer(self, number: int, does: str, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        """`does`: a method of the hub whose first argument is the viewer, and that answers nothing."""
        if (viewer := self._viewers.get(number)) is not None:
            getattr(self._hub, does)(viewer, *given, **named)

    def _on_recheck(self, slug: str) -> None:
        self._begin(self._hub.recheck(slug))

    def _on_answer(self, number: int, value: Any) -> None:
        if (waiting := self._questions.pop(number, None)) is not None and not waiting.done():
            waiting.set_result(value)

    async def _show(self, number: int, hears_beats: bool, text: str) -> None:
        """What one turn of the loop shows goes out together, and a text for many viewers once."""
        if not hears_beats and text.startswith(BEAT):
            return
        if not self._frames:
            self._loop.call_soon(self._flush)
        if self._frames and self._frames[-1][1] is text:
            self._frames[-1][0].append(number)
        else:
            self._frames.append(([number], text))

    def _flush(self) -> None:
        if self._frames:
            frames, self._frames = self._frames, []
            self._send(wire.pack(("frames", frames)))

    async def _close(self, number: int, code: int) -> None:
        self._flush()  # in their order
        self._send(wire.pack(("close", number, code)))

    async def _still_see(self, asked: Sequence[tuple[Any, str]]) -> list[bool]:
        return list(await self._ask_web("still_see", list(asked)))

    async def _ask_web(self, question: str, *given: Any) -> Any:
        """Raises TimeoutError.  The database is the web's."""
        number = next(self._numbers)
        waiting = self._questions[number] = self._loop.create_future()
        self._send(wire.pack((question, number, *given)))
        try:
            return await asyncio.wait_for(waiting, WEB_WITHIN_S)
        finally:
            self._questions.pop(number, None)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _send(self, packed: bytes) -> None:
        self._writer.write(packed)


def main(descriptor: int) -> None:
    """Ends with 0 when it was stopped and everything is written."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end = socket.socket(fileno=descriptor)
    begin: wire.Begin = next(wire.messages(end))
    logging.config.dictConfig(begin.logging)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    side = Side(end, stop)
    engine = Engine(Path(begin.home), begin.config, share=begin.share, beside=side.run)
    try:
        engine.start()
    except Exception as why:
        end.sendall(wire.pack(("refused", why)))
        return
    while not stop.wait(1.0):  # a signal is only seen between waits
        if not engine.is_alive:
            os._exit(1)
    done = engine.stop(STOP_WITHIN_S)
    logging.shutdown()
    os._exit(0 if done else 1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
