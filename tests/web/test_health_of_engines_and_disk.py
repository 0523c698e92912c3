"""Reports of `/healthz` and pages about a full disk and a stopped engine."""

import errno
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.db import OperationalError
from django.test import Client

from queueviz import engine
from queueviz.browsers.port import BrowserPort
from queueviz.engines.pool import Pool
from queueviz.engines.port import PoolPort
from queueviz.operations import server_load
from queueviz.sandboxes import creation
from sandbox.cluster.disk_full import GO_ON_BYTES
from sandbox.hosting.data_home import HOME_FULL
from sandbox.kernel.errors import EngineBusy
from tests.web.fake_port import FakePort
from tests.web.test_engine_port import ScriptedPool

pytestmark = pytest.mark.django_db
STATUS = {"awake": 1, "known": 1, "cap": 10, "fds": 9, "fd_limit": 99, "sandboxes": {}, "attached": {}, "full": None}


def health() -> tuple[int, dict[str, Any]]:
    answer = Client().get("/healthz", headers={"Accept-Language": "zh-hans"})
    return answer.status_code, answer.json()


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch, port: FakePort) -> SimpleNamespace:
    """`free`: bytes that are left on it."""
    usage = SimpleNamespace(free=2 * GO_ON_BYTES)
    monkeypatch.setattr(server_load, "shutil", SimpleNamespace(disk_usage=lambda home: usage))
    return usage


def test_a_full_disk_is_said_and_is_over_when_there_is_room(disk: SimpleNamespace) -> None:
    assert health()[1]["disk"] == "ok"
    disk.free = 3_000_000
    status, said = health()
    assert (status, said["status"], said["disk"]) == (200, "full", "The disk of the data home has 2929 KiB left.")
    disk.free = GO_ON_BYTES
    assert (health()[1]["status"], health()[1]["disk"]) == ("ok", "ok")


def test_the_space_that_sandboxes_may_take_and_a_sandbox_that_cannot_write_are_said(
    disk: SimpleNamespace, port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = port.status().result()
    changed = {**status, "full": {"pattern": HOME_FULL, "values": {"used": 21, "allowed": 20}}}
    monkeypatch.setattr(port, "status", lambda: done(changed))
    assert health()[1]["disk"].startswith("All sandboxes of this server together use 21 MiB of 20 MiB.")
    trouble = "The data home accepts no more data: no space left on device."
    changed = {**status, "sandboxes": {"s": {"state": "live", "trouble": trouble}}}
    assert (health()[1]["status"], health()[1]["disk"]) == ("full", trouble)
    changed = status
    assert health()[1]["status"] == "ok"


def done(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


@pytest.mark.parametrize(
    "why",
    [
        OperationalError("database or disk is full"),
        OSError(errno.ENOSPC, "No space left on device"),
        OperationalError("could not extend file: No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
    ],
)
def test_pages_and_api_name_a_full_disk(why: Exception, port: FakePort, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: Any, **named: Any) -> None:
        raise why

    monkeypatch.setattr(creation, "create", full)
    page = Client().post("/new/", {"template": "empty"})
    assert (page.status_code, "The disk of the server is full." in page.content.decode()) == (503, True)
    said = Client().post("/api/sandboxes", {"template": "empty"}, "application/json")
    assert (said.status_code, said.json()["error"]) == (503, "The disk of the server is full.")


def test_a_busy_database_is_not_called_full(port: FakePort, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(*given: Any, **named: Any) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr(creation, "create", locked)
    page = Client().post("/new/", {"template": "empty"})
    assert (page.status_code, "The database is busy." in page.content.decode()) == (503, True)


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch, disk: SimpleNamespace) -> ScriptedPool:
    """Two engines; `answers` has what each says, None while it says nothing."""
    scripted: Any = ScriptedPool()
    scripted.answers = {0: STATUS, 1: STATUS}

    def ask(index: int, kind: str, *given: Any) -> Future[Any]:
        future: Future[Any] = Future()
        answer = scripted.answers[index]
        if isinstance(answer, Exception):
            future.set_exception(answer)
        elif answer is not None:
            future.set_result({"late_ms": 0} if kind == "figures" else answer)
        return future

    scripted.ask = ask
    port = PoolPort(cast(Pool, scripted))
    monkeypatch.setattr(engine, "port", lambda: BrowserPort(port))
    return cast(ScriptedPool, scripted)


def test_an_engine_that_does_not_answer_is_named(pool: Any) -> None:
    assert health()[1]["engines_answering"] == 2
    pool.answers[1] = None
    status, said = health()
    assert (status, said["status"], said["engine"]) == (503, "failing", "Engine 2 of 2 does not answer.")
    assert (said["awake"], said["engines"], said["engines_answering"]) == (1, 2, 1)
    pool.answers[1] = STATUS
    assert health()[0] == 200


def test_an_engine_that_is_being_started_again_is_named_and_the_others_are_not_restarted(pool: Any) -> None:
    pool.answers[0] = EngineBusy("The engine is restarting. Try again in a moment.")
    status, said = health()
    assert (status, said["status"], said["busy"]) == (200, "busy", "Engine 1 of 2 is restarting.")


def test_without_any_engine_it_is_failing(pool: Any) -> None:
    pool.answers = dict.fromkeys((0, 1))
    assert (health()[0], health()[1]["engine"]) == (503, "No engine answers. Try again in a moment.")


def test_the_admin_and_the_metrics_say_it_too(pool: Any, admin_client: Client) -> None:
    pool.answers[1] = None
    assert "Engine 2 of 2 does not answer." in admin_client.get("/admin/").content.decode()
    assert "queueviz_busy 1" in Client().get("/metrics").content.decode()
