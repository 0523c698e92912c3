"""A PostgreSQL of the tests' own: a cluster in a directory that ends with it, reached by a Unix socket alone."""

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import psycopg
from psycopg import sql

SERVER_S = 60
WITH_US = 'home=$1; shift; read -r _; "$@"; rm -rf "$home"'  # a killed run ends its input, too
OF_THE_RUN = "TESTS_POSTGRESQL"  # a variable that workers inherit: the folder of the run's own
NOT_HERE = "no PostgreSQL is installed here (initdb, pg_ctl): script/setup databases"


class Postgresql(NamedTuple):
    """A cluster that runs, by the directory of its socket."""

    folder: Path

    def url(self, name: str = "postgres") -> str:
        """As QUEUEVIZ_DATABASE_URL takes it."""
        return f"postgres://postgres@{quote(str(self.folder), safe='')}/{name}"

    def at(self, address: str, url: str) -> str:
        """The same database, by TCP."""
        return f"postgres://postgres@{address}/{url.rpartition('/')[2]}"

    def fresh(self) -> str:
        """The URL of a database with nothing in it yet; it ends with its server."""
        name = f"fresh_{secrets.token_hex(8)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.url(name)


@contextmanager
def postgresql(address: str = "") -> Iterator[Postgresql]:
    """Started on entry, ended on exit; what it held is gone then.  Raises FileNotFoundError where there is none.

    `address`: reached there, too, by all of its network (`Postgresql.at`).
    """
    programs = _programs()
    if programs is None:
        raise FileNotFoundError(NOT_HERE)
    home = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path is short
    as_user: list[str] = []
    if os.geteuid() == 0:  # PostgreSQL does not run as root
        shutil.chown(home, "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]

    def run(program: str, *arguments: str) -> None:
        subprocess.run(
            [*as_user, str(programs / program), "-D", str(home / "data"), *arguments],
            check=True,
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SERVER_S,
        )

    stop = [*as_user, str(programs / "pg_ctl"), "-D", str(home / "data"), "-m", "immediate", "stop"]
    keeper = subprocess.Popen(
        ["sh", "-c", WITH_US, "sh", str(home), *stop],
        stdin=subprocess.PIPE,
        cwd="/",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        run("initdb", "-A", "trust", "-U", "postgres", "-N", "-E", "UTF8", "--locale", "C.UTF-8")
        if address:
            with (home / "data" / "pg_hba.conf").open("a") as rules:
                rules.write(f"host all all {address}/24 trust\n")
        run("pg_ctl", "-w", "-o", f"-F -h '{address}' -k {home}", "-l", str(home / "log"), "start")
        yield Postgresql(home)
    finally:
        keeper.communicate(timeout=SERVER_S)


def running() -> Postgresql | None:
    """The one that this run, or the run that this worker is of, has started."""
    folder = os.environ.get(OF_THE_RUN)
    return Postgresql(Path(folder)) if folder else None


def is_here() -> bool:
    return _programs() is not None


def _programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or [shutil.which("initdb")]
    return Path(found[-1]).parent if found[-1] else None
