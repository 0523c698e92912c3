"""The disk is full, and then it is not: producers get errors, nothing is lost, and work goes on."""

from tests.server.server import Driver, Server, stored


def sent(seen: dict) -> int:  # type: ignore[type-arg]
    return sum(int(producer["sent"]) for producer in seen["producers"])


def failed(seen: dict) -> int:  # type: ignore[type-arg]
    return sum(int(producer["failed"]) for producer in seen["producers"])


def make(server: Server) -> Driver:
    sandbox = server.create("empty")
    sandbox.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
    sandbox.act("StartConsumer", group="readers", subscriptions=[["orders", "*"]], work_ms=[0, 5])
    sandbox.act("StartProducer", actor="shop", topic="orders", rate_per_s=40)
    sandbox.wait_until(lambda seen: stored(seen, "orders") > 40, what="orders are stored")
    return sandbox


def test_a_full_disk_refuses_and_a_freed_one_goes_on_where_it_was(server: Server) -> None:
    sandbox = make(server)
    full = sandbox.act("FillDisk", broker="broker-a")
    reported = sandbox.wait_for("DiskChanged", full, broker="broker-a", state="full")
    assert reported["cause"] == str(full)
    broker = sandbox.snapshot()["brokers"][0]
    assert broker["disk"] == "full"
    sandbox.wait_for("SendFailed", full, topic="orders")
    sandbox.wait_until(lambda seen: failed(seen) > 0, what="the producer counts its failures")
    stood = stored(sandbox.snapshot(), "orders")
    again = sandbox.post("FillDisk", broker="broker-a")
    assert again.status_code == 409
    assert "is already full" in again.json()["error"]
    assert stored(sandbox.snapshot(), "orders") == stood, "a full disk takes nothing"

    free = sandbox.act("FreeDisk", broker="broker-a")
    assert sandbox.wait_for("DiskChanged", free, broker="broker-a")["state"] == "ok"
    sandbox.wait_until(lambda seen: stored(seen, "orders") > stood + 40, what="the producer goes on")
    sandbox.act("StopActor", actor="shop")
    sandbox.wait_until(lambda seen: seen["producers"][0]["state"] == "stopped", what="the producer stops")
    seen = sandbox.snapshot()
    assert stored(seen, "orders") >= sent(seen), "every answered message is there"

    def consumed() -> int:
        rows = sandbox.events()
        return len(
            {
                (row["queue_id"], offset)
                for row in rows
                if row["type"] == "MessagesConsumed"
                for offset in row["offsets"]
            }
        )

    sandbox.wait_until(lambda _: consumed() == stored(seen, "orders"), what="all that was stored is consumed")


def test_a_disk_filled_before_a_sleep_is_still_full_or_free_but_never_loses(server: Server) -> None:
    sandbox = make(server)
    sandbox.act("FillDisk", broker="broker-a")
    stood = stored(sandbox.snapshot(), "orders")
    assert sandbox.http.post("/sleep", json={}).status_code == 200
    sandbox.wake()
    seen = sandbox.snapshot()
    assert stored(seen, "orders") >= stood
    if seen["brokers"][0]["disk"] == "full":
        sandbox.act("FreeDisk", broker="broker-a")
    sandbox.wait_until(lambda now: stored(now, "orders") > stored(seen, "orders"), what="the producer goes on")
