"""Which clients there are, what each can do, and how it is built where its registry can be reached."""

import functools
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
BUILD_S = 600.0

JAVA_CAN = frozenset({
    "auto-create", "sync", "async", "oneway", "batch", "selector", "delay", "transaction", "request", "members",
    "compression", "large", "unicode", "push", "orderly", "broadcasting", "tags", "sql", "retry", "dead-letter",
    "pull", "held-pull", "lite", "query", "query-unique", "offset-by-time", "reset",
})


class Unavailable(Exception):
    """Why a client cannot be had here."""


class Client(NamedTuple):
    name: str
    can: frozenset[str]
    build: Callable[[], list[str]]  # the command that starts a peer; raises Unavailable

    def __str__(self) -> str:
        return self.name


@functools.cache
def java_classpath(release: str, *profiles: str) -> str:
    """Compile the peer with Apache's artifacts of a release; from the local repository alone where that suffices."""
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            raise Unavailable(f"no {tool} here")
    command = ["mvn", "-q", "-B", f"-Drocketmq.version={release}", *(f"-P{profile}" for profile in profiles), "compile"]
    try:
        run([*command, "-o"], HERE / "java")
    except Unavailable:
        run(command, HERE / "java")
    target = HERE / "java" / "target" / release
    return f"{target}/classes:{target}/lib/*"


def java(release: str) -> list[str]:
    return ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", java_classpath(release),
            "-Drocketmq.client.logUseSlf4j=false", "-Drocketmq.client.logLevel=WARN", "interop.Main"]


def run(command: list[str], cwd: Path) -> None:
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, timeout=BUILD_S, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{command[0]} took longer than {BUILD_S:.0f} s") from None
    if done.returncode:
        said = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines() or [""]
        raise Unavailable(f"{command[0]} failed: {said[0][:300]}")


CLIENTS = [
    Client("java-4.9.8", JAVA_CAN, lambda: java("4.9.8")),
    Client("java-5.3.3", JAVA_CAN, lambda: java("5.3.3")),
]
TOOLS = CLIENTS[0]
