"""The broker and name server that clients are let loose on: ours, or Apache's to see what is right."""

import json
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.golden.independent_reader import MESSAGE, Record
from tests.interop.clients import java_classpath

ROOT = Path(__file__).parents[2]
# Checks every 2 s of transactions older than 1 s; without these a test would take over a minute.
PROPERTIES = {
    "brokerName": "broker-a",
    "brokerClusterName": "DefaultCluster",
    "transactionCheckInterval": "2000",
    "transactionTimeOut": "1000",
    "enablePropertyFilter": "true",
    "mappedFileSizeCommitLog": str(64 << 20),
}
PATIENT = {**PROPERTIES, "waitTimeMillsInSendQueue": "10000"}  # on a busy machine 200 ms are soon over
# Else 4.9's broker takes no message from a minute after its start where 90 % of the machine's disk are used.
ON_A_FULL_DISK = (
    "-Drocketmq.broker.diskSpaceWarningLevelRatio=0.99",
    "-Drocketmq.broker.diskSpaceCleanForciblyRatio=0.98",
)
APACHE_4 = "4.9.7"  # the last 4.9 whose broker Maven Central has
APACHE_5 = "5.3.3"
READY_S = 180.0  # Apache's, on a machine with much else to do
LISTENING_PORTS = (10_000, 30_000)  # below those of outgoing connections, which take any that is free
GOODBYE_S = 60.0  # Apache's 5.3.3 takes 12 on a quiet machine
ORDER_S = 10.0
LOOK_EVERY_S = 0.1


class Server(NamedTuple):
    """Two addresses, `ip:port`, which may be the same; and where the store is."""

    name: str
    namesrv: str
    broker: str
    store: Path
    pid: int

    def ask(self, code: int, ext: dict[str, str] | None = None, body: bytes = b"") -> dict[str, Any]:
        """One request to the broker in JSON, written here from the format alone; the answer's header and `body`."""
        return ask(self.broker, code, ext, body)

    def create_topic(self, topic: str, *, queues: int = 4) -> str:
        answer = self.ask(
            17,
            {
                "topic": topic,
                "defaultTopic": "TBW102",
                "readQueueNums": str(queues),
                "writeQueueNums": str(queues),
                "perm": "6",
                "topicFilterType": "SINGLE_TAG",
                "topicSysFlag": "0",
                "order": "false",
            },
        )
        assert answer["code"] == 0, answer
        return topic

    def committed(self, group: str, topic: str, queue_id: int) -> int | None:
        answer = self.ask(14, {"consumerGroup": group, "topic": topic, "queueId": str(queue_id)})
        return int(answer["extFields"]["offset"]) if answer["code"] == 0 else None

    def until(self, condition: Callable[[], bool]) -> None:
        """Poll a condition that no client reports."""
        end_s = time.monotonic() + READY_S
        while not condition():
            assert time.monotonic() < end_s
            time.sleep(LOOK_EVERY_S)

    def records(self, topic: str) -> list[Record]:
        """Return the topic's records in the commit log, read from its files."""
        return [record for record in log_records(self.store / "commitlog") if record.topic == topic]

    def is_registered(self) -> bool:
        """Does the name server know the broker?  Apache's 5.3.3 may succeed at its second try only, 10 s later."""
        return b'"broker-a"' in ask(self.namesrv, 106)["body"]


def ask(address: str, code: int, ext: dict[str, str] | None = None, body: bytes = b"") -> dict[str, Any]:
    header = json.dumps(
        {
            "code": code,
            "extFields": ext or {},
            "flag": 0,
            "language": "JAVA",
            "opaque": 1,
            "serializeTypeCurrentRPC": "JSON",
            "version": 409,
        }
    ).encode()
    ip, _, port = address.rpartition(":")
    with socket.create_connection((ip, int(port)), timeout=ORDER_S) as line:
        line.sendall(struct.pack(">ii", 4 + len(header) + len(body), len(header)) + header + body)
        stream = line.makefile("rb")
        length, header_bytes = struct.unpack(">ii", stream.read(8))
        answer: dict[str, Any] = json.loads(stream.read(header_bytes))
        answer["body"] = stream.read(length - 4 - header_bytes)
    return answer


def log_records(directory: Path) -> Iterator[Record]:
    for path in sorted(directory.glob("*")):
        data, at, start = path.read_bytes(), 0, int(path.name)
        while at + 8 <= len(data):
            size, magic = struct.unpack(">iI", data[at : at + 8])
            if magic != MESSAGE:
                break
            yield Record(data[at : at + size], start + at)
            at += size


def free_ports(*apart: int) -> int:
    """A port that is free together with those so far from it."""
    while True:
        port = random.randrange(*LISTENING_PORTS)
        try:
            for offset in (0, *apart):
                with socket.socket() as other:
                    other.bind(("127.0.0.1", port + offset))
        except OSError:
            continue
        return port


@contextmanager
def our_server(
    *,
    store: Path | None = None,
    properties: Mapping[str, str] = PROPERTIES,
    accounts: str | None = None,
    certificate: Path | None = None,
) -> Iterator[Server]:
    """Our broker and name server in one process; `store` as of Apache's, `accounts` as `plain_acl.yml` has them.

    `certificate`, with its key in the same file: TLS is spoken, too.
    """
    with tempfile.TemporaryDirectory(prefix="interop-") as home:
        root = Path(home)
        directory = store or root / "store"
        settings = root / "broker.properties"
        settings.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        address = f"127.0.0.1:{free_ports(1)}"
        command = [
            sys.executable,
            "manage.py",
            "broker",
            "--store",
            str(directory),
            "--listen",
            address,
            "--properties",
            str(settings),
        ]
        if accounts is not None:
            (root / "plain_acl.yml").write_text(accounts)
            command += ["--acl", str(root / "plain_acl.yml")]
        if certificate is not None:
            command += ["--certificate", str(certificate)]
        with process(command, root / "log", b"name server") as started:
            yield Server("ours", address, address, directory, started.pid)


@contextmanager
def apache_server(
    release: str = APACHE_4,
    *,
    store: Path | None = None,
    properties: Mapping[str, str] = PROPERTIES,
    accounts: str | None = None,
    certificate: Path | None = None,
    at: Server | None = None,
) -> Iterator[Server]:
    """Apache's name server and broker of a release in one process, on all addresses of this machine.

    `store` may be an existing store directory; without it the store is empty and temporary.
    `accounts` as 4.9's `plain_acl.yml` has them, with aclEnable among the properties; 5.x has other settings instead.
    `certificate` as of ours; without it a made-up one.  `at`: on the ports of one that was there before.
    Raises Unavailable where Maven or its artifacts are not here.  At its end the broker shuts down as it should.
    """
    classpath = java_classpath(release, "broker")
    with tempfile.TemporaryDirectory(prefix="interop-") as home:
        root = Path(home)
        directory = store or root / "store"
        namesrv, broker = (port_of(at.namesrv), port_of(at.broker)) if at else (free_ports(), free_ports(-2, 1))
        if accounts is not None:
            (root / "conf").mkdir()
            (root / "conf" / "plain_acl.yml").write_text(accounts)
        secure = (
            []
            if certificate is None
            else [
                "-Dtls.test.mode.enable=false",
                *(f"-Dtls.server.{what}Path={certificate}" for what in ("cert", "key")),
            ]
        )
        command = [
            "java",
            "-Xmx512m",
            "-XX:+UseSerialGC",
            f"-Duser.home={home}",
            f"-Drocketmq.home.dir={home}",
            *ON_A_FULL_DISK,
            *secure,
            "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
            "--add-opens=java.base/java.nio=ALL-UNNAMED",
            "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",  # without it 4.9 cannot shut its store
            "-cp",
            classpath,
            "interop.ApacheBroker",
            home,
            str(directory),
            str(namesrv),
            str(broker),
            "\n".join(f"{key}={value}" for key, value in properties.items()),
        ]
        with process(command, root / "log", b"ready") as started:
            server = Server(f"apache-{release}", f"127.0.0.1:{namesrv}", f"127.0.0.1:{broker}", directory, started.pid)
            server.until(server.is_registered)
            yield server


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


@contextmanager
def process(command: Sequence[str], log: Path, ready: bytes) -> Iterator[subprocess.Popen[bytes]]:
    """Until it says so it is not there; and afterwards it is gone."""
    with log.open("wb") as words:
        started = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words, env=os.environ
        )
    assert started.stdout is not None
    assert started.stdin is not None
    try:
        patience = threading.Timer(READY_S, started.kill)
        patience.start()
        is_ready = any(ready in line for line in started.stdout)
        patience.cancel()
        if not is_ready:
            raise AssertionError(f"{command[:3]} did not start: {log.read_text()[-3_000:]}")
        yield started
    finally:
        started.stdin.close()
        started.terminate()
        try:
            started.wait(GOODBYE_S)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()
        started.stdout.close()
