"""Machines of the tests' own on this one: network namespaces on a bridge, each with its part of a Ray cluster.

PostgreSQL and Redis stand on the bridge, the data home is a directory that all machines have.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import orjson

from tests.databases import postgresql
from tests.databases.redis_server import RedisServer
from tests.databases.redis_server import is_here as redis_is_here
from tests.server.server import ROOT, until

NOT_HERE = "no network namespaces, PostgreSQL, Redis or Ray here: root, iproute2, script/setup databases"
START_WITHIN_S = 90.0
RAY_PORT, WEB_PORT = 6379, 8000
OBJECTS_BYTES = 80_000_000  # the least Ray takes
QUICK = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_worker_niceness": "0",
}  # engines are no batch work
AFTER_US = (
    "read -r _; for m in $1; do ip netns pids $m | xargs -r kill -9; ip netns del $m; done; "
    'ip link del "$2"'
)  # a killed run ends its input, too


class Machines:
    """`machines` from 1.  Everything ends with `end`, or with the process that made them."""

    def __init__(self, number: int, *, cores: int = 1) -> None:
        self._mark = f"qv{os.getpid() % 100_000}"
        self._net = f"10.77.{os.getpid() % 250 + 1}"
        self.numbers = range(1, number + 1)
        self._cores = cores
        self.folder = Path(tempfile.mkdtemp(prefix="qv-", dir="/tmp"))
        self.home = self.folder / "home"
        self.home.mkdir()
        self._webs: dict[int, subprocess.Popen[bytes]] = {}
        names = " ".join(self.name(machine) for machine in self.numbers)
        self._keeper = subprocess.Popen(
            ["sh", "-c", AFTER_US, "sh", names, f"{self._mark}-b"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def name(self, machine: int) -> str:
        return f"{self._mark}-{machine}"

    def address(self, machine: int) -> str:
        return f"{self._net}.{machine}"

    @property
    def bridge(self) -> str:
        """The address of this machine on their net."""
        return f"{self._net}.254"

    def url(self, machine: int) -> str:
        return f"http://{self.address(machine)}:{WEB_PORT}"

    @property
    def variables(self) -> dict[str, str]:
        return {
            "QUEUEVIZ_HOME": str(self.home),
            "QUEUEVIZ_FIRST_PORT": "20000",
            "PYTHONPATH": str(ROOT),
            "QUEUEVIZ_HISTORY_S": "0",
            "QUEUEVIZ_DATABASE_URL": self.database,
            "QUEUEVIZ_REDIS_URL": self._redis,
            "QUEUEVIZ_RAY_ADDRESS": f"{self.address(1)}:{RAY_PORT}",
            "QUEUEVIZ_ALLOWED_HOSTS": "*",
        }

    def start(self, database: str, redis: str) -> "Machines":
        """Ray on each.  URLs that are reached from the machines."""
        self.database, self._redis = database, redis
        for machine in self.numbers:
            joins = (
                ["--head", f"--port={RAY_PORT}", "--include-dashboard=false"]
                if machine == 1
                else [f"--address={self.address(1)}:{RAY_PORT}"]
            )
            ray = [
                str(Path(sys.executable).with_name("ray")),
                "start",
                *joins,
                f"--num-cpus={self._cores}",
                f"--node-ip-address={self.address(machine)}",
                f"--object-store-memory={OBJECTS_BYTES}",
                f"--temp-dir={self.folder}/r{machine}",
                "--disable-usage-stats",
            ]
            done = subprocess.run(
                self._inside(machine, *ray),
                env=self._environment() | QUICK,
                capture_output=True,
                text=True,
                timeout=START_WITHIN_S,
                check=False,
                cwd="/",
            )
            assert done.returncode == 0, done.stdout + done.stderr
        return self

    def make_net(self) -> None:
        _ip("link", "add", f"{self._mark}-b", "type", "bridge")
        _ip("addr", "add", f"{self.bridge}/24", "dev", f"{self._mark}-b")
        _ip("link", "set", f"{self._mark}-b", "up")
        for machine in self.numbers:
            name = self.name(machine)
            _ip("netns", "add", name)
            _ip("link", "add", self._plug(machine), "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("link", "set", self._plug(machine), "master", f"{self._mark}-b", "up")
            _ip("-n", name, "addr", "add", f"{self.address(machine)}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "up")
            _ip("-n", name, "link", "set", "lo", "up")

    def serve(self, machine: int, *, engines: int) -> None:
        """A web process there; returns when it is well."""
        command = [
            sys.executable,
            "manage.py",
            "serve",
            "--host",
            self.address(machine),
            "--port",
            str(WEB_PORT),
            "--engines",
            str(engines),
            "--without-worker",
        ]
        with self.log(machine).open("ab") as log:
            self._webs[machine] = subprocess.Popen(
                self._inside(machine, *command), cwd=ROOT, stdout=log, stderr=log, env=self._environment(machine)
            )
        until(lambda: self._is_well(machine), within_s=START_WITHIN_S, what=f"the web process of machine {machine}")

    def log(self, machine: int) -> Path:
        return self.folder / f"web{machine}.log"

    def cut(self, machine: int) -> None:
        """Its cable is pulled."""
        _ip("link", "set", self._plug(machine), "down")

    def mend(self, machine: int) -> None:
        _ip("link", "set", self._plug(machine), "up")

    def manage(self, *arguments: str, machine: int = 1) -> subprocess.CompletedProcess[str]:
        """`manage.py …` there, to its end."""
        return subprocess.run(
            self._inside(machine, sys.executable, "manage.py", *arguments),
            cwd=ROOT,
            text=True,
            env=self._environment(machine),
            capture_output=True,
            timeout=START_WITHIN_S,
            check=False,
        )

    def engines(self) -> list[dict[str, Any]]:
        """As `manage.py engines --json` lists them, without those whose lease ran out."""
        done = self.manage("engines", "--json")
        assert done.returncode == 0, done.stderr
        return [row for row in orjson.loads(done.stdout)["engines"] if row["expires_in_s"] > 0]

    def kill(self, row: dict[str, Any]) -> None:
        """The engine of that row of `engines`, by −9."""
        os.kill(int(row["host"].split()[-1]), signal.SIGKILL)

    def end(self) -> None:
        for web in self._webs.values():
            web.kill()
            web.wait()
        self._webs.clear()
        if self._keeper.poll() is None:
            self._keeper.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _is_well(self, machine: int) -> bool:
        assert self._webs[machine].poll() is None, self.log(machine).read_text()
        try:
            return httpx.get(f"{self.url(machine)}/healthz", timeout=10).status_code == 200
        except httpx.TransportError:
            return False

    def _inside(self, machine: int, *command: str) -> list[str]:
        return ["ip", "netns", "exec", self.name(machine), *command]

    def _environment(self, machine: int | None = None) -> dict[str, str]:
        mine = {name: value for name, value in os.environ.items() if not name.startswith(("QUEUEVIZ_", "RAY_"))}
        node = {"QUEUEVIZ_RAY_NODE": self.address(machine)} if machine is not None else {}
        return mine | self.variables | node

    def _plug(self, machine: int) -> str:
        return f"{self._mark}-p{machine}"


@contextmanager
def machines(number: int, *, cores: int = 1) -> Iterator[Machines]:
    """Machines with their database, notices and Ray; `serve` starts web processes and engines."""
    there = Machines(number, cores=cores)
    try:
        there.make_net()
        with postgresql.postgresql(there.bridge) as database:
            redis = RedisServer(there.folder, there.bridge).start()
            try:
                yield there.start(database.at(there.bridge, database.fresh()), redis.url)
            finally:
                redis.end()
                there.end()
    finally:
        there.end()


def are_here() -> bool:
    """Return whether such machines can be created."""
    if os.geteuid() != 0 or shutil.which("ip") is None or not (postgresql.is_here() and redis_is_here()):
        return False
    made = subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode == 0
    return made and find_spec("ray") is not None


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"
