"""The lines of code on the Connect page do what they promise: they send a message, and read it.

They stand in the fewest lines around them that their language asks for, with the imports an editor would add.
"""

import os
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from queueviz.boards.connect_snippets import SECRET, snippets
from tests.interop import not_java
from tests.interop.building import Unavailable, run
from tests.interop.clients import java_classpath
from tests.interop.servers import LOOK_EVERY_S, Server, our_server
from tests.interop.test_clients_signing import ACCOUNTS, HOST, create_topic

WITHIN_S = 90.0  # Go compiles, and the first rebalance takes up to 20 s
JAVA = """\
import org.apache.rocketmq.acl.common.*;
import org.apache.rocketmq.client.consumer.*;
import org.apache.rocketmq.client.consumer.listener.*;
import org.apache.rocketmq.client.consumer.rebalance.*;
import org.apache.rocketmq.client.producer.*;
import org.apache.rocketmq.common.message.*;
import org.apache.rocketmq.remoting.*;

public class Snippet {{
    public static void main(String[] args) throws Exception {{
{code}    }}
}}
"""
GO = """\
package main

import (
{imports}
)

func main() {{
{code}}}
"""
GO_IMPORTS = {
    "context": "context",
    "fmt": "fmt",
    "os": "os",
    "rocketmq": "github.com/apache/rocketmq-client-go/v2",
    "consumer": "github.com/apache/rocketmq-client-go/v2/consumer",
    "primitive": "github.com/apache/rocketmq-client-go/v2/primitive",
    "producer": "github.com/apache/rocketmq-client-go/v2/producer",
}


def java(code: str, home: Path) -> list[str]:
    (home / "Snippet.java").write_text(JAVA.format(code=textwrap.indent(code, " " * 8)))
    return ["java", "-Xmx256m", "-cp", java_classpath("4.9.8"), f"-Duser.home={home}", str(home / "Snippet.java")]


def python(code: str, home: Path) -> list[str]:
    library = not_java.cpp_library()
    (home / "snippet.py").write_text(code)
    return ["env", f"HOME={home}", f"PYTHONPATH={library}", sys.executable, "-u", str(home / "snippet.py")]


def go(code: str, home: Path) -> list[str]:
    not_java.go()
    used = [path for name, path in GO_IMPORTS.items() if f"{name}." in code]
    (home / "main.go").write_text(
        GO.format(imports="\n".join(f'\t"{path}"' for path in used), code=textwrap.indent(code, "\t"))
    )
    for name in ("go.mod", "go.sum"):
        shutil.copy(not_java.HERE / "go" / name, home)
    run(["go", "build", "-mod=mod", "-o", "snippet", "."], home)
    return ["env", f"HOME={home}", str(home / "snippet")]


def node(code: str, home: Path) -> list[str]:
    modules = not_java.node_home() / "node_modules"
    (home / "snippet.js").write_text(code)
    return ["env", f"HOME={home}", f"NODE_PATH={modules}", "node", str(home / "snippet.js")]


class Way(NamedTuple):
    """`read` is what the program prints when it was given the message."""

    language: str
    make: Callable[[str, Path], list[str]]
    read: bytes


WAYS = [
    Way("Java", java, b"body=[104, 101, 108, 108, 111]"),
    Way("Python", python, b"b'hello'"),
    Way("Go", go, b"body=hello"),
    Way("Node", node, b"\nhello\n"),
]


@pytest.fixture(scope="module", params=["unsigned", "signed"])
def keys(request: pytest.FixtureRequest) -> tuple[str, str] | None:
    return HOST if request.param == "signed" else None


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, keys: tuple[str, str] | None) -> Iterator[Server]:
    if request.config.getoption("--against") == "apache":
        pytest.skip("the page is about our broker")
    with our_server(accounts=ACCOUNTS if keys else None) as made:
        yield made


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.language)
def test_the_lines_of_the_connect_page(way: Way, server: Server, keys: tuple[str, str] | None, tmp_path: Path) -> None:
    topic = f"snippet-{way.language}"
    if keys:
        create_topic(server, topic)
    else:
        server.create_topic(topic)
    found = snippets([server.namesrv], topic, "readers", keys[0] if keys else None)
    [code] = [snippet.code for snippet in found if snippet.language == way.language]
    try:
        command = way.make(code, tmp_path)
    except Unavailable as why:
        pytest.skip(f"{way.language}: {why}")
    said = tmp_path / "said"
    with said.open("wb") as out:
        program = subprocess.Popen(
            command, stdout=out, stderr=out, cwd=tmp_path, env={**os.environ, SECRET: keys[1] if keys else ""}
        )
        try:
            end_s = time.monotonic() + WITHIN_S
            while way.read not in said.read_bytes():
                lives = program.poll() is None and time.monotonic() < end_s
                assert lives, said.read_text(errors="replace")[-2_000:]
                time.sleep(LOOK_EVERY_S)
        finally:
            program.kill()
            program.wait()
    assert {record.body for record in server.records(topic)} == {b"hello"}
