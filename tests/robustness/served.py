"""The well-behaved client, a process: so many sends and pulls a second, over one connection.

    python -m tests.robustness.served --address IP:PORT --first N --out FILE

Prints a JSON line for every second; ends by SIGTERM, and then has written what was acknowledged to FILE.  Time is
counted from the moment a request was due, not from when it could be sent: who waits for the broker waits for all of it.
"""

import argparse
import json
import signal
import socket
import sys
import time
from pathlib import Path

from tests.robustness.frames import request

TOPIC, GROUP, QUEUES = "served", "served", 4
PER_S = 50  # every other one is a send
PATIENCE_S = 20.0


class Line:
    """One connection, one request at a time."""

    def __init__(self, address: str) -> None:
        ip, _, port = address.rpartition(":")
        self._socket = socket.create_connection((ip, int(port)), timeout=PATIENCE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self._socket.makefile("rb", buffering=1 << 16)
        self._opaque = 0

    def ask(self, code: int, ext: dict[str, str], body: bytes = b"") -> dict[str, object]:
        self._opaque += 1
        self._socket.sendall(request(code, ext, body, opaque=self._opaque))
        length, header_bytes = (int.from_bytes(self._read(4), "big") for _ in range(2))
        answer = dict(json.loads(self._read(header_bytes)))
        answer["body"] = self._read(length - 4 - header_bytes)
        if answer["opaque"] != self._opaque:
            raise AssertionError(f"an answer to {answer['opaque']}, not to {self._opaque}")
        return answer

    def _read(self, size: int) -> bytes:
        data = self._stream.read(size)
        if len(data) < size:
            raise AssertionError("the broker closed the connection")
        return data


def send(line: Line, number: int) -> dict[str, object]:
    fields = {
        "a": GROUP,
        "b": TOPIC,
        "c": "TBW102",
        "d": str(QUEUES),
        "e": str(number % QUEUES),
        "f": "0",
        "g": str(int(time.time() * 1_000)),
        "h": "0",
        "i": f"KEYS\x01k{number}",
    }
    return line.ask(310, fields, b"message %d " % number + bytes(100))


def pull(line: Line, queue_id: int, offset: int) -> dict[str, object]:
    return line.ask(
        11,
        {
            "consumerGroup": GROUP,
            "topic": TOPIC,
            "queueId": str(queue_id),
            "queueOffset": str(offset),
            "maxMsgNums": "32",
            "sysFlag": "4",
            "commitOffset": "0",
            "suspendTimeoutMillis": "0",
            "subscription": "*",
            "subVersion": "0",
            "expressionType": "TAG",
        },
    )


def serve(address: str, first: int, out: Path) -> None:
    line = Line(address)
    over: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: over.append(number))
    offsets, number, refused = dict.fromkeys(range(QUEUES), 0), first, 0
    second: list[float] = []
    began_s = next_s = time.monotonic()
    with out.open("a") as acknowledged:
        while not over:
            due_s = next_s
            next_s += 1 / PER_S
            time.sleep(max(0.0, due_s - time.monotonic()))
            turn = round((due_s - began_s) * PER_S)
            if turn % 2 == 0:
                answer = send(line, number)
                if answer["code"] == 0:
                    ext = answer["extFields"]
                    acknowledged.write(f"{number} {ext['queueId']} {ext['queueOffset']} {ext['msgId']}\n")  # type: ignore[index]
                number += 1
            else:
                queue_id = turn // 2 % QUEUES
                answer = pull(line, queue_id, offsets[queue_id])
                if answer["code"] in (0, 19, 20, 21):
                    offsets[queue_id] = int(answer["extFields"]["nextBeginOffset"])  # type: ignore[index]
            if answer["code"] not in (0, 19):  # 19: nothing new
                refused += 1
                print(json.dumps({"refused": str(answer)[:300]}), flush=True)
            second.append((time.monotonic() - due_s) * 1_000)
            if len(second) == PER_S:
                print(json.dumps({"at_s": time.monotonic(), "ms": [round(ms, 3) for ms in second]}), flush=True)
                second.clear()
    print(json.dumps({"sent": number - first, "refused_requests": refused, "cpu_s": time.process_time()}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", required=True)
    parser.add_argument("--first", type=int, required=True, help="number of the first message")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    try:
        serve(given.address, given.first, given.out)
    except (OSError, AssertionError) as why:
        print(json.dumps({"broken": f"{type(why).__name__}: {why}"}), flush=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
