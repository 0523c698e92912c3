"""Clients in Go, JavaScript and C++: what each can do through what it offers an application, and how it is built.

Each writes its offsets and logs below its home, so it gets one of its own.
"""

import functools
import shutil
import sys
from pathlib import Path

from tests.interop.building import need, run, scratch

HERE = Path(__file__).parent

# No lite pull of queues one chooses, no queries.  Every pull is one that the broker may hold.  Its heartbeats carry
# hashes of a tag's bytes, where brokers hash UTF-16: no member is ever given a tag beyond ASCII.
GO_CAN = frozenset({
    "auto-create", "sync", "async", "oneway", "batch", "selector", "delay", "transaction", "request",
    "compression", "large", "unicode", "push", "orderly", "broadcasting", "tags", "sql", "retry", "says-how-often",
    "members", "pull", "held-pull", "commit", "reset",
})
# Sends are promises; nothing is one-way or in batches, locks no queues, pulls for its own listener alone; a topic
# without a route is an error before it asks for the default one's.
NODE_CAN = frozenset({
    "sync", "async", "selector", "delay", "compression", "large", "unicode",
    "push", "broadcasting", "tags", "tags beyond ASCII", "sql", "retry", "says-how-often", "members",
})
# The Python package has the C functions of librocketmq 1: no transactions; bodies are texts that end at a zero byte;
# a pull consumer keeps its offsets to itself.
# It marks a batch with `1`, which Java reads as false, and so do we: a batch is stored as one message of no use.
CPP_CAN = frozenset({
    "auto-create", "sync", "async", "oneway", "selector", "delay", "compression", "unicode",
    "push", "orderly", "broadcasting", "tags", "tags beyond ASCII", "retry", "members", "pull", "reset in C",
})


@functools.cache
def go() -> list[str]:
    need("go")
    peer = scratch("go") / "peer"
    run(["go", "build", "-mod=readonly", "-o", str(peer), "."], HERE / "go")
    return ["env", f"HOME={scratch('go')}", "ROCKETMQ_GO_LOG_LEVEL=warn", str(peer)]


@functools.cache
def node() -> list[str]:
    need("node", "npm")
    home = scratch("node")
    for path in [*(HERE / "node").glob("*.js"), *(HERE / "node").glob("package*.json")]:
        shutil.copy(path, home)
    run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], home)
    return ["env", f"HOME={home}", "node", str(home / "peer.js")]


@functools.cache
def cpp() -> list[str]:
    home = scratch("cpp")
    run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--only-binary=:all:", "--require-hashes",
         "--target", str(home / "lib"), "-r", str(HERE / "cpp" / "requirements.txt")], home)
    started = ["env", f"HOME={home}", f"PYTHONPATH={home / 'lib'}", sys.executable]
    run([*started, "-c", "import rocketmq.client"], home)  # where its library does not load
    return [*started, str(HERE / "cpp" / "peer.py")]
