"""A server process killed with -9: the next one recovers each sandbox when it is woken."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from sandbox.hosting.engine import Engine

ROOT = Path(__file__).resolve().parents[3]
WAIT_S = 20

CHILD = """
import json, os, signal, sys
from pathlib import Path
from sandbox.control.actions import parse_action
from sandbox.hosting.engine import Engine
from sandbox.control.rights import Actor

port = Engine(Path(sys.argv[1])).start().port
me = Actor("owner", "otter")
port.create("demo", "empty", seed=1).result(20)
for action in (
    {"action": "CreateTopic", "topic": "orders", "write_queues": 2, "read_queues": 2},
    {"action": "StartConsumer", "group": "g", "subscriptions": [["orders", "*"]], "work_ms": [0, 0]},
    {"action": "SendMessages", "topic": "orders", "count": 300},
):
    port.act("demo", parse_action(action), me).result(20)
after, stored, seq = -1, 0, 0
while stored < 300:
    page = port.entries("demo", after, 1000).result(20)
    stored += sum(row["count"] for row in page.rows if row["type"] == "MessagesStored" and row["topic"] == "orders")
    after = page.next_seq - 1
print(json.dumps({"seq": after}), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_server_loses_no_message_and_uses_no_number_twice(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    last_seq = json.loads(done.stdout)["seq"]
    engine = Engine(tmp_path).start()
    try:
        port = engine.port
        assert port.status().result(WAIT_S)["sandboxes"]["demo"]["state"] == "asleep"
        port.wake("demo").result(WAIT_S)
        snapshot = port.snapshot("demo").result(WAIT_S)
        topic = next(row for row in snapshot["topics"] if row["topic"] == "orders")
        assert sum(int(queue["max"]) for queue in topic["queues"]) == 300
        rows = port.entries("demo", last_seq, 1_000).result(WAIT_S).rows
        before = [seq for row in rows if (seq := int(row["seq"])) < 10_000]  # written after the last look
        assert before == [last_seq + number for number in range(1, len(before) + 1)]
        assert int(rows[len(before)]["seq"]) == 10_000
        recovered = [row["kind"] for row in rows if row["type"] == "RecoveryDone"]
        assert recovered == ["abnormal"]
        crashed = [row for row in rows if row["type"] == "MemberStateChanged" and row["state"] == "crashed"]
        assert len(crashed) == 1, "its old process died with the server"
    finally:
        engine.stop()
