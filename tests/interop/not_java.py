"""Clients in Go, JavaScript and C++: what each can do through what it offers an application, and how it is built.

Each writes its offsets and logs below its home, which is a peer's own directory.
"""

import shutil
import sys
from pathlib import Path

from tests.interop.building import built, need, once, run

HERE = Path(__file__).parent

# No lite pull of queues one chooses, no queries.  Every pull is one that the broker may hold.  Its heartbeats carry
# hashes of a tag's bytes, where brokers hash UTF-16: no member is ever given a tag beyond ASCII.
GO_CAN = frozenset(
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
        "members",
        "pull",
        "held-pull",
        "commit",
        "reset",
    }
)
# Sends are promises; nothing is one-way or in batches, locks no queues, pulls for its own listener alone; a topic
# without a route is an error before it asks for the default one's.
NODE_CAN = frozenset(
    {
        "sync",
        "async",
        "selector",
        "delay",
        "compression",
        "large",
        "unicode",
        "push",
        "broadcasting",
        "tags",
        "tags beyond ASCII",
        "sql",
        "retry",
        "says-how-often",
        "members",
    }
)
# The Python package has the C functions of librocketmq 1: no transactions; bodies are texts that end at a zero byte;
# a pull consumer keeps its offsets to itself.
# It marks a batch with `1`, which Java reads as false, and so do we: a batch is stored as one message of no use.
CPP_CAN = frozenset(
    {
        "auto-create",
        "sync",
        "async",
        "oneway",
        "selector",
        "delay",
        "compression",
        "unicode",
        "push",
        "orderly",
        "broadcasting",
        "tags",
        "tags beyond ASCII",
        "retry",
        "members",
        "pull",
        "reset in C",
    }
)


@once
def go() -> list[str]:
    need("go")

    def build(directory: Path) -> None:
        run(["go", "build", "-mod=readonly", "-o", str(directory / "peer"), "."], HERE / "go")

    made = built("go", [*(HERE / "go").glob("*.go"), *(HERE / "go").glob("go.*")], build)
    return ["env", "ROCKETMQ_GO_LOG_LEVEL=warn", str(made / "peer")]


def node() -> list[str]:
    return ["node", str(node_home() / "peer.js")]


@once
def node_home() -> Path:
    """The peer, and beside it `node_modules`."""
    need("node", "npm")
    sources = [*(HERE / "node").glob("*.js"), *(HERE / "node").glob("package*.json")]

    def build(directory: Path) -> None:
        for path in sources:
            shutil.copy(path, directory)
        run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], directory)

    return built("node", sources, build)


def cpp() -> list[str]:
    return ["env", f"PYTHONPATH={cpp_library()}", sys.executable, str(HERE / "cpp" / "peer.py")]


@once
def cpp_library() -> Path:
    """Return the PYTHONPATH of the library after a trial load."""
    listed = HERE / "cpp" / "requirements.txt"

    def build(directory: Path) -> None:
        run(
            [
                sys.executable,
                "-m",
                "pip",
                "install",
                "-q",
                "--no-deps",
                "--only-binary=:all:",
                "--require-hashes",
                "--target",
                str(directory / "lib"),
                "-r",
                str(listed),
            ],
            directory,
        )
        run(
            [
                "env",
                f"HOME={directory}",
                f"PYTHONPATH={directory / 'lib'}",
                sys.executable,
                "-c",
                "import rocketmq.client",
            ],
            directory,
        )

    return built("cpp", [listed], build) / "lib"
