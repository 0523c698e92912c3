"""One attacker, a process: `python -m tests.robustness.attack KIND --address IP:PORT …`; prints a JSON line at its end.

It never uses more of a processor than its share, and its share is taken last (nice 19): what the broker and the client
beside it lose, they lose by what the attacker sends.
"""

import argparse
import asyncio
import json
import os
import random
import resource
import socket
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from tests.robustness import frames
from tests.robustness.generated import generated

NICE = 19
CROWD = 2_000
PYTHONS = ("Error: ", "Exception: ")  # how an answer ends that no handler meant to give
KEPT = 40


class Attacker:
    """The shared part of all attackers: connections, a budget, and counts of actions."""

    def __init__(self, address: str, seed: int, share: float, pace: float, out: Path) -> None:
        self._ip, _, port = address.rpartition(":")
        self._port = int(port)
        self.seed = seed
        self.luck = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.found: list[str] = []
        self.pace = pace  # sends a second, all connections together
        self._share = share
        self._out = out
        self._last: list[tuple[str, bytes]] = []
        self.examples: list[bytes] = []
        self._began_s = self._used_s = 0.0

    def begin(self) -> None:
        """Start counting; preparations are not counted."""
        self._began_s, self._used_s = time.monotonic(), time.process_time()

    @property
    def cpu_s(self) -> float:
        return time.process_time() - self._used_s

    async def connect(
        self, *, window_bytes: int | None = None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        line = socket.socket()
        if window_bytes is not None:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window_bytes)
        line.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(line, (self._ip, self._port))
            stream = await asyncio.open_connection(sock=line, limit=2**20)
        except OSError as why:
            line.close()
            self.counts[f"not connected: {type(why).__name__}"] += 1
            return None
        self.counts["connections"] += 1
        return stream

    async def rest(self) -> None:
        """Keep to the pace, and to the share of a processor."""
        await asyncio.sleep(1 / self.pace)
        used_s, wall_s = self.cpu_s, time.monotonic() - self._began_s
        if used_s > self._share * wall_s + 1.0:
            self.counts["waits for its share"] += 1
            await asyncio.sleep(min(2.0, used_s / self._share - wall_s))

    def note(self, kind: str, data: bytes) -> None:
        self.counts["frames"] += 1
        self.counts["bytes"] += len(data)
        self._last = [*self._last[1 - KEPT :], (kind, data)]

    def read(self, kind: str, sent: bytes, said: bytes) -> None:
        """An answer with the words of an exception shows a handler that failed: what brought it about is kept."""
        for word in PYTHONS:
            at = said.find(word.encode())
            if at > 0 and b'"remark":"' in said and said[max(0, at - 40) : at].rpartition(b'"')[2].isalpha():
                self.keep(kind, sent)

    def keep(self, kind: str, data: bytes) -> None:
        self._out.mkdir(parents=True, exist_ok=True)
        path = self._out / f"found-{kind.replace(' ', '-')}-{self.seed}-{len(self.found)}.frame"
        path.write_bytes(data)
        self.found.append(path.name)

    def keep_last(self) -> None:
        """The broker is gone: one of these did it."""
        for n, (kind, data) in enumerate(self._last):
            self.keep(f"last-{n}-{kind}", data)


async def send_frames(a: Attacker, source: Callable[[], tuple[str, bytes]]) -> None:
    """A connection that sends one thing after the other, and reads what is said to it."""
    while True:
        stream = await a.connect()
        if stream is None:
            await asyncio.sleep(0.2)
            continue
        reader, writer = stream
        with suppress(OSError):
            while not reader.at_eof():
                kind, data = source()
                a.note(kind, data)
                writer.write(data)
                await asyncio.wait_for(writer.drain(), 5)
                await a.rest()
                with suppress(TimeoutError):
                    a.read(kind, data, await asyncio.wait_for(reader.read(1 << 20), 0.02))
        writer.transport.abort()


async def mutated(a: Attacker) -> None:
    source = frames.Mutations(a.seed)
    await asyncio.gather(*(send_frames(a, source.next) for _ in range(4)))


async def made_up(a: Attacker) -> None:
    examples = a.examples
    await asyncio.gather(*(send_frames(a, lambda: ("generated", a.luck.choice(examples))) for _ in range(4)))


async def growth(a: Attacker) -> None:
    source = frames.growing(a.seed)
    await asyncio.gather(*(send_frames(a, lambda: next(source)) for _ in range(4)))


async def slow_loris(a: Attacker) -> None:
    """Two hundred frames at a time, a byte now and then of each."""
    frame = frames.request(310, {"a": "P", "b": "loris"}, bytes(20_000))

    async def one() -> None:
        while True:
            stream = await a.connect()
            if stream is None:
                await asyncio.sleep(1)
                continue
            with suppress(OSError):
                for at in range(len(frame)):
                    stream[1].write(frame[at : at + 1])
                    a.counts["bytes"] += 1
                    await asyncio.sleep(a.luck.uniform(0.5, 1.5))
            stream[1].transport.abort()

    await asyncio.gather(*(one() for _ in range(200)))


async def half_open(a: Attacker) -> None:
    """Connections that are begun and forgotten: silent, cut in the middle of a frame, shut for writing, or reset."""
    kept = []
    while True:
        stream = await a.connect()
        if stream is not None:
            way = a.luck.choice(["silent", "half a frame", "no more to say", "reset"])
            a.counts[way] += 1
            with suppress(OSError):
                if way != "silent":
                    stream[1].write(frames.request(34, {}, bytes(5_000))[: a.luck.randrange(1, 4_000)])
                if way == "no more to say":
                    stream[1].write_eof()
                if way == "reset":
                    linger_no_time = b"\x01\x00\x00\x00\x00\x00\x00\x00"
                    stream[1].get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_no_time)
                    stream[1].transport.abort()
            kept.append(stream)
            if len(kept) > 500:
                kept.pop(0)[1].transport.abort()
        await a.rest()


async def crowd(a: Attacker) -> None:
    """Two thousand connections at a time, a heartbeat on each of them every half minute."""
    beat = frames.request(34, {}, b'{"clientID":"crowd","producerDataSet":[{"groupName":"crowd"}]}')

    async def one(n: int) -> None:
        await asyncio.sleep(n / 200)
        while True:
            stream = await a.connect()
            if stream is None:
                await asyncio.sleep(a.luck.uniform(1, 5))
                continue
            with suppress(OSError):
                while not stream[0].at_eof():
                    stream[1].write(beat)
                    a.counts["frames"] += 1
                    with suppress(TimeoutError):
                        while await asyncio.wait_for(stream[0].read(4_096), a.luck.uniform(20, 40)):
                            pass
            stream[1].transport.abort()
            a.counts["most at a time"] = max(a.counts["most at a time"], n)

    await asyncio.gather(*(one(n) for n in range(CROWD)))


async def deaf(a: Attacker) -> None:
    """Asks for big answers on three hundred connections, and reads none of them."""
    fill = frames.request(
        310,
        {"a": "P", "b": "big", "c": "TBW102", "d": "1", "e": "0", "f": "0", "g": "0", "h": "0", "i": ""},
        bytes(200_000),
    )
    pull = frames.request(
        11,
        {
            "consumerGroup": "deaf",
            "topic": "big",
            "queueId": "0",
            "queueOffset": "0",
            "maxMsgNums": "32",
            "sysFlag": "4",
            "commitOffset": "0",
            "suspendTimeoutMillis": "0",
            "subscription": "*",
            "subVersion": "0",
            "expressionType": "TAG",
        },
    )
    stream = await a.connect()
    if stream is not None:
        for _ in range(20):
            stream[1].write(fill)
            await asyncio.sleep(0.05)
        await asyncio.wait_for(stream[0].read(1 << 20), 5)

    async def one(n: int) -> None:
        await asyncio.sleep(n / 15)
        while True:
            stream = await a.connect(window_bytes=4_096)
            if stream is None:
                await asyncio.sleep(1)
                continue
            stream[1].transport.pause_reading()  # type: ignore[attr-defined]
            with suppress(OSError, TimeoutError):
                for _ in range(400):
                    stream[1].write(pull)
                    a.counts["frames"] += 1
                    await asyncio.wait_for(stream[1].drain(), 60)
                    await a.rest()
            stream[1].transport.abort()

    await asyncio.gather(*(one(n) for n in range(300)))


async def storm(a: Attacker) -> None:
    """Connects and closes, as often as it may."""
    while True:
        stream = await a.connect()
        if stream is not None:
            if a.luck.random() < 0.5:
                stream[1].write(frames.request(106))
            stream[1].transport.abort()
        await a.rest()


KINDS: dict[str, tuple[Callable[[Attacker], Awaitable[None]], float]] = {
    "mutated": (mutated, 30),
    "made_up": (made_up, 30),
    "growth": (growth, 20),
    "slow_loris": (slow_loris, 200),
    "half_open": (half_open, 40),
    "crowd": (crowd, 200),
    "deaf": (deaf, 4),
    "storm": (storm, 100),
}
"""Every kind, and how often a second each of its connections sends (or connects)."""


async def attack(kind: str, a: Attacker, seconds: float) -> None:
    coroutine = asyncio.ensure_future(KINDS[kind][0](a))
    await asyncio.wait([coroutine], timeout=seconds)
    if coroutine.done():
        await coroutine  # none ends by itself: it failed
    if await a.connect() is None and await a.connect() is None:
        a.keep_last()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("--address", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--share", type=float, required=True, help="of one processor")
    parser.add_argument("--out", type=Path, required=True, help="where failing inputs are kept")
    given = parser.parse_args()
    os.nice(NICE)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    made = Attacker(given.address, given.seed, given.share, KINDS[given.kind][1], given.out)
    if given.kind == "made_up":
        made.examples = generated(given.seed)
    print("ready", flush=True)
    sys.stdin.readline()
    made.begin()
    began_s = time.monotonic()
    asyncio.new_event_loop().run_until_complete(attack(given.kind, made, given.seconds))
    wall_s = time.monotonic() - began_s
    print(
        json.dumps(
            {
                "kind": given.kind,
                "seed": given.seed,
                "wall_s": wall_s,
                "cpu_s": made.cpu_s,
                "share": given.share,
                "counts": dict(made.counts),
                "found": made.found,
            }
        ),
        flush=True,
    )
    os._exit(0)  # two thousand connections need no goodbye


if __name__ == "__main__":
    main()
