"""An engine process: `python -m queueviz.engines.process FD`.  No Django, no database, no address that listens.

Where the web process ends without a word this one ends at once, as in a power cut: the sandboxes recover at their next
wake, as those of a server killed as one process do.
"""

import asyncio
import logging
import logging.config
import os
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from queueviz.engines import wire
from queueviz.engines.engine_side import Side
from sandbox.hosting.engine import Engine

if TYPE_CHECKING:
    from sandbox.hosting.port import EnginePort

STOP_WITHIN_S = 5.0


class Conversation:
    """The conversation with the web process, over the socket pair."""

    def __init__(self, end: socket.socket, stop: threading.Event) -> None:
        self._end, self._stop = end, stop

    async def run(self, port: "EnginePort") -> None:
        """Take messages until the web process asks to stop, or is gone."""
        reader, writer = await asyncio.open_connection(sock=self._end)
        side = Side(port, writer.write)
        writer.write(wire.pack(("ready",)))
        async for message in wire.messages_of(reader):
            if message[0] == "stop":
                return self._stop.set()
            side.take(message)
        os._exit(1)


def main(descriptor: int) -> None:
    """Run the engine.  The process ends with 0 when it was stopped and everything is written."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end = socket.socket(fileno=descriptor)
    begin: wire.Begin = next(wire.messages(end))
    logging.config.dictConfig(begin.logging)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    conversation = Conversation(end, stop)
    engine = Engine(Path(begin.home), begin.config, share=begin.share, beside=conversation.run)
    try:
        engine.start()
    except Exception as error:
        end.sendall(wire.pack(("refused", error)))
        return
    while not stop.wait(1.0):  # a signal is only seen between waits
        if not engine.is_alive:
            os._exit(1)
    done = engine.stop(STOP_WITHIN_S)
    logging.shutdown()
    os._exit(0 if done else 1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
