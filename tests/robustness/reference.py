"""Time of the machine itself: an echo over loopback between two processes without attacks.

Where its p99 rises beside an attack, the machine has too few processors for broker, client and attackers at once.
"""

import json
import os
import signal
import socket
import time

PER_S = 50
PIECE = bytes(200)


def echo(listener: socket.socket) -> None:
    line, _ = listener.accept()
    while data := line.recv(4_096):
        line.sendall(data)


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    if os.fork() == 0:
        echo(listener)
        os._exit(0)
    over: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: over.append(number))
    line = socket.create_connection(listener.getsockname())
    listener.close()
    second: list[float] = []
    next_s = time.monotonic()
    while not over:
        due_s = next_s
        next_s += 1 / PER_S
        time.sleep(max(0.0, due_s - time.monotonic()))
        line.sendall(PIECE)
        left = len(PIECE)
        while left:
            left -= len(line.recv(left))
        second.append((time.monotonic() - due_s) * 1_000)
        if len(second) == PER_S:
            print(json.dumps({"at_s": time.monotonic(), "ms": second}), flush=True)
            second = []
    line.close()
    os.wait()
    print(json.dumps({"cpu_s": time.process_time()}), flush=True)


if __name__ == "__main__":
    main()
