"""A data home of 60 MB that messages fill: the server stays, says so, and goes on when there is room again."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.server import Driver, Server, run, stored
from tests.small_disk import mounted

SIZE_BYTES = 60 * 1024 * 1024
LARGER_BYTES = 4 * SIZE_BYTES
BODY_BYTES = 4_000  # a client packs larger ones, and these are easily packed


@pytest.fixture
def small(own_home: Callable[[], Path], tmp_path: Path) -> Iterator[Server]:
    with mounted(tmp_path / "home", SIZE_BYTES) as home:
        shutil.copytree(own_home() / "static", home / "static")
        server = Server(home).start()
        yield server
        server.end()
        assert "Traceback" not in server.log


def page(sandbox: Driver) -> str:
    answer = httpx.get(f"{sandbox.server.url}/s/{sandbox.slug}/", headers={"Authorization": f"Bearer {sandbox.token}"})
    assert answer.status_code == 200
    return answer.text


def make(server: Server, name: str) -> Driver:
    sandbox = server.create("empty", name=name)
    sandbox.act("CreateTopic", topic="orders", write_queues=2, read_queues=2)
    sandbox.act("SendMessages", topic="orders", count=10)
    sandbox.wait_until(lambda seen: stored(seen, "orders") == 10)
    return sandbox


def fill(path: Path) -> None:
    """Not a byte is left."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(64 * 1024)):
            pass


def says_so(seen: dict[str, Any]) -> Any:
    return seen["sandbox"]["trouble"] or seen["sandbox"]["notices"]


def test_a_disk_that_is_full_ends_no_server_and_harms_no_message(small: Server) -> None:
    quiet, hungry = make(small, "quiet"), make(small, "hungry")
    process = small.process
    hungry.act("StartProducer", actor="shop", topic="orders", rate_per_s=1_500, body_bytes=BODY_BYTES)
    hungry.wait_until(lambda seen: stored(seen, "orders") > 500)
    fill(small.home / "ballast")  # while files are written to
    hungry.wait_until(lambda seen: seen["sandbox"]["trouble"], what="it is stopped")
    assert process is not None
    assert process.poll() is None
    assert "The data home accepts no more data: no space left on device." in page(hungry)
    assert "The sandbox is stopped" in page(hungry)
    assert stored(quiet.snapshot(), "orders") == 10
    assert quiet.snapshot()["sandbox"]["state"] == "live"
    page(quiet)

    (small.home / "ballast").unlink()
    hungry.wait_until(lambda seen: not says_so(seen), what="resumes automatically")
    hungry.wait_until(says_so, what="its own messages fill the disk")
    subprocess.run(["mount", "-o", f"remount,size={LARGER_BYTES}", small.home], check=True)
    for sandbox in (hungry, quiet):
        sandbox.wait_until(lambda seen: not says_so(seen), what="resumes automatically")
    before = stored(hungry.snapshot(), "orders")
    hungry.wait_until(lambda seen: stored(seen, "orders") > before, what="messages are stored again")
    hungry.act("StopActor", actor="shop")
    quiet.act("SendMessages", topic="orders", count=5)
    quiet.wait_until(lambda seen: stored(seen, "orders") == 15)
    hungry.wait_until(lambda seen: seen["producers"][0]["state"] == "stopped")
    seen = hungry.snapshot()
    assert stored(seen, "orders") >= int(seen["producers"][0]["sent"]) + 10, "every answered message is there"
    assert process.poll() is None
    small.stop()
    for sandbox in (hungry, quiet):
        store = small.home / "sandboxes" / sandbox.slug / "broker-a"
        checked = run("mqstore", "verify", store, home=small.home)
        assert checked.returncode == 0, checked.stdout + checked.stderr
