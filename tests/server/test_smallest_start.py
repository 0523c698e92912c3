"""One start of a server and one kill: the smallest of this folder, which each run plays."""

from pathlib import Path

from tests.server.server import Server, stored


def test_a_server_killed_while_a_sandbox_is_young_brings_its_template_back(tmp_path: Path) -> None:
    server = Server(tmp_path / "home").start()
    try:
        sandbox = server.create("flights")
        server.kill()
        server.start()
        sandbox.wake()
        snapshot = sandbox.snapshot()
        assert {group["group"] for group in snapshot["groups"]} == {"gate-display", "maintenance"}
        assert [producer["actor"] for producer in snapshot["producers"]] == ["departures"]
        sandbox.wait_until(lambda snapshot: stored(snapshot, "flights") > 0, what="the feed begins")
    finally:
        server.end()
    assert "Traceback" not in server.log
