"""Which clients there are, what each can do, and how it is built where its registry can be reached."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.interop.building import STAMP, alone, digest, need, once, run
from tests.interop.building import Unavailable as Unavailable
from tests.interop.not_java import CPP_CAN, GO_CAN, NODE_CAN, cpp, go, node

HERE = Path(__file__).parent

JAVA_CAN = frozenset(
    {
        "auto-create",
        "sync",
        "async",
        "oneway",
        "batch",
        "selector",
        "delay",
        "transaction",
        "request",
        "members",
        "compression",
        "large",
        "unicode",
        "push",
        "orderly",
        "broadcasting",
        "tags",
        "sql",
        "retry",
        "says-how-often",
        "tags beyond ASCII",
        "pull",
        "commit",
        "held-pull",
        "lite",
        "query",
        "query-unique",
        "offset-by-time",
        "reset",
        "very many queues",
        "long headers",
    }
)


class Client(NamedTuple):
    name: str
    can: frozenset[str]
    build: Callable[[], list[str]]  # the command that starts a peer; raises Unavailable

    def __str__(self) -> str:
        return self.name


@once
def java_classpath(release: str, *profiles: str) -> str:
    """Compile the peer with Apache's artifacts of a release; from the local repository alone where that suffices."""
    need("java", "mvn")
    command = ["mvn", "-q", "-B", f"-Drocketmq.version={release}", *(f"-P{profile}" for profile in profiles), "compile"]
    target = HERE / "java" / "target" / release
    state = digest([HERE / "java" / "pom.xml", *(HERE / "java").rglob("*.java")])
    stamp = target / "-".join((STAMP, *profiles))
    with alone("maven"):  # two of them would be in each other's way in the local repository
        if not stamp.exists() or stamp.read_text() != state:
            try:
                run([*command, "-o"], HERE / "java")
            except Unavailable:
                run(command, HERE / "java")
            stamp.write_text(state)
    return f"{target}/classes:{target}/lib/*"


def java(release: str) -> list[str]:
    return [
        "java",
        "-Xmx256m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        java_classpath(release),
        "-Duser.home=.",
        "-Drocketmq.client.logLevel=WARN",
        "interop.Main",
    ]


CLIENTS = [
    Client("java-4.9.8", JAVA_CAN, lambda: java("4.9.8")),
    Client("java-5.3.3", JAVA_CAN, lambda: java("5.3.3")),
    Client("go-2.1.2", GO_CAN, go),
    Client("node-3.12.0", NODE_CAN, node),
    Client("cpp-1.0.1", CPP_CAN, cpp),
]
TOOLS = CLIENTS[0]
