"""Frames no one should send: real ones with something wrong, and others made up from nothing.

Everything follows from a seed.  Written from the format alone (spec remoting 1), with nothing of the product in it.
"""

import json
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden" / "wire"
# What an administrator may do to a broker without access control is no attack: settings, permissions, deletions.
ORDERS = frozenset({25, 205, 206, 215, 216, 318, 332, 336, 338, 50, 51, 53})
NUMBERS = [-1, 0, 1, 2**15, 2**16, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63), 2**64, 10**30]
TEXTS = [
    "",
    "-1",
    "2147483648",
    "9" * 40,
    "1e9",
    "true",
    "\x00",
    "%RETRY%",
    "中" * 200,
    "x" * 60_000,
    "../../passwd",
    "a\x01b\x02c\x01",
    "NaN",
    "null",
    "[]",
    "{}",
    "\ud83d\ude00" * 10,
    "%s%n{}",
    "a@b@c",
    " ",
]
LANGUAGES = ["JAVA", "CPP", "COBOL", 7, -1, None, [], True]


def recorded() -> list[bytes]:
    """Requests that real clients and brokers sent one another."""
    frames = []
    for kind in ("json", "rocketmq"):
        for line in (GOLDEN / f"{kind}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            if row["kind"] == "request" and row["code"] not in ORDERS:
                frames.append(bytes.fromhex(row["frame_hex"]))
    return frames


def framed(header: bytes, body: bytes = b"", *, kind: int = 0) -> bytes:
    return struct.pack(">II", 4 + len(header) + len(body), kind << 24 | len(header)) + header + body


def request(code: int, ext: object = None, body: bytes = b"", /, **more: object) -> bytes:
    header = {"code": code, "extFields": ext, "flag": 0, "language": "JAVA", "opaque": 1, "version": 409, **more}
    return framed(json.dumps(header).encode(errors="surrogatepass"), body)


class Mutations:
    """Each call of `next` is one frame, or several bytes that pretend to be one."""

    def __init__(self, seed: int) -> None:
        self._luck = random.Random(seed)
        self._frames = recorded()
        self._kinds: list[Callable[[bytes], bytes]] = [
            self.flipped,
            self.flipped,
            self.lying_length,
            self.lying_header_length,
            self.truncated,
            self.doubled,
            self.spliced,
            self.huge_header,
            self.deep_json,
            self.wide_json,
            self.wrong_types,
            self.other_texts,
            self.other_texts,
            self.unknown_code,
            self.answer,
            self.bomb,
            self.lying_batch,
            self.no_utf8,
            self.noise,
            self.many_same,
        ]

    def next(self) -> tuple[str, bytes]:
        kind = self._luck.choice(self._kinds)
        return kind.__name__, kind(self._luck.choice(self._frames))

    def flipped(self, frame: bytes) -> bytes:
        out = bytearray(frame)
        for _ in range(self._luck.randint(1, 8)):
            out[self._luck.randrange(8, len(out))] ^= 1 << self._luck.randrange(8)
        return bytes(out)

    def lying_length(self, frame: bytes) -> bytes:
        length = self._luck.choice([*NUMBERS, len(frame) - 5, len(frame), len(frame) + 100, 16 << 20])
        return struct.pack(">I", length % 2**32) + frame[4:]

    def lying_header_length(self, frame: bytes) -> bytes:
        return frame[:5] + self._luck.choice([0, 1, 2**24 - 1, 65_536, 65_537, 100]).to_bytes(3, "big") + frame[8:]

    def truncated(self, frame: bytes) -> bytes:
        return frame[: self._luck.randrange(1, len(frame))]

    def doubled(self, frame: bytes) -> bytes:
        return frame * self._luck.randint(2, 20)

    def spliced(self, frame: bytes) -> bytes:
        other = self._luck.choice(self._frames)
        return frame[: self._luck.randrange(len(frame))] + other[self._luck.randrange(len(other)) :]

    def huge_header(self, frame: bytes) -> bytes:
        size = self._luck.choice([60_000, 65_500, 65_600, 1_000_000])
        return request(self._code(frame), {"topic": "x" * size, "group": "y"}, frame[-20:])

    def deep_json(self, frame: bytes) -> bytes:
        deep = b"[" * (depth := self._luck.choice([50, 500, 30_000])) + b"]" * depth
        if self._luck.random() < 0.5:
            return framed(b'{"code":%d,"extFields":{"topic":%s}}' % (self._code(frame), deep))
        return request(self._code(frame), {"consumerGroup": "g"}, b'{"clientID":' + deep + b"}")

    def wide_json(self, frame: bytes) -> bytes:
        wide = {f"k{n}": self._luck.choice(TEXTS[:8]) for n in range(self._luck.choice([200, 3_000]))}
        if self._luck.random() < 0.5:
            return request(self._code(frame), wide)
        rows = [{"groupName": f"g{n}", "subscriptionDataSet": [{"topic": f"t{n}"}]} for n in range(500)]
        return request(34, {}, json.dumps({"clientID": "c", "consumerDataSet": rows, **wide}).encode())

    def wrong_types(self, frame: bytes) -> bytes:
        values = [*NUMBERS, None, True, [], {}, [1, {"a": 2}], 0.5, "x"]
        ext = {name: self._luck.choice(values) for name in self._fields(frame)}
        return request(
            self._code(frame),
            self._luck.choice([ext, ext, [], "text", 7]),
            frame[-30:],
            **{
                self._luck.choice(["opaque", "flag", "version", "language", "code"]): self._luck.choice(
                    [*values, *LANGUAGES]
                )
            },
        )

    def other_texts(self, frame: bytes) -> bytes:
        """A request that can be read, with values no one would give; some of its fields are missing."""
        ext = {
            name: self._luck.choice([*TEXTS, *map(str, NUMBERS)])
            for name in self._fields(frame)
            if self._luck.random() < 0.8
        }
        return request(self._code(frame), ext, frame[-self._luck.randint(1, 200) :])

    def unknown_code(self, frame: bytes) -> bytes:
        return request(self._luck.choice([*NUMBERS, 4, 9_999, 61_000]), {"topic": "T"}, frame[-50:])

    def answer(self, frame: bytes) -> bytes:
        return request(
            self._code(frame),
            {"offset": "5"},
            b"{}",
            flag=self._luck.choice([1, 3, -1]),
            opaque=self._luck.randrange(2_000),
        )

    def bomb(self, _: bytes) -> bytes:
        """A packed registration, and a message, that grow a thousandfold."""
        packed = zlib.compress(bytes(self._luck.choice([1, 40]) << 20), 9)
        if self._luck.random() < 0.5:
            return request(
                103,
                {
                    "brokerName": "evil",
                    "brokerAddr": "10.0.0.1:1",
                    "clusterName": "c",
                    "brokerId": "0",
                    "haServerAddr": "10.0.0.1:2",
                    "compressed": "true",
                    "bodyCrc32": "0",
                },
                packed,
            )
        return request(
            310,
            {"a": "P", "b": "bombs", "c": "TBW102", "d": "4", "e": "0", "f": "1", "g": "0", "h": "0", "i": ""},
            packed,
        )

    def lying_batch(self, _: bytes) -> bytes:
        item = struct.pack(">iiiii", 30, 0, 0, 0, self._luck.choice([8, -1, 2**31 - 1, 0])) + b"12345678\x00\x00"
        body = item * self._luck.choice([1, 2, 3_000]) + self._luck.randbytes(self._luck.randrange(30))
        return request(
            320,
            {
                "a": "P",
                "b": "batches",
                "c": "TBW102",
                "d": "4",
                "e": "0",
                "f": "0",
                "g": "0",
                "h": "0",
                "i": "",
                "m": "true",
            },
            body,
        )

    def no_utf8(self, frame: bytes) -> bytes:
        header = json.dumps({"code": self._code(frame), "extFields": {"topic": "T?", "group": "g"}}).encode()
        return framed(header.replace(b"?", self._luck.choice([b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00"])))

    def noise(self, _: bytes) -> bytes:
        return self._luck.randbytes(self._luck.choice([1, 7, 8, 9, 200, 5_000]))

    def many_same(self, frame: bytes) -> bytes:
        return self.flipped(frame) * 3

    def _code(self, frame: bytes) -> int:
        header = self._header(frame)
        return int(header["code"]) if header else self._luck.choice([11, 34, 310, 105, 15, 41])

    def _fields(self, frame: bytes) -> list[str]:
        header = self._header(frame)
        return [*((header.get("extFields") or {}) if header else ()), "topic", "queueId", "offset"]

    @staticmethod
    def _header(frame: bytes) -> dict[str, dict[str, str]] | None:
        try:
            return dict(json.loads(frame[8 : 8 + int.from_bytes(frame[5:8], "big")]))
        except ValueError:
            return None


def growing(seed: int) -> Iterator[tuple[str, bytes]]:
    """Requests that are well formed, and of which each wants to be remembered."""
    luck = random.Random(seed)
    n = 0
    while True:
        n += 1
        kind = luck.choice(GROWING)
        yield kind.__name__, kind(f"x{seed}-{n}", n)


def heartbeat(name: str, n: int) -> bytes:
    rows = [{"topic": f"t{m}", "subString": "*", "expressionType": ("TAG", "SQL92")[n % 2]} for m in range(20)]
    return request(
        34,
        {},
        json.dumps(
            {
                "clientID": name,
                "producerDataSet": [{"groupName": f"p{name}-{m}"} for m in range(20)],
                "consumerDataSet": [{"groupName": f"g{name}", "subscriptionDataSet": rows}],
            }
        ).encode(),
    )


def commit(name: str, n: int) -> bytes:
    return request(15, {"consumerGroup": name, "topic": "T", "queueId": str(n), "commitOffset": "1"})


def commit_far(name: str, n: int) -> bytes:
    return request(15, {"consumerGroup": "one", "topic": "T", "queueId": str(n), "commitOffset": "1"})


def lock(name: str, n: int) -> bytes:
    queues = [{"topic": f"t{m}", "brokerName": "b", "queueId": m * n} for m in range(20)]
    return request(41, {}, json.dumps({"consumerGroup": name, "clientId": name, "mqSet": queues}).encode())


def parked_pull(name: str, n: int) -> bytes:
    return request(
        11,
        {
            "consumerGroup": f"g{n % 7}",
            "topic": "TBW102",
            "queueId": "0",
            "queueOffset": "0",
            "maxMsgNums": "32",
            "sysFlag": "6",
            "commitOffset": "0",
            "suspendTimeoutMillis": str(2**62),
            "subscription": "*" + " " * 9_000,
            "subVersion": "0",
            "expressionType": "TAG",
        },
        bytes(100_000),
    )


def text(name: str, n: int) -> bytes:
    return request(100, {"namespace": name, "key": "k", "value": "v" * 9_000})


def sent(topic: str, **more: str) -> bytes:
    return request(
        310,
        {"a": "P", "b": topic, "c": "TBW102", "d": "8", "e": "0", "f": "0", "g": "0", "h": "0", "i": "", **more},
        b"x",
    )


def new_topic(name: str, n: int) -> bytes:
    return sent(f"topic{name}")


def half_message(name: str, n: int) -> bytes:
    return sent("halves", f="4", i="TRAN_MSG\x01true\x02PGROUP\x01P")


def new_group(name: str, n: int) -> bytes:
    return request(200, {}, json.dumps({"groupName": f"s{name}", "retryQueueNums": 1}).encode())


def new_broker(name: str, n: int) -> bytes:
    table = {"topicConfigSerializeWrapper": {"topicConfigTable": {name: {"topicName": name}}}}
    return request(
        103,
        {
            "brokerName": name,
            "brokerAddr": f"10.0.0.1:{n % 65_536}",
            "clusterName": f"c{n}",
            "brokerId": "0",
            "haServerAddr": "10.0.0.1:2",
        },
        json.dumps(table).encode(),
    )


GROWING: list[Callable[[str, int], bytes]] = [
    heartbeat,
    commit,
    commit_far,
    lock,
    parked_pull,
    text,
    new_topic,
    half_message,
    new_group,
    new_broker,
]
