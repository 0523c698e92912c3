"""A data home someone has been at: what is damaged says so and can be deleted; the rest is not touched by it."""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.patience import PATIENCE_S
from tests.server.server import ROOT, Driver, Server, environment, free_port, stored
from tests.small_disk import mounted


def first_log_file(server: Server, sandbox: Driver) -> Path:
    return min((server.home / "sandboxes" / sandbox.slug / "broker-a" / "commitlog").iterdir())


def owners_page(server: Server, sandbox: Driver, path: str = "") -> httpx.Response:
    return httpx.get(f"{server.url}/s/{sandbox.slug}/{path}", headers={"Authorization": f"Bearer {sandbox.token}"})


def delete(server: Server, sandbox: Driver) -> None:
    with server.browser() as owner:
        owner.headers["Authorization"] = f"Bearer {sandbox.token}"
        owner.get("/")
        form = {"csrfmiddlewaretoken": owner.cookies["csrftoken"]}
        deleted = owner.post(f"/s/{sandbox.slug}/keep/delete/", data=form)
        assert deleted.status_code == 302, deleted.text
    assert not (server.home / "sandboxes" / sandbox.slug).exists()
    assert sandbox.http.get(sandbox.address).status_code == 404


def test_a_damaged_sandbox_says_why_and_its_neighbours_live(own_server: Server) -> None:
    names = ("torn", "resized", "gone", "forgetful", "sound")
    torn, resized, gone, forgetful, sound = sandboxes = [own_server.create("orders", name=name) for name in names]
    for sandbox in sandboxes:
        sandbox.wait_until(lambda seen: stored(seen, "orders") > 3)
    own_server.stop()
    root = own_server.home / "sandboxes"
    (root / torn.slug / "sandbox.json").write_text('{"format": 1, "slu')
    with first_log_file(own_server, resized).open("rb+") as log:
        log.truncate(12_345)
    shutil.rmtree(root / gone.slug)
    (root / forgetful.slug / "broker-a" / "config" / "consumerOffset.json").write_text("{{{")
    newest = max((root / forgetful.slug / "journal").iterdir())
    newest.write_bytes(newest.read_bytes() + b'{"seq": 7, "at_')
    own_server.start()

    for sandbox, why in ((torn, "sandbox.json"), (resized, "has 12345 bytes")):
        refused = sandbox.http.post("/wake", json={})
        assert refused.status_code == 409
        assert why in refused.json()["error"]
        assert refused.json()["hint"] == "Try again, or delete the sandbox in its settings."
        assert sandbox.snapshot()["sandbox"]["state"] == "failed"
        for path in ("", "settings/", "journal/", "locks/", "index/", "topics/"):
            page = owners_page(own_server, sandbox, path)
            assert page.status_code == 200, path
            assert why in page.text, path
        delete(own_server, sandbox)

    assert gone.http.get(gone.address).status_code == 404
    delete(own_server, gone)
    for sandbox in (forgetful, sound):
        sandbox.wake()
        grown = stored(sandbox.snapshot(), "orders")
        assert grown > 3
        sandbox.wait_until(lambda seen, grown=grown: stored(seen, "orders") > grown, what="it goes on")
        assert owners_page(own_server, sandbox).status_code == 200


@pytest.mark.parametrize(
    ("variables", "arguments", "says"),
    [
        ({"QUEUEVIZ_HOME": "/etc/hostname"}, (), "cannot be a directory"),
        ({"QUEUEVIZ_HOME": "/proc/nothing"}, (), "cannot be a directory"),
        ({}, ("--port", "0"), "choose a number from 1 to 65535"),
        ({}, ("--port", "99999"), "from 1 to 65535"),
        ({}, ("--port", "http"), "from 1 to 65535"),
        ({}, ("--host", "nowhere.invalid"), "Cannot listen on"),
    ],
)
def test_a_server_that_cannot_start_says_why(
    tmp_path: Path, variables: dict[str, str], arguments: tuple[str, ...], says: str
) -> None:
    said = subprocess.run(
        [sys.executable, "manage.py", "serve", *arguments],
        cwd=ROOT,
        env=environment(tmp_path / "home") | variables,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert said.returncode in (1, 2)
    assert says in said.stderr
    assert "Traceback" not in said.stderr


def start_on(home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "serve", "--port", str(free_port()), "--without-worker"],
        cwd=ROOT,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def assert_says(said: subprocess.CompletedProcess[str], *parts: str) -> None:
    """Check for an error in one line."""
    assert said.returncode == 1
    assert "Traceback" not in said.stderr
    last = said.stderr.strip().splitlines()[-1]
    for part in parts:
        assert part in last, said.stderr


@pytest.mark.parametrize("how", ["garbage", "torn"])
def test_a_database_that_is_damaged_is_named(own_home: Callable[[], Path], how: str) -> None:
    home = own_home()
    database = home / "web.sqlite3"
    if how == "garbage":
        database.write_bytes(b"no database " * 1_000)
    else:
        with closing(sqlite3.connect(database)) as made:
            made.execute("CREATE TABLE t (x TEXT)")
            made.executemany("INSERT INTO t VALUES (?)", [("x" * 500,)] * 200)
            made.commit()
        with database.open("rb+") as file:
            file.seek(8_192)
            file.write(bytes([255]) * 40_000)
    assert_says(start_on(home), f"the database {database} cannot be used", "restore a backup")


def test_a_full_disk_is_reported_at_the_start(tmp_path: Path) -> None:
    with mounted(tmp_path / "home", 1 << 20) as home:
        (home / "other").write_bytes(bytes(shutil.disk_usage(home).free - 4_096))
        assert_says(start_on(home), f"{home}", "no space left on device", "Check free space")


def test_a_data_home_that_is_only_read_is_reported_at_the_start(tmp_path: Path) -> None:
    with mounted(tmp_path / "home", 1 << 20) as home:
        (home / "static").mkdir()
        (home / "secret_key").write_text("known")
        subprocess.run(["mount", "-o", "remount,ro", home], check=True)
        assert_says(start_on(home), f"{home} cannot be written", "read-only file system", "and permissions")
