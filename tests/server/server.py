"""A server in a process of its own, as a person starts it, and what a program does to a sandbox on it."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeVar

import httpx
import orjson

from tests import ports
from tests.patience import PATIENCE_S

T = TypeVar("T")

ROOT = Path(__file__).parents[2]
START_WITHIN_S = 300.0  # an exit is noticed at once
LOOK_EVERY_S = 0.1
JSON = "application/json"


def until(look: Callable[[], T], *, within_s: float = PATIENCE_S, what: str = "", every_s: float = LOOK_EVERY_S) -> T:
    """Return the first true result of `look`; raise AssertionError if it stays false."""
    ends_s = time.monotonic() + within_s
    while True:
        seen = look()
        if seen:
            return seen
        assert time.monotonic() < ends_s, f"not within {within_s:g} s: {what or look.__name__}"
        time.sleep(every_s)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(*arguments: str | Path, home: Path, timeout_s: float = 120.0) -> subprocess.CompletedProcess[str]:
    """`manage.py …` to its end."""
    return subprocess.run(
        [sys.executable, "manage.py", *map(str, arguments)],
        cwd=ROOT,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def environment(home: Path) -> dict[str, str]:
    mine = {name: value for name, value in os.environ.items() if not name.startswith("QUEUEVIZ_")}
    return mine | {"QUEUEVIZ_HOME": str(home), "QUEUEVIZ_FIRST_PORT": str(ports.OF_SERVERS), "QUEUEVIZ_HISTORY_S": "0"}


def waited_for_a_core_s(pid: int) -> float:
    """Return how long its threads were ready to run while others ran (proc(5)); 0 after its end."""
    waited_ns = 0
    for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(OSError):  # it ended meanwhile
            waited_ns += int(thread.read_text().split()[1])
    return waited_ns / 1e9


def forget_creations(home: Path) -> None:
    """An address may create 20 sandboxes an hour, and all tests have one address: none of theirs counts."""
    with closing(sqlite3.connect(home / "web.sqlite3", timeout=PATIENCE_S)) as database, database:
        database.execute("DELETE FROM queueviz_auditrecord WHERE what = 'create'")


class Server:
    """`manage.py serve` on a data home.  Everything it says is in `log`."""

    def __init__(
        self,
        home: Path,
        *,
        worker: bool = False,
        engines: int = 0,
        variables: dict[str, str] | None = None,
        command: Sequence[str] = (sys.executable, "manage.py"),
        cwd: Path = ROOT,
    ) -> None:
        self.home = home
        self._variables = variables or {}
        self._command, self._cwd = command, cwd
        self._more = ("--engines", str(engines), *(() if worker else ("--without-worker",)))
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log_path = home.with_name(f"{home.name}.log")
        self.process: subprocess.Popen[bytes] | None = None
        self._drivers: list[Driver] = []

    @property
    def log(self) -> str:
        return self.log_path.read_text("utf-8") if self.log_path.exists() else ""

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self, within_s: float = START_WITHIN_S) -> "Server":
        """Returns when it is well; the port stays the same over restarts."""
        with self.log_path.open("ab") as log:
            command = [*self._command, "serve", "--port", str(self.port), *self._more]
            self.process = subprocess.Popen(
                command, cwd=self._cwd, env=environment(self.home) | self._variables, stdout=log, stderr=log
            )
        until(self._is_well, within_s=within_s, what="the server answers")
        return self

    def _is_well(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"the server ended: {self.log}"
        try:
            return httpx.get(f"{self.url}/healthz", timeout=10).status_code == 200
        except httpx.TransportError:
            return False

    def stop(self, how: signal.Signals = signal.SIGTERM) -> float:
        """As a supervisor does, or Ctrl+C with SIGINT; how many seconds it took, less those it waited for a core."""
        assert self.process is not None
        process, waited = self.process, [waited_for_a_core_s(self.pid)]

        def has_ended() -> bool:
            waited.append(max(waited[-1], waited_for_a_core_s(process.pid)))
            return process.poll() is not None

        began_s = time.monotonic()
        process.send_signal(how)
        until(has_ended, what="the server ends")
        self.process = None
        return time.monotonic() - began_s - (waited[-1] - waited[0])

    def kill(self) -> None:
        """As a power cut of the process: it can do nothing about it."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(PATIENCE_S)
        self.process = None

    def end(self) -> None:
        for driver in self._drivers:
            driver.http.close()
        if self.process is not None:
            self.stop()

    def browser(self, **headers: str) -> httpx.Client:
        """A visitor with cookies."""
        return httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE_S)

    def create(self, template: str, **fields: str) -> "Driver":
        forget_creations(self.home)
        made = httpx.post(f"{self.url}/api/sandboxes", json={"template": template, **fields}, timeout=PATIENCE_S)
        assert made.status_code == 201, made.text
        self._drivers.append(Driver(self, made.json()["slug"], made.json()["token"]))
        return self._drivers[-1]


class Driver:
    """A program that holds a sandbox's token."""

    def __init__(self, server: Server, slug: str, token: str) -> None:
        self.server, self.slug, self.token = server, slug, token
        self.address = f"{server.url}/api/sandboxes/{slug}"
        self.http = httpx.Client(
            base_url=self.address, timeout=PATIENCE_S, headers={"Authorization": f"Bearer {token}"}
        )

    def act(self, action: str, **fields: Any) -> int:
        """The `seq` of its ActionTaken."""
        answer = self.post(action, **fields)
        assert answer.status_code == 200, answer.text
        return int(answer.json()["seq"])

    def post(self, action: str, **fields: Any) -> httpx.Response:
        """As `act`, for what may be refused.  Waits its turn where the rate limit says so."""
        return until(
            lambda: self._unless_too_fast(self.http.post("/actions", json={"action": action, **fields})),
            what=f"a turn for {action}",
        )

    def ask(self, name: str, **fields: Any) -> httpx.Response:
        return until(lambda: self._unless_too_fast(self.http.get(f"/ask/{name}", params=fields)), what="a turn to ask")

    @staticmethod
    def _unless_too_fast(answer: httpx.Response) -> httpx.Response | None:
        return None if answer.status_code == 429 and "in a short time" in answer.text else answer

    def snapshot(self) -> dict[str, Any]:
        answer = self.http.get(self.address)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def wake(self) -> None:
        answer = self.http.post("/wake", json={})
        assert answer.status_code == 200, answer.text

    def events(self, after: int = -1) -> list[dict[str, Any]]:
        """The journal after `after`, to its end."""
        rows: list[dict[str, Any]] = []
        while True:
            answer = self.http.get("/events", params={"after": rows[-1]["seq"] if rows else after})
            assert answer.status_code == 200, answer.text
            page = [orjson.loads(line) for line in answer.content.splitlines()]
            rows += page
            if len(page) < 1_000:
                return rows

    def wait_for(self, kind: str, after: int, *, within_s: float = PATIENCE_S, **values: Any) -> dict[str, Any]:
        """The first event of that type after `after` with these values."""

        def look() -> dict[str, Any] | None:
            rows = (row for row in self.events(after) if row["type"] == kind)
            return next((row for row in rows if all(row.get(k) == v for k, v in values.items())), None)

        found = until(look, within_s=within_s, what=f"{kind} {values} after {after}")
        assert found is not None
        return found

    def group(self, name: str) -> dict[str, Any]:
        return next(group for group in self.snapshot()["groups"] if group["group"] == name)

    def member(self, label: str) -> dict[str, Any] | None:
        return find_member(self.snapshot(), label)

    def wait_until(self, look: Callable[[dict[str, Any]], Any], *, within_s: float = PATIENCE_S, what: str = "") -> Any:
        """The first snapshot for which `look` is true gives its value."""
        return until(lambda: look(self.snapshot()), within_s=within_s, what=what)


def find_member(snapshot: dict[str, Any], label: str) -> dict[str, Any] | None:
    members = (member for group in snapshot["groups"] for member in group["members"])
    return next((member for member in members if member["actor"] == label), None)


def queues_of(snapshot: dict[str, Any], topic: str) -> dict[str, dict[str, Any]]:
    """`broker-a:0` → the queue of a topic."""
    found = next((row for row in snapshot["topics"] if row["topic"] == topic), None)
    return {f"{q['broker']}:{q['queue_id']}": q for q in found["queues"]} if found else {}


def stored(snapshot: dict[str, Any], topic: str) -> int:
    """Messages ever stored in a topic."""
    return sum(int(queue["max"]) for queue in queues_of(snapshot, topic).values())


def committed(snapshot: dict[str, Any], group: str) -> dict[str, int]:
    """`topic broker-a:0` → what the group has committed; queues without a stored offset are left out."""
    rows: Iterable[dict[str, Any]] = (row for g in snapshot["groups"] if g["group"] == group for row in g["queues"])
    return {
        f"{row['topic']} {row['broker']}:{row['queue_id']}": int(row["committed"])
        for row in rows
        if row["committed"] is not None
    }


def seqs(rows: Iterable[dict[str, Any]]) -> list[int]:
    return [int(row["seq"]) for row in rows]
