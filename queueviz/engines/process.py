"""An engine process: `python -m queueviz.engines.process FD`.  It uses no Django, no database, no listening address.

If the web process ends without a message, this process ends at once, as in a power failure.  The sandboxes recover
at their next wake, as those of a server killed as one process do.
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
    """The connection to the web process, over the socket pair."""

    def __init__(self, end: socket.socket, stop: threading.Event) -> None:
        self._end, self._stop = end, stop

    async def run(self, port: "EnginePort") -> None:
        """Process messages until the web process requests a stop.  If the web process is gone, exit."""
        reader, writer = await asyncio.open_connection(sock=self._end)
        side = Side(port, writer.write)
        writer.write(wire.pack(("ready",)))
        async for message in wire.messages_of(reader):
            if message[0] == "stop":
                return self._stop.set()
            side.take(message)
        os._exit(1)


def main(descriptor: int) -> None:
    """Run the engine on the socket `descriptor`.  The exit code is 0 if it was stopped and everything is written."""
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
