"""A data home and a store belong to one process; the second one is refused in a sentence."""

import subprocess
import sys

from tests.patience import PATIENCE_S
from tests.server.server import ROOT, Driver, Server, environment, free_port, run


def test_a_second_server_on_the_same_home_is_refused(server: Server) -> None:
    second = subprocess.run(
        [sys.executable, "manage.py", "serve", "--port", str(free_port())],
        cwd=ROOT,
        env=environment(server.home),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert second.returncode not in (0, -15)
    assert f"in use by process {server.pid}" in second.stderr
    assert "QUEUEVIZ_HOME" in second.stderr, "it says what to do"
    assert "Traceback" not in second.stderr


def test_a_second_server_on_the_same_port_is_refused(server: Server, own_home: object) -> None:
    refused = run("serve", "--port", str(server.port), home=own_home())  # type: ignore[operator]
    assert refused.returncode == 1
    assert "another program uses this port" in refused.stderr
    assert "--port" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_the_store_of_a_running_broker_takes_no_feed(server: Server, orders: Driver) -> None:
    store = server.home / "sandboxes" / orders.slug / "broker-a"
    assert store.is_dir()
    refused = run("feed", "flights", "--store", store, "--limit", "5", home=server.home)
    assert refused.returncode == 1
    assert "Traceback" not in refused.stderr
    assert f"A running broker uses {store}" in refused.stderr
    assert "--sandbox" in refused.stderr, "it says what to do"


def test_a_store_may_be_looked_at_while_a_broker_holds_it(server: Server, orders: Driver) -> None:
    store = server.home / "sandboxes" / orders.slug / "broker-a"
    seen = run("mqstore", "summary", store, home=server.home)
    assert seen.returncode == 0, seen.stderr
    assert f"the lock is held by process {server.pid}" in seen.stdout
