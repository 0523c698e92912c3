"""Two processes with a lease each; one is stopped for longer than its lease lasts, and then goes on."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import dj_database_url
import pytest

from tests.attacks.databases import in_use
from tests.databases.postgresql import Postgresql
from tests.patience import PATIENCE_S
from tests.server.server import ROOT, until

SLUG = "calm-owl-abcdef"
LEASE_S, MARGIN_S, RENEW_EVERY_S = 3.0, 0.5, 0.2

ENGINE = f"""
import sys, threading, time
import django
django.setup()
from queueviz.engines.lease_rows import LeaseRows
from sandbox.hosting.lease import Figures, HeldElsewhere, Lease, LeaseLost, LeaseUnreachable

table = LeaseRows(lease_s={LEASE_S})
lease = Lease(table, sys.argv[1], time.monotonic, lease_s={LEASE_S}, margin_s={MARGIN_S})
lease.enlist(sys.argv[1], "host")

def renew():
    while lease.is_good:
        try:
            lease.renew_once(Figures())
            time.sleep({RENEW_EVERY_S})
        except (LeaseLost, LeaseUnreachable):
            pass
    table.close()

threading.Thread(target=renew, daemon=True).start()
for line in sys.stdin:
    try:
        if line.strip() == "claim":
            held = lease.claim("{SLUG}")
            print("held", held.fence, held.is_clean, flush=True)
        else:
            lease.check()
            print("good", flush=True)
    except (HeldElsewhere, LeaseLost, LeaseUnreachable) as refused:
        print(type(refused).__name__, flush=True)
"""


class Engine:
    def __init__(self, name: str, url: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", ENGINE, name],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "QUEUEVIZ_DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "queueviz.settings"},
        )

    def ask(self, question: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{question}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def send(self, number: int) -> None:
        self._process.send_signal(number)

    def end(self) -> None:
        self._process.kill()
        self._process.communicate(timeout=PATIENCE_S)


@pytest.fixture
def engines(postgresql_server: Postgresql, django_db_blocker: Any) -> Iterator[list[Engine]]:
    url = postgresql_server.fresh()
    with django_db_blocker.unblock(), in_use(dj_database_url.parse(url)), ExitStack() as ended:
        made = []
        for name in ("one", "other"):
            made.append(Engine(name, url))
            ended.callback(made[-1].end)
        yield made


def test_who_was_stopped_for_longer_than_its_lease_never_writes_again(engines: list[Engine]) -> None:
    one, other = engines
    first = one.ask("claim").split()
    assert (first[0], first[2]) == ("held", "True")
    assert other.ask("claim") == "HeldElsewhere"
    assert one.ask("check") == other.ask("check") == "good"
    one.send(signal.SIGSTOP)
    taken = until(lambda: said if (said := other.ask("claim")).startswith("held") else "", what="it is taken").split()
    assert taken[2] == "False", "its files are copied first"
    assert int(taken[1]) > int(first[1])
    one.send(signal.SIGCONT)
    assert {one.ask(question) for question in ("check", "claim") * 20} == {"LeaseLost"}
    assert other.ask("claim").split() == taken
    assert other.ask("check") == "good"
