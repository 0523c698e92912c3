"""kill -9 in full traffic: what was answered is there, and no number is used twice."""

from typing import Any

import httpx

from tests.server.server import Driver, Server, committed, queues_of, seqs, stored, until

COMMIT_EVERY_MS = 5_000  # a member persists its offsets so often
SEQ_STEP = 10_000

Rows = list[dict[str, Any]]


def busy_sandbox(server: Server) -> Driver:
    """600 messages a second under sync flush, read by three members."""
    sandbox = server.create("empty")
    sandbox.act("ChangeBroker", broker="broker-a", changes={"flush": "SYNC_FLUSH"})
    sandbox.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
    everything = [{"topic": "orders", "expression": "*"}]
    sandbox.act("StartConsumer", group="readers", copies=3, work_ms=[1, 20], subscriptions=everything)
    sandbox.act("StartProducer", actor="shop", topic="orders", rate_per_s=300)
    sandbox.act("StartProducer", actor="market", topic="orders", rate_per_s=300, selector="hash")
    sandbox.wait_until(lambda seen: stored(seen, "orders") > 1_000, what="full traffic")
    sandbox.wait_until(lambda seen: len(committed(seen, "readers")) == 4, what="every queue has a stored offset")
    return sandbox


def test_a_kill_in_full_traffic_loses_nothing_that_was_answered(own_server: Server) -> None:
    sandbox = busy_sandbox(own_server)
    events = sandbox.events()
    before = sandbox.snapshot()
    own_server.kill()
    own_server.start()
    sandbox.wake()
    after = sandbox.snapshot()

    answered = sum(int(producer["sent"]) for producer in before["producers"])
    assert answered > 1_000
    assert stored(after, "orders") >= answered, "every answered message is there"
    for name, queue in queues_of(before, "orders").items():
        assert int(queues_of(after, "orders")[name]["max"]) >= int(queue["max"])

    rows = sandbox.events()
    woken = first_of(rows, "SandboxWoken")
    assert woken["reason"] == "after a kill"
    the_journal_went_on(events, rows, int(woken["seq"]))
    after_kill = [row for row in rows if int(row["seq"]) >= int(woken["seq"])]
    assert first_of(after_kill, "RecoveryDone")["kind"] == "abnormal"
    died = [row for row in after_kill if row["type"] == "MemberStateChanged" and row["state"] == "crashed"]
    assert len(died) == 3, "its members died with the server"

    until(lambda: len(starts(sandbox, int(woken["seq"]))) == 4, what="every queue has an owner again")
    done_long_ago = consumed_until(events, int(events[-1]["at_ms"]) - COMMIT_EVERY_MS - 2_000)
    for queue, start in starts(sandbox, int(woken["seq"])).items():
        assert start > done_long_ago.get(queue, -1), f"the stored offset of {queue} was at most 5 s old"
    grown = stored(sandbox.snapshot(), "orders")
    sandbox.wait_until(lambda seen: stored(seen, "orders") > grown + 100, what="producers go on")


def the_journal_went_on(reported: Rows, rows: Rows, first_new: int) -> None:
    """Check the journal: it keeps all but its last 200 ms, then continues at the next ten thousand, numbers unique."""
    numbers = seqs(rows)
    assert numbers == sorted(set(numbers))
    assert first_new % SEQ_STEP == 0
    assert first_new > seqs(reported)[-1], "no number that was told is used again"
    kept = [row for row in rows if int(row["seq"]) < first_new]
    assert seqs(kept) == list(range(len(kept)))
    both = min(len(kept), len(reported))
    assert kept[:both] == reported[:both]


def first_of(rows: Rows, kind: str) -> dict[str, Any]:
    return next(row for row in rows if row["type"] == kind)


def starts(sandbox: Driver, since: int) -> dict[str, int]:
    """`broker-a:0` → where its first owner since then began to read."""
    found: dict[str, int] = {}
    for row in sandbox.events(since):
        if row["type"] == "QueueTaken" and row["topic"] == "orders":
            found.setdefault(f"{row['broker']}:{row['queue_id']}", int(row["start_offset"]))
    return found


def consumed_until(rows: Rows, at_ms: int) -> dict[str, int]:
    """`broker-a:0` → the last offset below which everything was consumed by then."""
    done: dict[str, set[int]] = {}
    for row in rows:
        if row["type"] == "MessagesConsumed" and row["outcome"] == "SUCCESS" and int(row["at_ms"]) <= at_ms:
            done.setdefault(f"{row['broker']}:{row['queue_id']}", set()).update(map(int, row["offsets"]))
    return {queue: next(n for n in range(len(offsets) + 1) if n not in offsets) - 1 for queue, offsets in done.items()}


def test_a_server_killed_three_times_still_starts(own_server: Server) -> None:
    sandbox = own_server.create("orders")
    highest = -1
    for _ in range(3):
        grown = stored(sandbox.snapshot(), "orders")
        sandbox.wait_until(lambda seen, grown=grown: stored(seen, "orders") > grown + 3, what="orders are stored")
        highest = max(highest, *seqs(sandbox.events(highest)))
        own_server.kill()
        own_server.start()
        sandbox.wake()
        assert int(first_of(sandbox.events(highest), "SandboxWoken")["seq"]) > highest
    numbers = seqs(sandbox.events())
    assert numbers == sorted(set(numbers))
    assert httpx.get(f"{own_server.url}/s/{sandbox.slug}/").status_code == 200
